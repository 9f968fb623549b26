// Fold kernels of activation functions, Pow and Softmax. Expected values by hand; what ONNX Runtime gives for
// the same nodes is compared by tests/equal/fold_against_ort.py.
#include <cmath>
#include <limits>
#include <numbers>

#include "ops/fold.h"
#include "unit/fold_case.h"

namespace graphopt {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();
using Floats = std::vector<float>;

Attr number(float v) {
  Attr a;
  a.kind = AttrKind::Float;
  a.f = v;
  return a;
}

TEST(FoldUnary, InverseAndHyperbolicFunctions) {
  const std::vector<std::pair<OpKind, float>> expected = {
      {OpKind::Tan, std::tan(0.5f)},     {OpKind::Asin, std::asin(0.5f)},   {OpKind::Acos, std::acos(0.5f)},
      {OpKind::Atan, std::atan(0.5f)},   {OpKind::Sinh, std::sinh(0.5f)},   {OpKind::Cosh, std::cosh(0.5f)},
      {OpKind::Asinh, std::asinh(0.5f)}, {OpKind::Atanh, std::atanh(0.5f)},
  };
  for (const auto& [kind, value] : expected) {
    FoldCase c(13);
    c.f32({1}, {0.5f});
    ASSERT_EQ(c.fold(kind), kFolded) << op_name(kind);
    EXPECT_NEAR(c.f32s()[0], value, 1e-6f) << op_name(kind);
    EXPECT_EQ(c.folded.exactness, FoldExactness::Rounds) << op_name(kind);
  }
  FoldCase acosh(13);
  acosh.f32({2}, {1, 0.5f});
  ASSERT_EQ(acosh.fold(OpKind::Acosh), kFolded);
  EXPECT_EQ(acosh.f32s()[0], 0);
  EXPECT_TRUE(std::isnan(acosh.f32s()[1]));
}

TEST(FoldActivation, ComparisonsAreExact) {
  FoldCase leaky(16);
  leaky.f32({5}, {2, -2, -0.f, kNan, -kInf}).attr("alpha", number(0.25f));
  ASSERT_EQ(leaky.fold(OpKind::LeakyRelu), kFolded);
  EXPECT_EQ(leaky.folded.exactness, FoldExactness::Exact);
  const Floats y = leaky.f32s();
  EXPECT_TRUE(y[0] == 2 && y[1] == -0.5f && std::signbit(y[2]) && std::isnan(y[3]) && y[4] == -kInf);
  FoldCase threshold(10);
  threshold.f32({4}, {1, 1.5f, -3, kNan});
  ASSERT_EQ(threshold.fold(OpKind::ThresholdedRelu), kFolded);
  EXPECT_EQ(threshold.f32s(), (Floats{0, 1.5f, 0, 0}));
  FoldCase shrink(9);
  shrink.f32({4}, {0.5f, -0.75f, 2, -kInf}).attr("bias", number(0.25f));
  ASSERT_EQ(shrink.fold(OpKind::Shrink), kFolded);
  EXPECT_EQ(shrink.f32s(), (Floats{0, -0.5f, 1.75f, -kInf}));
  FoldCase wide(9);  // ONNX Runtime computes it in float
  wide.f64({1}, {1});
  EXPECT_EQ(wide.fold(OpKind::Shrink), kCannot);
}

TEST(FoldActivation, SlopesBroadcastToTheDataOnly) {
  FoldCase c(16);
  c.f32({2, 2}, {1, -1, -2, -0.f}).f32({2}, {kInf, 0.5f});
  ASSERT_EQ(c.fold(OpKind::PRelu), kFolded);
  EXPECT_EQ(c.f32s(), (Floats{1, -0.5f, -kInf, 0}));
  EXPECT_TRUE(std::signbit(c.f32s()[3]));
  FoldCase wide(16);
  wide.f32({2}, {1, -1}).f32({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(wide.fold(OpKind::PRelu), kBadOperands);
}

TEST(FoldActivation, ThresholdsThatTheTypeDoesNotHold) {
  FoldCase c(10);
  c.operand<std::uint16_t>(DType::Float16, {1}, {0x3C00}).attr("alpha", number(0.1f));
  EXPECT_EQ(c.fold(OpKind::ThresholdedRelu), kCannot);
  FoldCase held(10);
  held.operand<std::uint16_t>(DType::Float16, {2}, {0x3C00, 0x3400}).attr("alpha", number(0.5f));
  ASSERT_EQ(held.fold(OpKind::ThresholdedRelu), kFolded);
  EXPECT_EQ(held.values<std::uint16_t>(), (std::vector<std::uint16_t>{0x3C00, 0}));
}

TEST(FoldActivation, OfSeveralSteps) {
  const float e = std::exp(-1.f);
  const std::vector<std::tuple<OpKind, int, float>> expected = {
      {OpKind::Elu, 6, e - 1},
      {OpKind::Selu, 6, 1.050701f * 1.6732632f * (e - 1)},
      {OpKind::Celu, 12, e - 1},
      {OpKind::HardSigmoid, 6, 0.3f},
      {OpKind::HardSwish, 14, -1.f / 3},
      {OpKind::Softplus, 1, std::log1p(e)},
      {OpKind::Softsign, 1, -0.5f},
      {OpKind::Mish, 18, -std::tanh(std::log1p(e))},
      {OpKind::Gelu, 20, -0.5f * (1 - std::erf(1 / std::numbers::sqrt2_v<float>))},
      {OpKind::Swish, 24, -1 / (1 + std::exp(1.f))},
  };
  for (const auto& [kind, since, value] : expected) {
    FoldCase c(since);
    c.f32({2}, {-1, 0});
    ASSERT_EQ(c.fold(kind), kFolded) << op_name(kind);
    EXPECT_NEAR(c.f32s()[0], value, 1e-6f) << op_name(kind);
    EXPECT_EQ(c.folded.exactness, FoldExactness::Rounds) << op_name(kind);
    for (const float bad : {kNan, kInf, -kInf}) {
      FoldCase infinite(since);
      infinite.f32({1}, {bad});
      EXPECT_EQ(infinite.fold(kind), kBadOperands) << op_name(kind) << bad;
    }
    if (since == 1) continue;
    FoldCase older(since - 1);
    older.f32({1}, {-1});
    EXPECT_EQ(older.fold(kind), kCannot) << op_name(kind);
  }
  FoldCase tanh(20);
  tanh.f32({1}, {-1}).attr("approximate", "tanh");
  ASSERT_EQ(tanh.fold(OpKind::Gelu), kFolded);
  EXPECT_NEAR(tanh.f32s()[0], -0.15880801f, 1e-6f);
}

TEST(FoldActivation, RefusesParametersThatOverflow) {
  for (const float bad : {kNan, kInf, -1e30f}) {
    FoldCase c(6);
    c.f32({1}, {-1}).attr("alpha", number(bad));
    EXPECT_EQ(c.fold(OpKind::Elu), kCannot) << bad;
  }
  FoldCase celu(12);
  celu.f32({1}, {-1}).attr("alpha", number(0));
  EXPECT_EQ(celu.fold(OpKind::Celu), kCannot);
  FoldCase soft(13);
  soft.operand<std::uint16_t>(DType::Float16, {1}, {0x4A00});  // 12: exp of it is no float16
  EXPECT_EQ(soft.fold(OpKind::Softplus), kBadOperands);
  FoldCase wide(13);
  wide.f64({1}, {710});
  EXPECT_EQ(wide.fold(OpKind::Softplus), kBadOperands);
  FoldCase large(13);
  large.f32({1}, {710});
  ASSERT_EQ(large.fold(OpKind::Softplus), kFolded);
  EXPECT_EQ(large.f32s(), Floats{710});
}

TEST(FoldPow, FloatsAndExponentsOfOtherTypes) {
  FoldCase c(13);
  c.f32({4}, {2, -3, 0, -kInf}).i64({4}, {-1, 3, 0, 3});
  ASSERT_EQ(c.fold(OpKind::Pow), kFolded);
  EXPECT_EQ(c.f32s(), (Floats{0.5f, -27, 1, -kInf}));
  EXPECT_EQ(c.folded.exactness, FoldExactness::Rounds);
  FoldCase inexact(13);
  inexact.f32({1}, {2}).f64({}, {0.1});
  EXPECT_EQ(inexact.fold(OpKind::Pow), kCannot);
  FoldCase large(13);
  large.f32({1}, {1}).i64({}, {(std::int64_t{1} << 53) + 1});
  EXPECT_EQ(large.fold(OpKind::Pow), kCannot);
  for (const auto& [base, exponent] : std::vector<std::pair<float, float>>{{kNan, 0}, {-1, 0.5f}}) {
    FoldCase nan(13);
    nan.f32({1}, {base}).f32({}, {exponent});
    EXPECT_EQ(nan.fold(OpKind::Pow), kBadOperands) << base;
  }
}

TEST(FoldSoftmax, AlongTheAxisOrAllThatFollow) {
  FoldCase c(13);
  c.f32({2, 2}, {0, 5, 0, 5}).attr("axis", std::int64_t{0});
  ASSERT_EQ(c.fold(OpKind::Softmax), kFolded);
  EXPECT_EQ(c.f32s(), (Floats{0.5f, 0.5f, 0.5f, 0.5f}));
  EXPECT_EQ(c.folded.exactness, FoldExactness::Rounds);
  FoldCase flat(11);
  flat.f32({1, 2, 2}, {3, 3, 3, 3});
  ASSERT_EQ(flat.fold(OpKind::Softmax), kFolded);
  EXPECT_EQ(flat.f32s(), (Floats{0.25f, 0.25f, 0.25f, 0.25f}));
  FoldCase last(13);
  last.f32({1, 2, 2}, {3, 3, 3, -kInf});
  ASSERT_EQ(last.fold(OpKind::Softmax), kFolded);
  EXPECT_EQ(last.f32s(), (Floats{0.5f, 0.5f, 1, 0}));
  FoldCase log(13);
  log.f32({2}, {1000, 1000});
  ASSERT_EQ(log.fold(OpKind::LogSoftmax), kFolded);
  EXPECT_NEAR(log.f32s()[0], -std::numbers::ln2_v<float>, 1e-6f);
}

TEST(FoldSoftmax, RefusesWhatHasNoSumAndAxesOutside) {
  for (const Floats& bad : {Floats{kNan, 1}, Floats{kInf, 1}, Floats{-kInf, -kInf}}) {
    FoldCase c(13);
    c.f32({2}, bad);
    EXPECT_EQ(c.fold(OpKind::Softmax), std::isnan(bad[0]) ? FoldRefusal::NaN : kBadOperands);
  }
  for (const auto& [opset, axis] : std::vector<std::pair<int, std::int64_t>>{{9, -1}, {11, 2}, {13, -3}}) {
    FoldCase c(opset);
    c.f32({1, 2}, {1, 2}).attr("axis", axis);
    EXPECT_EQ(c.fold(OpKind::Softmax), kBadOperands) << opset;
  }
  FoldCase scalar(13);
  scalar.f32({}, {1});
  EXPECT_EQ(scalar.fold(OpKind::Softmax), kCannot);
}

}  // namespace
}  // namespace graphopt
