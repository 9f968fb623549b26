// Fold kernels that choose elements by integers or compute. Expected values by hand; what ONNX Runtime gives
// for the same nodes is compared by tests/equal/fold_against_ort.py.
#include <cmath>
#include <limits>

#include "ops/fold.h"
#include "unit/fold_case.h"

namespace graphopt {
namespace {

using Dims = FoldCase::Dims;
using Ints = std::vector<std::int64_t>;
constexpr std::int32_t kMin32 = std::numeric_limits<std::int32_t>::min();
constexpr std::int32_t kMax32 = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kMin64 = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax64 = std::numeric_limits<std::int64_t>::max();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

TEST(FoldGather, NegativeAndOutOfRange) {
  FoldCase c(13);
  c.i64({2, 3}, {1, 2, 3, 4, 5, 6}).i32({2}, {-1, 0}).attr("axis", 1);
  ASSERT_EQ(c.fold(OpKind::Gather), kFolded);
  EXPECT_EQ(c.i64s(), (Ints{3, 1, 6, 4}));
  for (const std::int64_t bad : {std::int64_t{3}, std::int64_t{-4}, kMin64, kMax64}) {
    FoldCase out(13);
    out.i64({2, 3}, {1, 2, 3, 4, 5, 6}).i64({}, {bad}).attr("axis", 1);
    EXPECT_EQ(out.fold(OpKind::Gather), kBadOperands) << bad;
  }
  FoldCase empty(13);
  empty.i64({0}, {}).i64({1}, {0});
  EXPECT_EQ(empty.fold(OpKind::Gather), kBadOperands);
}

TEST(FoldGatherElements, AlongAxis) {
  FoldCase c(13);
  c.i64({2, 2}, {1, 2, 3, 4}).i64({2, 2}, {0, 0, -1, 0}).attr("axis", 1);
  ASSERT_EQ(c.fold(OpKind::GatherElements), kFolded);
  EXPECT_EQ(c.i64s(), (Ints{1, 1, 4, 3}));
}

TEST(FoldGatherNd, BatchesAndBlocks) {
  FoldCase c(13);
  c.i64({2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7}).i64({2, 1}, {1, 0}).attr("batch_dims", 1);
  ASSERT_EQ(c.fold(OpKind::GatherND), kFolded);
  EXPECT_EQ(c.dims(), (Dims{2, 2}));
  EXPECT_EQ(c.i64s(), (Ints{2, 3, 4, 5}));
}

TEST(FoldScatter, WritesOnceOrNotAtAll) {
  FoldCase c(13);
  c.i64({3}, {1, 2, 3}).i64({2, 1}, {2, -3}).i64({2}, {8, 9});
  ASSERT_EQ(c.fold(OpKind::ScatterND), kFolded);
  EXPECT_EQ(c.i64s(), (Ints{9, 2, 8}));
  FoldCase twice(13);
  twice.i64({3}, {1, 2, 3}).i64({2, 1}, {2, -1}).i64({2}, {8, 9});
  EXPECT_EQ(twice.fold(OpKind::ScatterND), kBadOperands);
  FoldCase elements(13);
  elements.i64({2, 2}, {1, 2, 3, 4}).i64({1, 2}, {1, 0}).i64({1, 2}, {8, 9}).attr("axis", 0);
  ASSERT_EQ(elements.fold(OpKind::ScatterElements), kFolded);
  EXPECT_EQ(elements.i64s(), (Ints{1, 9, 8, 4}));
  FoldCase added(16);
  added.i64({2}, {1, 2}).i64({1}, {1}).i64({1}, {8}).attr("reduction", "add");
  EXPECT_EQ(added.fold(OpKind::ScatterElements), kCannot);
}

TEST(FoldCompressNonZero, Choose) {
  FoldCase c(13);
  c.i64({2, 2}, {1, 2, 3, 4}).bools({2}, {0, 1}).attr("axis", 1);
  ASSERT_EQ(c.fold(OpKind::Compress), kFolded);
  EXPECT_EQ(c.i64s(), (Ints{2, 4}));
  FoldCase n(13);
  n.f32({2, 2}, {0, kNan, -0.0f, 3});
  ASSERT_EQ(n.fold(OpKind::NonZero), kFolded);
  EXPECT_EQ(n.dims(), (Dims{2, 2}));
  EXPECT_EQ(n.i64s(), (Ints{0, 1, 1, 1}));
}

TEST(FoldOneHot, NegativeIndexCountsFromTheEnd) {
  FoldCase c(13);
  c.i64({3}, {0, -1, 5}).i64({}, {2}).f32({2}, {7, 8});
  ASSERT_EQ(c.fold(OpKind::OneHot), kFolded);
  EXPECT_EQ(c.f32s(), (std::vector<float>{8, 7, 7, 8, 7, 7}));
}

TEST(FoldCast, IntegersKeepTheLowBits) {
  FoldCase c(13);
  c.i64({3}, {-1, 300, kMin64}).attr("to", static_cast<std::int64_t>(DType::UInt8));
  ASSERT_EQ(c.fold(OpKind::Cast), kFolded);
  EXPECT_EQ(c.values<std::uint8_t>(), (std::vector<std::uint8_t>{255, 44, 0}));
}

TEST(FoldCast, FloatsTowardsZeroAndOnlyWhatFits) {
  FoldCase c(13);
  c.f32({4}, {-1.9f, 1.9f, -0.9f, 2147483520.f}).attr("to", static_cast<std::int64_t>(DType::Int32));
  ASSERT_EQ(c.fold(OpKind::Cast), kFolded);
  EXPECT_EQ(c.i32s(), (std::vector<std::int32_t>{-1, 1, 0, 2147483520}));
  for (const float bad : {2147483648.f, -2147483904.f, kNan, kInf}) {
    FoldCase out(13);
    out.f32({1}, {bad}).attr("to", static_cast<std::int64_t>(DType::Int32));
    EXPECT_EQ(out.fold(OpKind::Cast), kBadOperands) << bad;
  }
  FoldCase edge(13);  // 2^63 is the first that does not fit; the double below it does
  edge.f64({1}, {0x1p63}).attr("to", static_cast<std::int64_t>(DType::Int64));
  EXPECT_EQ(edge.fold(OpKind::Cast), kBadOperands);
  FoldCase below(13);
  below.f64({2}, {0x1.fffffffffffffp62, -0x1p63}).attr("to", static_cast<std::int64_t>(DType::Int64));
  ASSERT_EQ(below.fold(OpKind::Cast), kFolded);
  EXPECT_EQ(below.i64s(), (Ints{0x7FFFFFFFFFFFFC00, kMin64}));
}

TEST(FoldCast, HalfRoundsTiesToEven) {
  FoldCase c(13);
  c.f32({8}, {1.f + 0x1p-11f, 1.f + 0x3p-11f, 65519.f, 65520.f, 0x1p-25f, 0x1.8p-25f, -0.f, 0x1.8p-24f})
      .attr("to", static_cast<std::int64_t>(DType::Float16));
  ASSERT_EQ(c.fold(OpKind::Cast), kFolded);
  EXPECT_EQ(c.values<std::uint16_t>(),
            (std::vector<std::uint16_t>{0x3C00, 0x3C02, 0x7BFF, 0x7C00, 0x0000, 0x0001, 0x8000, 0x0002}));
  FoldCase back(13);
  back.operand<std::uint16_t>(DType::Float16, {5}, {0x0001, 0x03FF, 0x7BFF, 0xFC00, 0x3C01})
      .attr("to", static_cast<std::int64_t>(DType::Float));
  ASSERT_EQ(back.fold(OpKind::Cast), kFolded);
  EXPECT_EQ(back.f32s(), (std::vector<float>{0x1p-24f, 0x3FFp-24f, 65504.f, -kInf, 1.f + 0x1p-10f}));
}

TEST(FoldCast, ToBoolIsNotZero) {
  FoldCase c(13);
  c.f32({4}, {kNan, 0, -0.f, 0.25f}).attr("to", static_cast<std::int64_t>(DType::Bool));
  ASSERT_EQ(c.fold(OpKind::Cast), kFolded);
  EXPECT_EQ(c.result().raw, std::string_view("\1\0\0\1", 4));
}

TEST(FoldArithmetic, IntegersWrap) {
  FoldCase add(14);
  add.i32({2}, {kMax32, kMin32}).i32({}, {1});
  ASSERT_EQ(add.fold(OpKind::Add), kFolded);
  EXPECT_EQ(add.i32s(), (std::vector<std::int32_t>{kMin32, kMin32 + 1}));
  FoldCase mul(14);
  mul.operand<std::uint16_t>(DType::UInt16, {1}, {0xFFFF})
      .operand<std::uint16_t>(DType::UInt16, {1}, {0xFFFF});
  ASSERT_EQ(mul.fold(OpKind::Mul), kFolded);
  EXPECT_EQ(mul.values<std::uint16_t>(), std::vector<std::uint16_t>{1});  // (2^16 - 1)^2 mod 2^16
  FoldCase neg(13);
  neg.i64({1}, {kMin64});
  ASSERT_EQ(neg.fold(OpKind::Neg), kFolded);
  EXPECT_EQ(neg.i64s(), Ints{kMin64});
}

TEST(FoldArithmetic, DivAndMod) {
  FoldCase div(14);
  div.i64({2}, {-7, 7}).i64({1}, {2});
  ASSERT_EQ(div.fold(OpKind::Div), kFolded);
  EXPECT_EQ(div.i64s(), (Ints{-3, 3}));
  FoldCase mod(13);
  mod.i64({4}, {-7, 7, -7, 7}).i64({4}, {3, -3, -3, -1});
  ASSERT_EQ(mod.fold(OpKind::Mod), kFolded);
  EXPECT_EQ(mod.i64s(), (Ints{2, -2, -1, 0}));
  FoldCase fatal(13);  // ends the process of the runtime, as Div does
  fatal.i64({1}, {kMin64}).i64({1}, {-1});
  EXPECT_EQ(fatal.fold(OpKind::Mod), kBadOperands);
  FoldCase c_mod(13);
  c_mod.i64({2}, {-7, 7}).i64({2}, {3, -3}).attr("fmod", 1);
  ASSERT_EQ(c_mod.fold(OpKind::Mod), kFolded);
  EXPECT_EQ(c_mod.i64s(), (Ints{-1, 1}));
  for (const auto& [a, b] : std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 0}, {kMin64, -1}}) {
    FoldCase bad(14);
    bad.i64({1}, {a}).i64({1}, {b});
    EXPECT_EQ(bad.fold(OpKind::Div), kBadOperands);
  }
  FoldCase nothing(14);
  nothing.i64({0}, {}).i64({1}, {0});
  EXPECT_EQ(nothing.fold(OpKind::Div), kBadOperands);
  FoldCase zero(13);
  zero.i64({1}, {1}).i64({1}, {0});
  EXPECT_EQ(zero.fold(OpKind::Mod), kBadOperands);
  FoldCase float_zero(14);
  float_zero.f32({2}, {1, -1}).f32({1}, {0});
  ASSERT_EQ(float_zero.fold(OpKind::Div), kFolded);
  EXPECT_EQ(float_zero.f32s(), (std::vector<float>{kInf, -kInf}));
}

