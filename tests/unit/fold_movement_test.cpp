// Fold kernels that look at shapes or move elements. Expected values follow from the operators' ONNX text, by
// hand.
#include <limits>

#include "ops/fold.h"
#include "unit/fold_case.h"

namespace graphopt {
namespace {

using Dims = FoldCase::Dims;
using Ints = std::vector<std::int64_t>;
constexpr std::int64_t kMin64 = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax64 = std::numeric_limits<std::int64_t>::max();

FoldCase slice(Dims dims, Ints data, Ints starts, Ints ends, Ints axes, Ints steps) {
  FoldCase c(13);
  const Dims n{static_cast<std::int64_t>(starts.size())};
  c.i64(std::move(dims), std::move(data)).i64(n, std::move(starts)).i64(n, std::move(ends));
  c.i64({static_cast<std::int64_t>(axes.size())}, axes).i64({static_cast<std::int64_t>(steps.size())}, steps);
  return c;
}

TEST(FoldSlice, StepsBothWays) {
  auto c = slice({5}, {0, 1, 2, 3, 4}, {1}, {5}, {0}, {2});
  ASSERT_EQ(c.fold(OpKind::Slice), kFolded);
  EXPECT_EQ(c.i64s(), (Ints{1, 3}));
  auto back = slice({5}, {0, 1, 2, 3, 4}, {-1}, {kMin64}, {-1}, {-2});
  ASSERT_EQ(back.fold(OpKind::Slice), kFolded);
  EXPECT_EQ(back.i64s(), (Ints{4, 2, 0}));
}

TEST(FoldSlice, ExtremeBounds) {
  auto all = slice({3}, {7, 8, 9}, {kMin64}, {kMax64}, {0}, {1});
  ASSERT_EQ(all.fold(OpKind::Slice), kFolded);
  EXPECT_EQ(all.i64s(), (Ints{7, 8, 9}));
  auto huge_step = slice({3}, {7, 8, 9}, {1}, {kMax64}, {0}, {kMax64});
  ASSERT_EQ(huge_step.fold(OpKind::Slice), kFolded);
  EXPECT_EQ(huge_step.i64s(), (Ints{8}));
  auto empty = slice({2, 3}, {1, 2, 3, 4, 5, 6}, {3}, {9}, {1}, {1});
  ASSERT_EQ(empty.fold(OpKind::Slice), kFolded);
  EXPECT_EQ(empty.dims(), (Dims{2, 0}));
  EXPECT_TRUE(empty.result().raw.empty());
}

TEST(FoldSlice, BackwardsFromBeyondTheEnd) {
  auto c = slice({3}, {7, 8, 9}, {kMax64}, {kMin64}, {0}, {-1});
  ASSERT_EQ(c.fold(OpKind::Slice), kFolded);
  EXPECT_EQ(c.i64s(), (Ints{9, 8, 7}));
  // From before the first element: the first one by the operator's text, none by NumPy.
  EXPECT_EQ(slice({3}, {7, 8, 9}, {-4}, {kMin64}, {0}, {-1}).fold(OpKind::Slice), kCannot);
}

TEST(FoldSlice, TwoAxes) {
  auto c = slice({2, 3}, {1, 2, 3, 4, 5, 6}, {-1, 1}, {0, 3}, {1, 0}, {-1, 1});
  ASSERT_EQ(c.fold(OpKind::Slice), kFolded);  // columns 2, 1 of row 1
  EXPECT_EQ(c.dims(), (Dims{1, 2}));
  EXPECT_EQ(c.i64s(), (Ints{6, 5}));
}

TEST(FoldSlice, Refuses) {
  EXPECT_EQ(slice({3}, {1, 2, 3}, {0}, {2}, {0}, {0}).fold(OpKind::Slice), kBadOperands);  // step 0
  EXPECT_EQ(slice({3}, {1, 2, 3}, {0}, {2}, {0}, {kMin64}).fold(OpKind::Slice), kBadOperands);
  EXPECT_EQ(slice({3}, {1, 2, 3}, {0, 0}, {2, 2}, {0, -1}, {1, 1}).fold(OpKind::Slice),
            kBadOperands);                                                                 // axis twice
  EXPECT_EQ(slice({3}, {1, 2, 3}, {0}, {2}, {1}, {1}).fold(OpKind::Slice), kBadOperands);  // no such axis
  EXPECT_EQ(slice({3}, {1, 2, 3}, {2}, {kMax64}, {0}, {-1}).fold(OpKind::Slice),
            kCannot);  // runtimes disagree
}

TEST(FoldSlice, AttributesBeforeOpset10) {
  FoldCase c(9);
  c.i64({4}, {1, 2, 3, 4}).attr("starts", Dims{-3}).attr("ends", Dims{-1});
  ASSERT_EQ(c.fold(OpKind::Slice), kFolded);
  EXPECT_EQ(c.i64s(), (Ints{2, 3}));
}

TEST(FoldReshape, ZeroAndMinusOne) {
  FoldCase c(13);
  c.i64({2, 3}, {1, 2, 3, 4, 5, 6}).i64({3}, {0, -1, 1});
  ASSERT_EQ(c.fold(OpKind::Reshape), kFolded);
  EXPECT_EQ(c.dims(), (Dims{2, 3, 1}));
  EXPECT_EQ(c.i64s(), (Ints{1, 2, 3, 4, 5, 6}));
}

TEST(FoldReshape, PackedTypesKeepTheirBytes) {
  FoldCase c(21);
  c.bytes(DType::Int4, {3}, std::string("\x21\x03", 2)).i64({2}, {3, 1});
  ASSERT_EQ(c.fold(OpKind::Reshape), kFolded);
  EXPECT_EQ(c.result().raw, std::string_view("\x21\x03", 2));
}

TEST(FoldReshape, Refuses) {
  const auto refusal = [](Dims dims, Ints shape, std::int64_t allow_zero) {
    FoldCase c(14);
    std::int64_t n = 1;
    for (const std::int64_t d : dims) n *= d;
    c.i64(dims, Ints(static_cast<std::size_t>(n))).i64({static_cast<std::int64_t>(shape.size())}, shape);
    c.attr("allowzero", allow_zero);
    return c.fold(OpKind::Reshape);
  };
  EXPECT_EQ(refusal({2, 3}, {-1, -1}, 0), kBadOperands);
  EXPECT_EQ(refusal({2, 3}, {4, -1}, 0), kBadOperands);
  EXPECT_EQ(refusal({2, 3}, {5}, 0), kBadOperands);
  EXPECT_EQ(refusal({2, 3}, {-2, 3}, 0), kBadOperands);
  EXPECT_EQ(refusal({6}, {1, 6, 0}, 0), kBadOperands);   // 0 names a dim that is not there
  EXPECT_EQ(refusal({0, 3}, {0, -1}, 0), kBadOperands);  // any dim would do
  EXPECT_EQ(refusal({0, 3}, {0, -1}, 1), kBadOperands);
  EXPECT_EQ(refusal({0, 3}, {3, 0}, 1), kFolded);
  EXPECT_EQ(refusal({2}, {kMax64, kMax64, 2}, 0), kBadOperands);  // the product wraps
}

TEST(FoldSqueeze, AxesAndAll) {
  FoldCase all(13);
  all.i64({1, 2, 1}, {4, 5});
  ASSERT_EQ(all.fold(OpKind::Squeeze), kFolded);
  EXPECT_EQ(all.dims(), (Dims{2}));
  FoldCase one(13);
  one.i64({1, 2, 1}, {4, 5}).i64({1}, {-1});
  ASSERT_EQ(one.fold(OpKind::Squeeze), kFolded);
  EXPECT_EQ(one.dims(), (Dims{1, 2}));
  FoldCase wrong(11);
  wrong.i64({1, 2, 1}, {4, 5}).attr("axes", Dims{1});
  EXPECT_EQ(wrong.fold(OpKind::Squeeze), kBadOperands);
}

TEST(FoldUnsqueeze, AxesOfTheResult) {
  FoldCase c(13);
  c.i64({2}, {4, 5}).i64({2}, {-1, 0});
  ASSERT_EQ(c.fold(OpKind::Unsqueeze), kFolded);
  EXPECT_EQ(c.dims(), (Dims{1, 2, 1}));
  FoldCase twice(13);
  twice.i64({2}, {4, 5}).i64({2}, {0, -3});  // both are axis 0 of rank 3
  EXPECT_EQ(twice.fold(OpKind::Unsqueeze), kBadOperands);
  FoldCase many(13);
  many.i64({2}, {4, 5}).i64({80}, [] {
    Ints v;
    for (int i = 0; i < 80; ++i) v.push_back(i);
    return v;
  }());
  EXPECT_EQ(many.fold(OpKind::Unsqueeze), kBadOperands);
}

TEST(FoldShape, StartAndEnd) {
  FoldCase c(15);
  c.f32({2, 1, 3}, std::vector<float>(6)).attr("start", -2).attr("end", 100);
  ASSERT_EQ(c.fold(OpKind::Shape), kFolded);
  EXPECT_EQ(c.i64s(), (Ints{1, 3}));
  FoldCase crossed(15);
  crossed.f32({2, 1, 3}, std::vector<float>(6)).attr("start", 2).attr("end", 1);
  ASSERT_EQ(crossed.fold(OpKind::Shape), kFolded);
  EXPECT_EQ(crossed.dims(), (Dims{0}));
}

TEST(FoldTranspose, PermutesAndReverses) {
  FoldCase c(13);
  c.i64({2, 3}, {1, 2, 3, 4, 5, 6});
  ASSERT_EQ(c.fold(OpKind::Transpose), kFolded);
  EXPECT_EQ(c.dims(), (Dims{3, 2}));
  EXPECT_EQ(c.i64s(), (Ints{1, 4, 2, 5, 3, 6}));
  FoldCase words(13);
  words.strings({1, 2, 2}, {"a", "b", "c", "d"}).attr("perm", Dims{2, 0, 1});
  ASSERT_EQ(words.fold(OpKind::Transpose), kFolded);
  EXPECT_EQ(words.dims(), (Dims{2, 1, 2}));
  EXPECT_EQ(words.result().owned->strings, (std::vector<std::string>{"a", "c", "b", "d"}));
  FoldCase twice(13);
  twice.i64({2, 1}, {1, 2}).attr("perm", Dims{0, 0});
  EXPECT_EQ(twice.fold(OpKind::Transpose), kBadOperands);
  FoldCase packed(21);  // elements of half a byte are not moved one by one
  packed.bytes(DType::Int4, {2, 2}, std::string("\x21\x43", 2));
  EXPECT_EQ(packed.fold(OpKind::Transpose), kCannot);
}

TEST(FoldConcatSplit, AreInverse) {
  FoldCase c(13);
  c.i64({2, 1}, {1, 4}).i64({2, 0}, {}).i64({2, 2}, {2, 3, 5, 6}).attr("axis", -1);
  ASSERT_EQ(c.fold(OpKind::Concat), kFolded);
  EXPECT_EQ(c.dims(), (Dims{2, 3}));
  EXPECT_EQ(c.i64s(), (Ints{1, 2, 3, 4, 5, 6}));
  FoldCase s(13);
  s.i64({2, 3}, {1, 2, 3, 4, 5, 6}).i64({3}, {1, 0, 2}).attr("axis", 1);
  ASSERT_EQ(s.fold(OpKind::Split, 3), kFolded);
  EXPECT_EQ(s.i64s(0), (Ints{1, 4}));
  EXPECT_EQ(s.dims(1), (Dims{2, 0}));
  EXPECT_EQ(s.i64s(2), (Ints{2, 3, 5, 6}));
}

TEST(FoldSplit, UnevenAndWrongLengths) {
  FoldCase uneven(18);
  uneven.i64({5}, {1, 2, 3, 4, 5}).attr("num_outputs", 3);
  ASSERT_EQ(uneven.fold(OpKind::Split, 3), kFolded);
  EXPECT_EQ(uneven.i64s(2), (Ints{5}));
  FoldCase nothing_left(18);  // lengths 2, 2, 2 and nothing for the last
  nothing_left.i64({5}, {1, 2, 3, 4, 5}).attr("num_outputs", 4);
  EXPECT_EQ(nothing_left.fold(OpKind::Split, 4), kBadOperands);
  FoldCase sum(13);
  sum.i64({3}, {1, 2, 3}).i64({2}, {kMax64, 4});
  EXPECT_EQ(sum.fold(OpKind::Split, 2), kBadOperands);
  FoldCase negative(13);
  negative.i64({3}, {1, 2, 3}).i64({2}, {-1, 4});
  EXPECT_EQ(negative.fold(OpKind::Split, 2), kBadOperands);
}

TEST(FoldExpand, BroadcastsBothWays) {
  FoldCase c(13);
  c.i64({2, 1}, {1, 2}).i64({3}, {2, 1, 3});
  ASSERT_EQ(c.fold(OpKind::Expand), kFolded);
  EXPECT_EQ(c.dims(), (Dims{2, 2, 3}));
  EXPECT_EQ(c.i64s(), (Ints{1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2}));
}

TEST(FoldTile, RepeatsEachDim) {
  FoldCase c(13);
  c.i64({1, 2}, {1, 2}).i64({2}, {2, 2});
  ASSERT_EQ(c.fold(OpKind::Tile), kFolded);
  EXPECT_EQ(c.dims(), (Dims{2, 4}));
  EXPECT_EQ(c.i64s(), (Ints{1, 2, 1, 2, 1, 2, 1, 2}));
}

TEST(FoldTile, RefusesNegativeRepeats) {
  FoldCase c(13);
  c.i64({2}, {1, 2}).i64({1}, {-1});
  EXPECT_EQ(c.fold(OpKind::Tile), kBadOperands);
}

TEST(FoldBombs, AreRefusedBeforeAnythingIsAllocated) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 60;
  FoldCase tile(13);
  tile.i64({2}, {1, 2}).i64({1}, {kHuge});
  EXPECT_EQ(tile.fold(OpKind::Tile), kBomb);
  FoldCase wraps(13);
  wraps.i64({4}, {1, 2, 3, 4}).i64({1}, {std::int64_t{1} << 62});  // 4 * 2^62 is 0 in 64 bits
  EXPECT_EQ(wraps.fold(OpKind::Tile), kBomb);
  FoldCase expand(13);
  expand.i64({1}, {1}).i64({2}, {kHuge, kHuge});
  EXPECT_EQ(expand.fold(OpKind::Expand), kBomb);
  FoldCase fill(13);
  fill.i64({3}, {1 << 30, 1 << 30, 16});
  EXPECT_EQ(fill.fold(OpKind::ConstantOfShape), kBomb);
  FoldCase range(13);
  range.i64({}, {0}).i64({}, {kHuge >> 8}).i64({}, {1});
  EXPECT_EQ(range.fold(OpKind::Range), kBomb);
  FoldCase pad(13);
  pad.i64({1}, {1}).i64({2}, {kMax64 - 5, 4});
  EXPECT_EQ(pad.fold(OpKind::Pad), kBomb);
  FoldCase pad_wraps(13);
  pad_wraps.i64({1}, {1}).i64({2}, {kMax64, kMax64});
  EXPECT_EQ(pad_wraps.fold(OpKind::Pad), kBomb);
  FoldCase one_hot(13);
  one_hot.i64({4}, {0, 1, 2, 3}).i64({}, {kMax64}).i64({2}, {0, 1});
  EXPECT_EQ(one_hot.fold(OpKind::OneHot), kBomb);
  FoldCase words(13);  // 2^10 copies of a string of 2^20 bytes
  words.strings({1}, {std::string(1 << 20, 'x')}).i64({1}, {1 << 10});
  EXPECT_EQ(words.fold(OpKind::Tile), kBomb);
}

// A kernel reads no more than kMaxIntList of them.
TEST(FoldBombs, LongListsAreNotRead) {
  const auto refuses = [](OpKind kind, int opset, std::int64_t element) {
    FoldCase c(opset);
    const Ints list((1 << 16) + 1, element);
    const auto length = static_cast<std::int64_t>(list.size());
    if (kind == OpKind::ReverseSequence) c.bytes(DType::Int8, {1, length}, std::string(list.size(), '\0'));
    else if (kind != OpKind::ConstantOfShape) c.f32({1}, {1});
    if (kind == OpKind::Slice) c.i64({length}, list);
    c.i64({length}, list);
    EXPECT_EQ(c.fold(kind), kBadOperands) << op_name(kind);
  };
  for (const OpKind kind : {OpKind::Reshape, OpKind::Expand, OpKind::Tile, OpKind::ConstantOfShape})
    refuses(kind, 21, 1);
  for (const OpKind kind : {OpKind::Squeeze, OpKind::Unsqueeze, OpKind::Pad, OpKind::ReduceSum, OpKind::Slice,
                            OpKind::ReverseSequence})
    refuses(kind, 21, 0);
}

TEST(FoldBombs, EmptyResultsAreNone) {
  FoldCase c(13);
  c.i64({1}, {1}).i64({3}, {kMax64, kMax64, 0});
  ASSERT_EQ(c.fold(OpKind::Expand), kFolded);
  EXPECT_EQ(c.dims(), (Dims{kMax64, kMax64, 0}));
}

TEST(FoldPad, Modes) {
  const auto padded = [](const char* mode, Ints data, Ints pads) {
    FoldCase c(19);
    c.i64({static_cast<std::int64_t>(data.size())}, data).i64({2}, pads).attr("mode", mode);
    EXPECT_EQ(c.fold(OpKind::Pad), kFolded) << mode;
    return c.i64s();
  };
  EXPECT_EQ(padded("constant", {1, 2, 3}, {1, 2}), (Ints{0, 1, 2, 3, 0, 0}));
  EXPECT_EQ(padded("constant", {1, 2, 3}, {-1, 1}), (Ints{2, 3, 0}));
  EXPECT_EQ(padded("edge", {1, 2, 3}, {2, 4}), (Ints{1, 1, 1, 2, 3, 3, 3, 3, 3}));
  EXPECT_EQ(padded("reflect", {1, 2, 3}, {2, 1}), (Ints{3, 2, 1, 2, 3, 2}));
  EXPECT_EQ(padded("wrap", {1, 2, 3}, {2, 1}), (Ints{2, 3, 1, 2, 3, 1}));
  FoldCase crop(13);  // more cut off than there is
  crop.i64({2}, {1, 2}).i64({2}, {-2, -1});
  EXPECT_EQ(crop.fold(OpKind::Pad), kBadOperands);
  FoldCase far(13);
  far.i64({2}, {1, 2}).i64({2}, {2, 0}).attr("mode", "reflect");
  EXPECT_EQ(far.fold(OpKind::Pad), kCannot);
}

TEST(FoldPad, AxesOfOpset18) {
  FoldCase c(18);
  c.i64({1, 2}, {1, 2}).i64({2}, {0, 1}).i64({}, {9}).i64({1}, {-1});
  ASSERT_EQ(c.fold(OpKind::Pad), kFolded);
  EXPECT_EQ(c.i64s(), (Ints{1, 2, 9}));
}

TEST(FoldWhere, Broadcasts) {
  FoldCase c(9);
  c.bools({2, 1}, {1, 0}).i64({2}, {1, 2}).i64({}, {7});
  ASSERT_EQ(c.fold(OpKind::Where), kFolded);
  EXPECT_EQ(c.i64s(), (Ints{1, 2, 7, 7}));
}

TEST(FoldWhere, LeavesTheSignOfZeroToTheRuntime) {
  FoldCase c(9);
  c.bools({2}, {1, 0}).f32({2}, {1, 2}).f32({}, {-0.f});
  EXPECT_EQ(c.fold(OpKind::Where), kCannot);
}

TEST(FoldTrilu, DiagonalsFarOutside) {
  const auto kept = [](std::int64_t k, std::int64_t upper) {
    FoldCase c(14);
    c.i64({2, 2}, {1, 2, 3, 4}).i64({}, {k}).attr("upper", upper);
    EXPECT_EQ(c.fold(OpKind::Trilu), kFolded);
    return c.i64s();
  };
  EXPECT_EQ(kept(0, 1), (Ints{1, 2, 0, 4}));
  EXPECT_EQ(kept(0, 0), (Ints{1, 0, 3, 4}));
  EXPECT_EQ(kept(kMax64, 1), (Ints{0, 0, 0, 0}));
  EXPECT_EQ(kept(kMin64, 1), (Ints{1, 2, 3, 4}));
  EXPECT_EQ(kept(kMax64, 0), (Ints{1, 2, 3, 4}));
  EXPECT_EQ(kept(kMin64, 0), (Ints{0, 0, 0, 0}));
}

TEST(FoldSpaceDepth, AreInverseInDcr) {
  FoldCase d(13);  // channels are the blocks, row by row
  d.i64({1, 4, 1, 2}, {0, 1, 2, 3, 4, 5, 6, 7}).attr("blocksize", 2);
  ASSERT_EQ(d.fold(OpKind::DepthToSpace), kFolded);
  EXPECT_EQ(d.dims(), (Dims{1, 1, 2, 4}));
  EXPECT_EQ(d.i64s(), (Ints{0, 2, 1, 3, 4, 6, 5, 7}));
  FoldCase s(13);
  s.i64({1, 1, 2, 4}, {0, 2, 1, 3, 4, 6, 5, 7}).attr("blocksize", 2);
  ASSERT_EQ(s.fold(OpKind::SpaceToDepth), kFolded);
  EXPECT_EQ(s.i64s(), (Ints{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(FoldMakers, ConstantOfShapeRangeEyeLike) {
  FoldCase zeros(9);
  zeros.i64({0}, {});
  ASSERT_EQ(zeros.fold(OpKind::ConstantOfShape), kFolded);
  EXPECT_EQ(zeros.dims(), Dims{});
  EXPECT_EQ(zeros.f32s(), std::vector<float>{0});
  FoldCase ones(9);
  Attr one;
  one.kind = AttrKind::Tensor;
  one.tensor = ones.m.make_tensor(DType::Int64, Dims{1}, std::string("\x01\0\0\0\0\0\0\0", 8));
  ones.i64({1}, {3}).attr("value", one);
  ASSERT_EQ(ones.fold(OpKind::ConstantOfShape), kFolded);
  EXPECT_EQ(ones.i64s(), (Ints{1, 1, 1}));
  FoldCase down(13);
  down.i64({}, {5}).i64({}, {0}).i64({}, {-2});
  ASSERT_EQ(down.fold(OpKind::Range), kFolded);
  EXPECT_EQ(down.i64s(), (Ints{5, 3, 1}));
  FoldCase still(13);
  still.i64({}, {5}).i64({}, {0}).i64({}, {0});
  EXPECT_EQ(still.fold(OpKind::Range), kBadOperands);
  FoldCase eye(13);
  eye.i64({2, 3}, Ints(6)).attr("k", 1);
  ASSERT_EQ(eye.fold(OpKind::EyeLike), kFolded);
  EXPECT_EQ(eye.i64s(), (Ints{0, 1, 0, 0, 0, 1}));
  FoldCase far(13);
  far.i64({2, 3}, Ints(6)).attr("k", kMin64);
  ASSERT_EQ(far.fold(OpKind::EyeLike), kFolded);
  EXPECT_EQ(far.i64s(), Ints(6));
}

TEST(FoldGate, UnknownAttributesAndReferencesAndOpsets) {
  FoldCase unknown(13);
  unknown.i64({1}, {1}).attr("colour", 3);
  EXPECT_EQ(unknown.fold(OpKind::Identity), kCannot);
  FoldCase reference(13);
  Attr a;
  a.kind = AttrKind::Int;
  a.ref = reference.m.names.intern("outer_axis");
  reference.i64({1}, {1}).i64({1}, {2}).attr("axis", a);
  EXPECT_EQ(reference.fold(OpKind::Concat), kCannot);
  FoldCase old(6);  // broadcasting by attributes
  old.i64({1}, {1}).i64({1}, {2});
  EXPECT_EQ(old.fold(OpKind::Add), kCannot);
  FoldCase future(kNewestOpset + 1);
  future.i64({1}, {1}).i64({1}, {2});
  EXPECT_EQ(future.fold(OpKind::Add), kCannot);
  FoldCase random(13);
  random.i64({1}, {1});
  EXPECT_EQ(random.fold(OpKind::RandomNormalLike), kCannot);
  FoldCase missing(13);
  missing.i64({1}, {1}).absent();
  EXPECT_EQ(missing.fold(OpKind::Add), kBadOperands);
}

}  // namespace
}  // namespace graphopt
