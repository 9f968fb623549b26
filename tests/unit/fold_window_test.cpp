// Fold kernels with windows: pooling and Conv. Expected values by hand; what ONNX Runtime gives for the same
// nodes is compared by tests/equal/fold_against_ort.py.
#include <limits>

#include "ops/fold.h"
#include "unit/fold_case.h"

namespace graphopt {
namespace {

using Dims = FoldCase::Dims;
using Ints = std::vector<std::int64_t>;
using Floats = std::vector<float>;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr std::int64_t kMax64 = std::numeric_limits<std::int64_t>::max();

FoldCase line(Floats x, int opset = 19) {
  FoldCase c(opset);
  const auto n = static_cast<std::int64_t>(x.size());
  c.f32({1, 1, n}, std::move(x));
  return c;
}

TEST(FoldMaxPool, ChoosesAndSaysWhere) {
  FoldCase c(12);
  c.f32({1, 2, 2, 3}, {1, 5, 2, 5, 0, 9, -1, -2, -3, -4, -5, -6}).attr("kernel_shape", Dims{2, 2});
  ASSERT_EQ(c.fold(OpKind::MaxPool, 2), kFolded);
  EXPECT_EQ(c.dims(), (Dims{1, 2, 1, 2}));
  EXPECT_EQ(c.f32s(), (Floats{5, 9, -1, -2}));
  EXPECT_EQ(c.i64s(1), (Ints{1, 5, 6, 7}));  // of equal elements the first
  EXPECT_EQ(c.folded.exactness, FoldExactness::Exact);
  FoldCase columns(12);
  columns.f32({1, 2, 2, 3}, {1, 5, 2, 5, 0, 9, -1, -2, -3, -4, -5, -6})
      .attr("kernel_shape", Dims{2, 2})
      .attr("storage_order", 1);
  ASSERT_EQ(columns.fold(OpKind::MaxPool, 2), kFolded);
  EXPECT_EQ(columns.i64s(1), (Ints{2, 5, 6, 8}));
}

TEST(FoldMaxPool, PadsStridesDilationsAndCeilMode) {
  auto dilated = line({1, 2, 3, 4, 5});
  dilated.attr("kernel_shape", Dims{2}).attr("dilations", Dims{3}).attr("strides", Dims{2});
  ASSERT_EQ(dilated.fold(OpKind::MaxPool), kFolded);
  EXPECT_EQ(dilated.f32s(), (Floats{4}));
  auto ceil = line({1, 2, 3, 4, 5, 6});
  ceil.attr("kernel_shape", Dims{3}).attr("strides", Dims{2}).attr("ceil_mode", 1);
  ASSERT_EQ(ceil.fold(OpKind::MaxPool), kFolded);
  EXPECT_EQ(ceil.f32s(), (Floats{3, 5, 6}));
  auto outside = line({1, 2});  // a third window would start beyond the axis
  outside.attr("kernel_shape", Dims{1}).attr("strides", Dims{3}).attr("ceil_mode", 1);
  ASSERT_EQ(outside.fold(OpKind::MaxPool), kFolded);
  EXPECT_EQ(outside.f32s(), (Floats{1}));
  for (const auto& [way, expected] : std::vector<std::pair<const char*, Floats>>{
           {"SAME_UPPER", {2, 4, 5}}, {"SAME_LOWER", {1, 3, 5}}, {"VALID", {2, 4}}}) {
    auto same = line({1, 2, 3, 4, 5});
    same.attr("kernel_shape", Dims{2}).attr("strides", Dims{2}).attr("auto_pad", way);
    ASSERT_EQ(same.fold(OpKind::MaxPool), kFolded) << way;
    EXPECT_EQ(same.f32s(), expected) << way;
  }
}

TEST(FoldMaxPool, KeepsWhereKernelsDiffer) {
  for (const Floats& bad : {Floats{kNan, 1}, Floats{0.f, -0.f}, Floats{-kInf, -kInf}}) {
    auto c = line(bad);
    c.attr("kernel_shape", Dims{2});
    EXPECT_EQ(c.fold(OpKind::MaxPool), kBadOperands);
  }
  auto negative_zeros = line({-0.f, -0.f});
  negative_zeros.attr("kernel_shape", Dims{2});
  EXPECT_EQ(negative_zeros.fold(OpKind::MaxPool), kFolded);
  auto on_padding = line({1, 2});
  on_padding.attr("kernel_shape", Dims{2}).attr("dilations", Dims{3}).attr("pads", Dims{1, 1});
  EXPECT_EQ(on_padding.fold(OpKind::MaxPool), kBadOperands);
}

TEST(FoldMaxPool, RefusesWindowsThatDoNotFit) {
  const std::vector<std::vector<std::pair<const char*, Dims>>> bad = {
      {{"kernel_shape", {3}}},                         // larger than the axis
      {{"kernel_shape", {0}}},                         //
      {{"kernel_shape", {-1}}},                        //
      {{"kernel_shape", {1, 1}}},                      //
      {{"kernel_shape", {kMax64}}},                    //
      {{"kernel_shape", {2}}, {"pads", {-1, 0}}},      //
      {{"kernel_shape", {2}}, {"pads", {2, 0}}},       // as large as the window
      {{"kernel_shape", {2}}, {"pads", {1}}},          //
      {{"kernel_shape", {2}}, {"pads", {0, kMax64}}},  //
      {{"kernel_shape", {2}}, {"strides", {0}}},       //
      {{"kernel_shape", {2}}, {"strides", {kMax64}}},  //
      {{"kernel_shape", {2}}, {"dilations", {kMax64}}},
  };
  for (std::size_t i = 0; i < bad.size(); ++i) {
    auto c = line({1, 2});
    for (const auto& [name, value] : bad[i]) c.attr(name, value);
    EXPECT_EQ(c.fold(OpKind::MaxPool), kCannot) << i;
  }
  auto both = line({1, 2});
  both.attr("kernel_shape", Dims{1}).attr("auto_pad", "VALID").attr("pads", Dims{0, 0});
  EXPECT_EQ(both.fold(OpKind::MaxPool), kCannot);
  for (const auto& [extent, refusal] : std::vector<std::pair<std::size_t, FoldRefusal>>{
           {4, kFolded}, {5, kCannot}}) {  // of 5, ONNX Runtime would pad by a negative number
    auto same = line(Floats(extent, 1));
    same.attr("kernel_shape", Dims{1}).attr("strides", Dims{3}).attr("auto_pad", "SAME_UPPER");
    EXPECT_EQ(same.fold(OpKind::MaxPool), refusal) << extent;
  }
  FoldCase empty(12);
  empty.f32({0, 1, 3}, {}).attr("kernel_shape", Dims{2});
  EXPECT_EQ(empty.fold(OpKind::MaxPool), kCannot);
  FoldCase four(12);
  four.f32({1, 1, 1, 1, 1, 1}, {1}).attr("kernel_shape", Dims{1, 1, 1, 1});
  EXPECT_EQ(four.fold(OpKind::MaxPool), kCannot);
}

TEST(FoldMaxPool, BoundsTheWork) {
  constexpr std::int64_t kWide = 1 << 20;
  auto c = line({1, 2});
  c.attr("kernel_shape", Dims{kWide}).attr("pads", Dims{kWide - 1, kWide - 1});
  EXPECT_EQ(c.fold(OpKind::MaxPool), kBomb);
  FoldCase cube(12);
  cube.f32({1, 1, 1, 1, 1}, {1})
      .attr("kernel_shape", Dims{kWide, kWide, kWide})
      .attr("pads", Dims(6, kWide - 1));
  EXPECT_EQ(cube.fold(OpKind::MaxPool), kBomb);
}

TEST(FoldAveragePool, CountsElementsOrThePaddingAsWell) {
  auto c = line({2, 4, 6});
  c.attr("kernel_shape", Dims{2}).attr("pads", Dims{1, 0});
  ASSERT_EQ(c.fold(OpKind::AveragePool), kFolded);
  EXPECT_EQ(c.f32s(), (Floats{2, 3, 5}));
  EXPECT_EQ(c.folded.exactness, FoldExactness::Rounds);
  auto counted = line({2, 4, 6});
  counted.attr("kernel_shape", Dims{2}).attr("pads", Dims{1, 0}).attr("count_include_pad", 1);
  ASSERT_EQ(counted.fold(OpKind::AveragePool), kFolded);
  EXPECT_EQ(counted.f32s(), (Floats{1, 3, 5}));
  auto beyond = line({2, 4, 6});  // the last window sticks out of the padding
  beyond.attr("kernel_shape", Dims{2})
      .attr("strides", Dims{2})
      .attr("ceil_mode", 1)
      .attr("count_include_pad", 1);
  EXPECT_EQ(beyond.fold(OpKind::AveragePool), kBadOperands);
  auto apart = line({2, 4, 6});
  apart.attr("kernel_shape", Dims{2}).attr("strides", Dims{2}).attr("ceil_mode", 1);
  ASSERT_EQ(apart.fold(OpKind::AveragePool), kFolded);
  EXPECT_EQ(apart.f32s(), (Floats{3, 6}));
}

TEST(FoldGlobalPool, OneElementOfEachPlane) {
  FoldCase mean(1);
  mean.f32({1, 2, 2, 2}, {1, 2, 3, 6, 0, 0, 0, 4});
  ASSERT_EQ(mean.fold(OpKind::GlobalAveragePool), kFolded);
  EXPECT_EQ(mean.dims(), (Dims{1, 2, 1, 1}));
  EXPECT_EQ(mean.f32s(), (Floats{3, 1}));
  FoldCase most(1);
  most.f32({1, 2, 2, 2}, {1, 2, 3, 6, 0, 0, 0, 4});
  ASSERT_EQ(most.fold(OpKind::GlobalMaxPool), kFolded);
  EXPECT_EQ(most.f32s(), (Floats{6, 4}));
  EXPECT_EQ(most.folded.exactness, FoldExactness::Exact);
}

TEST(FoldConv, PadsStridesDilationsAndBias) {
  auto c = line({1, 2, 3, 4});
  c.f32({1, 1, 2}, {10, 1}).f32({1}, {0.5f}).attr("pads", Dims{1, 0}).attr("strides", Dims{2});
  ASSERT_EQ(c.fold(OpKind::Conv), kFolded);
  EXPECT_EQ(c.dims(), (Dims{1, 1, 2}));
  EXPECT_EQ(c.f32s(), (Floats{1.5f, 23.5f}));
  EXPECT_EQ(c.folded.exactness, FoldExactness::Rounds);
  auto dilated = line({1, 2, 3, 4});
  dilated.f32({1, 1, 2}, {10, 1}).attr("dilations", Dims{2});
  ASSERT_EQ(dilated.fold(OpKind::Conv), kFolded);
  EXPECT_EQ(dilated.f32s(), (Floats{13, 24}));
  auto wide = line({1, 2});  // some windows lie on padding alone
  wide.f32({1, 1, 1}, {3}).attr("pads", Dims{2, 1});
  ASSERT_EQ(wide.fold(OpKind::Conv), kFolded);
  EXPECT_EQ(wide.f32s(), (Floats{0, 0, 3, 6, 0}));
}

TEST(FoldConv, GroupsHaveTheirOwnChannels) {
  FoldCase c(11);
  c.f32({1, 4, 1}, {1, 2, 3, 4}).f32({2, 2, 1}, {1, 10, 1, 10}).attr("group", 2);
  ASSERT_EQ(c.fold(OpKind::Conv), kFolded);
  EXPECT_EQ(c.dims(), (Dims{1, 2, 1}));
  EXPECT_EQ(c.f32s(), (Floats{21, 43}));
  FoldCase plane(11);
  plane.f32({1, 1, 2, 2}, {1, 2, 3, 4}).f32({1, 1, 2, 2}, {1, 10, 100, 1000});
  ASSERT_EQ(plane.fold(OpKind::Conv), kFolded);
  EXPECT_EQ(plane.f32s(), (Floats{4321}));
}

TEST(FoldConv, RefusesOperandsThatDoNotFit) {
  struct Bad {
    Dims x, w;
    std::int64_t group;
  };
  const std::vector<Bad> bad = {
      {{1, 2, 3}, {1, 1, 2}, 1},      {{1, 2, 3}, {3, 1, 2}, 2},
      {{1, 1, 3}, {1, 1, 4}, 1},      {{1, 1, 3}, {1, 1, 2}, 0},
      {{1, 1, 3}, {1, 1, 2}, kMax64}, {{1, 1, 3}, {1, 1, 1, 1}, 1},
      {{1, 0, 3}, {1, 0, 2}, 1},      {{3}, {1}, 1},
  };
  for (std::size_t i = 0; i < bad.size(); ++i) {
    const auto count = [](const Dims& dims) {
      std::int64_t n = 1;
      for (const std::int64_t d : dims) n *= d;
      return static_cast<std::size_t>(n);
    };
    FoldCase c(11);
    c.f32(bad[i].x, Floats(count(bad[i].x), 1)).f32(bad[i].w, Floats(count(bad[i].w), 1));
    c.attr("group", bad[i].group);
    EXPECT_EQ(c.fold(OpKind::Conv), kCannot) << i;
  }
  auto infinite = line({1, kInf});
  infinite.f32({1, 1, 1}, {1});
  EXPECT_EQ(infinite.fold(OpKind::Conv), kBadOperands);
  auto bias = line({1, 2});
  bias.f32({1, 1, 1}, {1}).f32({2}, {1, 2});
  EXPECT_EQ(bias.fold(OpKind::Conv), kCannot);
  auto shape = line({1, 2});
  shape.f32({1, 1, 1}, {1}).attr("kernel_shape", Dims{2});
  EXPECT_EQ(shape.fold(OpKind::Conv), kCannot);
  FoldCase large(11);
  large.f32({1, 1, 1 << 12}, Floats(1 << 12, 1)).f32({1, 1, 1 << 11}, Floats(1 << 11, 1));
  EXPECT_EQ(large.fold(OpKind::Conv), kBomb);
}

}  // namespace
}  // namespace graphopt