TEST(FoldArithmetic, Int64IsNotOrderedByBit31Alone) {
  constexpr std::int64_t kTwo31 = std::int64_t{1} << 31;
  FoldCase max(13);
  max.i64({2}, {0, kTwo31}).i64({2}, {5, std::int64_t{1} << 32});
  ASSERT_EQ(max.fold(OpKind::Max), kFolded);
  EXPECT_EQ(max.i64s(), (Ints{5, std::int64_t{1} << 32}));
  for (const OpKind kind : {OpKind::Min, OpKind::Max}) {
    FoldCase c(13);
    c.i64({2}, {1, 7}).i64({2}, {2, kTwo31});
    EXPECT_EQ(c.fold(kind), kBadOperands);
  }
  for (const OpKind kind : {OpKind::Relu, OpKind::Sign}) {
    FoldCase c(14);
    c.i64({2}, {1, kTwo31});
    EXPECT_EQ(c.fold(kind), kBadOperands);
  }
  FoldCase clip(13);  // -1 becomes 7, and 7 is then compared with the upper bound
  clip.i64({2}, {-1, -1}).i64({}, {7}).i64({}, {kTwo31 + 1});
  EXPECT_EQ(clip.fold(OpKind::Clip), kBadOperands);
}

TEST(FoldArithmetic, PowOnlyWhereDoublesAreExact) {
  FoldCase c(13);
  c.i64({4}, {2, -3, 0, -1}).i64({4}, {53, 3, 0, kMax64});
  ASSERT_EQ(c.fold(OpKind::Pow), kFolded);
  EXPECT_EQ(c.i64s(), (Ints{std::int64_t{1} << 53, -27, 1, -1}));
  for (const auto& [a, b] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{2, 54}, {2, -1}, {3, kMax64}}) {
    FoldCase bad(13);
    bad.i64({1}, {a}).i64({1}, {b});
    EXPECT_EQ(bad.fold(OpKind::Pow), kBadOperands) << a << " " << b;
  }
}

