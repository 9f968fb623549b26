// Fold kernels of Resize and Upsample. Expected values by hand; what ONNX Runtime gives for the same nodes is
// compared by tests/equal/fold_against_ort.py.
#include <limits>

#include "ops/fold.h"
#include "unit/fold_case.h"

namespace graphopt {
namespace {

using Dims = FoldCase::Dims;
using Floats = std::vector<float>;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr std::int64_t kMax64 = std::numeric_limits<std::int64_t>::max();

FoldCase scaled(Floats x, float scale, int opset = 13) {
  FoldCase c(opset);
  const auto n = static_cast<std::int64_t>(x.size());
  c.f32({1, n}, std::move(x)).absent().f32({2}, {1, scale});
  return c;
}

FoldCase sized(Floats x, std::int64_t size, int opset = 13) {
  FoldCase c(opset);
  const auto n = static_cast<std::int64_t>(x.size());
  c.f32({1, n}, std::move(x)).absent().absent().i64({2}, {1, size});
  return c;
}

TEST(FoldResize, NearestByEveryRounding) {
  // The coordinates are -0.25, 0.25, 0.75, 1.25, and with "asymmetric" 0, 0.5, 1, 1.5.
  const std::vector<std::tuple<const char*, const char*, Floats>> expected = {
      {"half_pixel", "round_prefer_floor", {1, 1, 2, 2}},
      {"half_pixel", "floor", {1, 1, 1, 2}},
      {"half_pixel", "ceil", {1, 2, 2, 2}},
      {"asymmetric", "round_prefer_floor", {1, 1, 2, 2}},
      {"asymmetric", "round_prefer_ceil", {1, 2, 2, 2}},
      {"asymmetric", "ceil", {1, 2, 2, 2}},
      {"asymmetric", "floor", {1, 1, 2, 2}},
  };
  for (const auto& [way, rounding, y] : expected) {
    auto c = scaled({1, 2}, 2);
    c.attr("coordinate_transformation_mode", way).attr("nearest_mode", rounding);
    ASSERT_EQ(c.fold(OpKind::Resize), kFolded) << way << rounding;
    EXPECT_EQ(c.f32s(), y) << way << rounding;
    EXPECT_EQ(c.folded.exactness, FoldExactness::Exact);
  }
  auto corners = sized({1, 2, 3}, 5);
  corners.attr("coordinate_transformation_mode", "align_corners");
  ASSERT_EQ(corners.fold(OpKind::Resize), kFolded);
  EXPECT_EQ(corners.f32s(), (Floats{1, 1, 2, 2, 3}));
  FoldCase old(10);
  old.f32({4}, {1, 2, 3, 4}).f32({1}, {0.5f});
  ASSERT_EQ(old.fold(OpKind::Resize), kFolded);
  EXPECT_EQ(old.f32s(), (Floats{1, 3}));
  FoldCase up(9);
  up.f32({2}, {1, 2}).f32({1}, {1.5f});
  ASSERT_EQ(up.fold(OpKind::Upsample), kFolded);
  EXPECT_EQ(up.f32s(), (Floats{1, 1, 2}));
}

TEST(FoldResize, KeepsIndicesThatDependOnPrecision) {
  auto c = scaled({1, 2}, 1.7f);  // 2 * 1.7f is no whole number
  c.attr("coordinate_transformation_mode", "align_corners");
  EXPECT_EQ(c.fold(OpKind::Resize), kCannot);
  // The float is above 1 / 3: coordinate 3 is 3 in float, and below in double.
  auto third = scaled(Floats(12, 1), 1.f / 3);
  third.attr("coordinate_transformation_mode", "asymmetric").attr("nearest_mode", "floor");
  EXPECT_EQ(third.fold(OpKind::Resize), kCannot);
}

TEST(FoldResize, SumsRound) {
  auto linear = scaled({1, 3}, 2);
  linear.attr("mode", "linear");
  ASSERT_EQ(linear.fold(OpKind::Resize), kFolded);
  EXPECT_EQ(linear.f32s(), (Floats{1, 1.5f, 2.5f, 3}));
  EXPECT_EQ(linear.folded.exactness, FoldExactness::Rounds);
  auto cubic = scaled({1, 3}, 2);
  cubic.attr("mode", "cubic").attr("coordinate_transformation_mode", "asymmetric");
  ASSERT_EQ(cubic.fold(OpKind::Resize), kFolded);
  EXPECT_EQ(cubic.f32s(), (Floats{1, 2, 3, 3.1875f}));
  FoldCase both(13);  // longer along one axis, shorter along the other
  both.f32({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}).absent().f32({2}, {2, 0.5f}).attr("mode", "linear");
  ASSERT_EQ(both.fold(OpKind::Resize), kFolded);
  EXPECT_EQ(both.dims(), (Dims{4, 2}));
  EXPECT_EQ(both.f32s(), (Floats{1.5f, 3.5f, 2.5f, 4.5f, 4.5f, 6.5f, 5.5f, 7.5f}));
  for (const float bad : {kNan, kInf}) {
    auto c = scaled({1, bad}, 2);
    c.attr("mode", "linear");
    EXPECT_EQ(c.fold(OpKind::Resize), kBadOperands);
  }
  FoldCase rank1(13);
  rank1.f32({2}, {1, 2}).absent().f32({1}, {2}).attr("mode", "linear");
  EXPECT_EQ(rank1.fold(OpKind::Resize), kCannot);
  FoldCase channels(13);
  channels.f32({1, 2, 1, 1}, {1, 2}).absent().f32({4}, {1, 2, 2, 2}).attr("mode", "linear");
  EXPECT_EQ(channels.fold(OpKind::Resize), kCannot);
}

TEST(FoldResize, AxesAndPolicies) {
  FoldCase c(18);
  c.f32({1, 2, 2}, {1, 2, 3, 4}).absent().absent().i64({1}, {4}).attr("axes", Dims{-1});
  ASSERT_EQ(c.fold(OpKind::Resize), kFolded);
  EXPECT_EQ(c.f32s(), (Floats{1, 1, 2, 2, 3, 3, 4, 4}));
  FoldCase policy(18);
  policy.f32({1, 2}, {1, 2})
      .absent()
      .absent()
      .i64({2}, {3, 4})
      .attr("keep_aspect_ratio_policy", "not_larger");
  ASSERT_EQ(policy.fold(OpKind::Resize), kFolded);
  EXPECT_EQ(policy.dims(), (Dims{2, 4}));
}

TEST(FoldResize, RefusesSizesAndModes) {
  for (const float bad : {0.f, -1.f, kNan, kInf, 1e30f, 0.1f})
    EXPECT_EQ(scaled({1, 2}, bad).fold(OpKind::Resize), kCannot) << bad;
  for (const std::int64_t bad : {std::int64_t{0}, std::int64_t{-1}, kMax64})
    EXPECT_EQ(sized({1, 2}, bad).fold(OpKind::Resize), kCannot) << bad;
  EXPECT_EQ(sized({1, 2}, 1 << 24).fold(OpKind::Resize), kBomb);
  for (const char* mode :
       {"bilinear", "tf_crop_and_resize", "half_pixel_symmetric", "tf_half_pixel_for_nn"}) {
    auto c = scaled({1, 2}, 2, 19);
    c.attr(mode[0] == 'b' ? "mode" : "coordinate_transformation_mode", mode);
    EXPECT_EQ(c.fold(OpKind::Resize), kCannot) << mode;
  }
  auto smooth = scaled({1, 2}, 0.5f, 18);
  smooth.attr("antialias", 1).attr("mode", "linear");
  EXPECT_EQ(smooth.fold(OpKind::Resize), kCannot);
  auto both = scaled({1, 2}, 2);
  both.i64({2}, {1, 4});
  EXPECT_EQ(both.fold(OpKind::Resize), kCannot);
  FoldCase neither(13);
  neither.f32({1, 2}, {1, 2});
  EXPECT_EQ(neither.fold(OpKind::Resize), kCannot);
  FoldCase few(13);
  few.f32({1, 2}, {1, 2}).absent().f32({1}, {2});
  EXPECT_EQ(few.fold(OpKind::Resize), kCannot);
}

}  // namespace
}  // namespace graphopt
