// How far values are apart, through types and layouts.

#include "numeric/difference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "numeric/layout.h"
#include "support/half.h"

namespace graphopt {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN(),
                 kInf = std::numeric_limits<double>::infinity();

HostValue floats(std::vector<std::int64_t> dims, const std::vector<double>& numbers) {
  HostValue out;
  out.kind = HostValue::Kind::Tensor;
  out.dtype = DType::Float;
  out.dims = std::move(dims);
  for (const double x : numbers) {
    const float f = static_cast<float>(x);
    out.raw.append(reinterpret_cast<const char*>(&f), sizeof f);
  }
  return out;
}

HostValue halves(std::vector<std::int64_t> dims, const std::vector<double>& numbers) {
  HostValue out = floats(std::move(dims), {});
  out.dtype = DType::Float16;
  for (const double x : numbers) {
    const std::uint16_t h = double_to_half(x);
    out.raw.append(reinterpret_cast<const char*>(&h), sizeof h);
  }
  return out;
}

TEST(ValueDifference, IsRelativeToTheLargestMagnitude) {
  const ValueDifference d =
      difference_of(floats({3}, {1, -4, 0}), floats({3}, {1, -4.5, 0.25}), 0, Layouts::Channels);
  EXPECT_EQ(d.max_abs, 0.5);
  EXPECT_EQ(d.max_rel, 0.125);
  EXPECT_LT(d.cosine, 1);
  EXPECT_EQ(difference_of(floats({2}, {0, 0}), floats({2}, {0, 0}), 0, Layouts::Channels).max_rel, 0);
  EXPECT_EQ(difference_of(floats({2}, {0, 0}), floats({2}, {0, 0}), 0, Layouts::Channels).cosine, 1);
  EXPECT_GT(difference_of(floats({2}, {0, 0}), floats({2}, {0, 1e-20}), 0, Layouts::Channels).max_rel, 1);
}

// Divided by 3e38, a difference of the other elements would vanish.
TEST(ValueDifference, AMaskHidesNothing) {
  const HostValue a = floats({4}, {1, 2, -3e38, 1}), b = floats({4}, {1, 2.5, -3e38, 1});
  EXPECT_EQ(difference_of(a, b, 0, Layouts::Channels).max_rel, 0.25);
  EXPECT_LT(difference_of(a, floats({4}, {1, 2, -2.9999e38, 1}), 0, Layouts::Channels).max_rel, 1e-4);
}

TEST(ValueDifference, NaNAndInfinitiesHavePlaces) {
  const HostValue a = floats({3}, {kNaN, kInf, 1});
  EXPECT_EQ(difference_of(a, a, 0, Layouts::Channels).problem, "");
  EXPECT_NE(difference_of(a, floats({3}, {kNaN, -kInf, 1}), 0, Layouts::Channels).problem, "");
  EXPECT_NE(difference_of(a, floats({3}, {1, kInf, kNaN}), 0, Layouts::Channels).problem, "");
}

TEST(ValueDifference, GoesThroughTypes) {
  const ValueDifference d =
      difference_of(floats({2}, {0.1, 1}), halves({2}, {0.1, 1}), 1e-3, Layouts::Channels);
  EXPECT_TRUE(d.is_comparable);
  EXPECT_GT(d.max_abs, 0);
  EXPECT_LT(d.max_rel, 1e-3);
  HostValue text;
  text.kind = HostValue::Kind::Tensor;
  text.dtype = DType::String;
  EXPECT_FALSE(difference_of(text, text, 0, Layouts::Channels).is_comparable);
}

TEST(ValueDifference, GoesThroughLayouts) {
  // [1,2,2,3] with channels first, [1,2,3,2] with channels last.
  const HostValue first = floats({1, 2, 2, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  const HostValue last = floats({1, 2, 3, 2}, {1, 7, 2, 8, 3, 9, 4, 10, 5, 11, 6, 12});
  const ValueDifference d = difference_of(first, last, 0, Layouts::Channels);
  EXPECT_EQ(d.max_abs, 0);
  EXPECT_EQ(d.layout, (std::vector<std::size_t>{0, 2, 3, 1}));
  // Other dims with the same elements in the same order have none.
  EXPECT_TRUE(
      difference_of(first, floats({12}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}), 0, Layouts::Channels)
          .layout.empty());
  EXPECT_NE(difference_of(first, floats({11}, std::vector<double>(11, 1)), 0, Layouts::Channels).problem, "");
}

TEST(Layouts, AreThoseOfChannels) {
  using Dims = std::vector<std::int64_t>;
  using Layout = std::vector<std::size_t>;
  EXPECT_EQ(channel_layout(Dims{1, 3, 8, 9}, Dims{1, 8, 9, 3}), (Layout{0, 2, 3, 1}));
  EXPECT_EQ(channel_layout(Dims{1, 8, 9, 3}, Dims{1, 3, 8, 9}), (Layout{0, 3, 1, 2}));
  EXPECT_EQ(channel_layout(Dims{1, 3, 8, 8}, Dims{1, 3, 8, 8}), Layout{});
  EXPECT_EQ(channel_layout(Dims{2, 3}, Dims{3, 2}), Layout{});
  EXPECT_EQ(channel_layout(Dims{-1, 3, 7}, Dims{-1, 7, 3}), (Layout{0, 2, 1}));
  EXPECT_EQ(permuted_places(Dims{2, 3}, Layout{1, 0}), (Layout{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(permuted_places(Dims{2, 0}, Layout{1, 0}), Layout{});
}

TEST(Fingerprints, DoNotDependOnOrder) {
  const Fingerprint a = fingerprint_of(floats({2, 2}, {1, -2, 3, 4})),
                    b = fingerprint_of(floats({4}, {4, 3, 1, -2}));
  EXPECT_TRUE(are_alike(a, b, 0));
  EXPECT_FALSE(are_alike(a, fingerprint_of(floats({4}, {4, 3, 1, -2.1})), 1e-3));
  EXPECT_TRUE(are_alike(a, fingerprint_of(floats({4}, {4, 3, 1, -2.1})), 0.1));
  EXPECT_EQ(fingerprint_of(floats({2}, {1, 1})).elements, 0U);
  EXPECT_EQ(fingerprint_of(floats({1}, {1})).elements, 0U);
  EXPECT_EQ(fingerprint_of(floats({2}, {1, kNaN})).elements, 0U);
}

}  // namespace
}  // namespace graphopt