TEST(FoldArithmetic, BroadcastsToEmpty) {
  FoldCase c(14);
  c.i64({1, 0}, {}).i64({3, 1}, {1, 2, 3});
  ASSERT_EQ(c.fold(OpKind::Add), kFolded);
  EXPECT_EQ(c.dims(), (Dims{3, 0}));
  FoldCase bad(14);
  bad.i64({2}, {1, 2}).i64({3}, {1, 2, 3});
  EXPECT_EQ(bad.fold(OpKind::Add), kBadOperands);
}

TEST(FoldMinMax, NanWinsAndMixedZerosStay) {
  FoldCase c(13);
  c.f32({3}, {kNan, 1, -0.f}).f32({3}, {1, kNan, -0.f});
  ASSERT_EQ(c.fold(OpKind::Max), kFolded);
  EXPECT_TRUE(std::isnan(c.f32s()[0]) && std::isnan(c.f32s()[1]) && std::signbit(c.f32s()[2]));
  FoldCase zeros(13);
  zeros.f32({1}, {0.f}).f32({1}, {-0.f});
  EXPECT_EQ(zeros.fold(OpKind::Min), kBadOperands);
  FoldCase three(13);
  three.i64({1}, {3}).i64({2}, {1, 5}).i64({}, {4});
  ASSERT_EQ(three.fold(OpKind::Max), kFolded);
  EXPECT_EQ(three.i64s(), (Ints{4, 5}));
}

TEST(FoldBits, ShiftsWithinTheWidth) {
  FoldCase c(13);
  c.u8({2}, {255, 129}).u8({2}, {1, 7}).attr("direction", "LEFT");
  ASSERT_EQ(c.fold(OpKind::BitShift), kFolded);
  EXPECT_EQ(c.values<std::uint8_t>(), (std::vector<std::uint8_t>{254, 128}));
  FoldCase wide(13);
  wide.u8({1}, {1}).u8({1}, {8}).attr("direction", "LEFT");
  EXPECT_EQ(wide.fold(OpKind::BitShift), kBadOperands);
}

TEST(FoldLogic, NanComparesWithNothing) {
  FoldCase c(13);
  c.f32({3}, {kNan, -0.f, kInf}).f32({3}, {kNan, 0.f, kInf});
  ASSERT_EQ(c.fold(OpKind::Equal), kFolded);
  EXPECT_EQ(c.result().raw, std::string_view("\0\1\1", 3));
  FoldCase words(19);
  words.strings({2}, {"a", "b"}).strings({}, {"b"});
  ASSERT_EQ(words.fold(OpKind::Equal), kFolded);
  EXPECT_EQ(words.result().raw, std::string_view("\0\1", 2));
  FoldCase inf(10);
  inf.f32({3}, {kInf, -kInf, 1}).attr("detect_negative", std::int64_t{0});
  ASSERT_EQ(inf.fold(OpKind::IsInf), kFolded);
  EXPECT_EQ(inf.result().raw, std::string_view("\1\0\0", 3));
}

TEST(FoldUnary, SignsZerosAndTies) {
  FoldCase round(11);
  round.f32({5}, {0.5f, 1.5f, -0.5f, 2.5f, -0.f});
  ASSERT_EQ(round.fold(OpKind::Round), kFolded);
  EXPECT_EQ(round.f32s(), (std::vector<float>{0, 2, 0, 2, 0}));
  EXPECT_TRUE(std::signbit(round.f32s()[2]) && std::signbit(round.f32s()[4]));
  FoldCase relu(14);
  relu.f32({3}, {kNan, -0.f, -1});
  ASSERT_EQ(relu.fold(OpKind::Relu), kFolded);
  EXPECT_TRUE(std::isnan(relu.f32s()[0]) && std::signbit(relu.f32s()[1]) && !std::signbit(relu.f32s()[2]));
}

TEST(FoldUnary, LabelsWhatRounds) {
  FoldCase c(13);
  c.f32({1}, {1}).fold(OpKind::Exp);
  EXPECT_EQ(fold_exactness(c.m, c.node, c.operands), FoldExactness::Rounds);
  FoldCase s(13);
  s.f32({1}, {1}).fold(OpKind::Sqrt);
  EXPECT_EQ(fold_exactness(s.m, s.node, s.operands), FoldExactness::Exact);
}

TEST(FoldClip, AbsentBoundsAndNan) {
  FoldCase c(13);
  c.f32({3}, {kNan, -5, 5}).absent().f32({}, {1});
  ASSERT_EQ(c.fold(OpKind::Clip), kFolded);
  EXPECT_TRUE(std::isnan(c.f32s()[0]));
  EXPECT_EQ(c.f32s()[1], -5);
  EXPECT_EQ(c.f32s()[2], 1);
  FoldCase inf(13);
  inf.f32({1}, {-kInf}).absent().f32({}, {1});
  EXPECT_EQ(inf.fold(OpKind::Clip), kBadOperands);
  FoldCase nan(13);
  nan.f32({1}, {1}).f32({}, {kNan});
  EXPECT_EQ(nan.fold(OpKind::Clip), kCannot);
}

TEST(FoldReduce, Integers) {
  FoldCase sum(13);
  sum.i64({2, 2}, {1, 2, 3, 4}).i64({1}, {-1}).attr("keepdims", std::int64_t{0});
  ASSERT_EQ(sum.fold(OpKind::ReduceSum), kFolded);
  EXPECT_EQ(sum.i64s(), (Ints{3, 7}));
  FoldCase mean(18);
  mean.i64({2, 2}, {-1, -2, 3, 4});
  ASSERT_EQ(mean.fold(OpKind::ReduceMean), kFolded);
  EXPECT_EQ(mean.dims(), (Dims{1, 1}));
  EXPECT_EQ(mean.i64s(), Ints{1});
  FoldCase nothing(18);  // of no elements
  nothing.i64({0}, {}).attr("keepdims", std::int64_t{0});
  ASSERT_EQ(nothing.fold(OpKind::ReduceProd), kFolded);
  EXPECT_EQ(nothing.i64s(), Ints{1});
  FoldCase most(18);
  most.i64({0}, {});
  EXPECT_EQ(most.fold(OpKind::ReduceMax), kBadOperands);
  FoldCase noop(13);
  noop.i64({2}, {1, 2}).attr("noop_with_empty_axes", 1);
  ASSERT_EQ(noop.fold(OpKind::ReduceSum), kFolded);
  EXPECT_EQ(noop.i64s(), (Ints{1, 2}));
}

TEST(FoldReduce, SumsThatDoublesCannotHold) {
  FoldCase c(13);  // exact in 64 bits, but ONNX Runtime adds in floating point
  c.i64({3}, {(std::int64_t{1} << 62) + 1, 2, 0});
  EXPECT_EQ(c.fold(OpKind::ReduceSum), kBadOperands);
  FoldCase cancels(13);
  cancels.i64({2}, {kMin64, kMax64});
  EXPECT_EQ(cancels.fold(OpKind::ReduceSum), kBadOperands);
  FoldCase narrow(13);
  narrow.i32({2}, {kMax32, 1});
  EXPECT_EQ(narrow.fold(OpKind::ReduceSum), kBadOperands);
}

TEST(FoldReduce, AttributesOfAnotherKindAreRefused) {
  const auto fold = [](OpKind kind, std::string_view name) {
    FoldCase c(21);
    c.i32({2, 2}, {1, 2, 3, 4}).attr(name, Dims{1});
    return c.fold(kind);
  };
  EXPECT_EQ(fold(OpKind::ReduceSum, "keepdims"), kBadOperands);
  EXPECT_EQ(fold(OpKind::ReduceSum, "noop_with_empty_axes"), kBadOperands);
  EXPECT_EQ(fold(OpKind::ArgMax, "keepdims"), kCannot);
  EXPECT_EQ(fold(OpKind::ArgMax, "select_last_index"), kCannot);
  EXPECT_EQ(fold(OpKind::ArgMax, "axis"), kCannot);
}

TEST(FoldArgMax, Ties) {
  FoldCase c(13);
  c.i64({2, 3}, {1, 5, 5, 2, 2, 2}).attr("axis", 1).attr("keepdims", std::int64_t{0});
  ASSERT_EQ(c.fold(OpKind::ArgMax), kFolded);
  EXPECT_EQ(c.i64s(), (Ints{1, 0}));
  FoldCase last(13);
  last.i64({2, 3}, {1, 5, 5, 2, 2, 2}).attr("axis", 1).attr("select_last_index", 1);
  ASSERT_EQ(last.fold(OpKind::ArgMax), kFolded);
  EXPECT_EQ(last.i64s(), (Ints{2, 2}));
  FoldCase nan(13);
  nan.f32({2}, {1, kNan});
  EXPECT_EQ(nan.fold(OpKind::ArgMax), FoldRefusal::NaN);
}

TEST(FoldCumSum, ExclusiveReverse) {
  FoldCase c(14);
  c.i64({3}, {1, 2, 3}).i64({}, {-1}).attr("exclusive", 1).attr("reverse", 1);
  ASSERT_EQ(c.fold(OpKind::CumSum), kFolded);
  EXPECT_EQ(c.i64s(), (Ints{5, 3, 0}));
}

TEST(FoldTopK, LowerIndexFirst) {
  FoldCase c(11);
  c.i64({4}, {1, 3, 3, 2}).i64({1}, {3});
  ASSERT_EQ(c.fold(OpKind::TopK, 2), kFolded);
  EXPECT_EQ(c.i64s(0), (Ints{3, 3, 2}));
  EXPECT_EQ(c.i64s(1), (Ints{1, 2, 3}));
  FoldCase many(11);
  many.i64({2}, {1, 2}).i64({1}, {3});
  EXPECT_EQ(many.fold(OpKind::TopK, 2), kBadOperands);
}

TEST(FoldWork, IsBounded) {
  FoldCase c(13);
  c.limits.max_work = 5;
  c.i64({6}, Ints(6, 1));
  EXPECT_EQ(c.fold(OpKind::ReduceSum), kBomb);
}

}  // namespace
}  // namespace graphopt
