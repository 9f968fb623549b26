// What counts as equal: every rule with a pair on either side of it.
#include "runtime/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "support/half.h"

namespace graphopt {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

template <class T>
HostValue tensor(DType dtype, std::vector<std::int64_t> dims, const std::vector<T>& elements) {
  HostValue v;
  v.kind = HostValue::Kind::Tensor;
  v.dtype = dtype;
  v.dims = std::move(dims);
  v.raw.resize(elements.size() * sizeof(T));
  if (!elements.empty()) std::memcpy(v.raw.data(), elements.data(), v.raw.size());
  return v;
}

HostValue floats(const std::vector<float>& e) {
  return tensor(DType::Float, {static_cast<std::int64_t>(e.size())}, e);
}
HostValue int64s(const std::vector<std::int64_t>& e) {
  return tensor(DType::Int64, {static_cast<std::int64_t>(e.size())}, e);
}

HostValue strings(std::vector<std::string> e) {
  HostValue v;
  v.kind = HostValue::Kind::Tensor;
  v.dtype = DType::String;
  v.dims = {static_cast<std::int64_t>(e.size())};
  v.strings = std::move(e);
  return v;
}

HostValue list(HostValue::Kind kind, std::vector<HostValue> items) {
  HostValue v;
  v.kind = kind;
  v.items = std::move(items);
  return v;
}

TEST(CompareValues, FloatsAreMeasuredAgainstTheLargestMagnitude) {
  // 0.01 off where the largest is 1000: 1e-5. Off by 1: 1e-3.
  EXPECT_TRUE(compare_values(floats({1000, 0}), floats({1000, 0.01f}), {}).within);
  const Distance far = compare_values(floats({-1000, 0}), floats({-1000, 1}), {});
  EXPECT_FALSE(far.within);
  EXPECT_DOUBLE_EQ(far.max_abs, 1);
  EXPECT_DOUBLE_EQ(far.max_rel, 1e-3);
  EXPECT_TRUE(far.problem.empty());
}

TEST(CompareValues, ToleranceIsByTypeUnlessGiven) {
  const auto pair = [](DType t, double other) {
    const auto make = [t](double v) {
      if (t == DType::Double) return tensor<double>(t, {2}, {1.0, v});
      if (t == DType::Float) return tensor<float>(t, {2}, {1.0f, static_cast<float>(v)});
      const auto convert = [t](double x) {
        return t == DType::Float16 ? double_to_half(x) : float_to_bfloat16(static_cast<float>(x));
      };
      return tensor<std::uint16_t>(t, {2}, {convert(1.0), convert(v)});
    };
    return compare_values(make(0.5), make(0.5 + other), {}).within;
  };
  EXPECT_TRUE(pair(DType::Double, 5e-7));
  EXPECT_FALSE(pair(DType::Double, 5e-6));
  EXPECT_TRUE(pair(DType::Float, 5e-5));
  EXPECT_FALSE(pair(DType::Float, 5e-4));
  EXPECT_TRUE(pair(DType::Float16, 5e-3));
  EXPECT_FALSE(pair(DType::Float16, 5e-2));
  EXPECT_TRUE(pair(DType::BFloat16, 2e-2));
  EXPECT_FALSE(pair(DType::BFloat16, 1e-1));
  EXPECT_TRUE(compare_values(floats({1}), floats({1.4f}), {0.5}).within);
  EXPECT_FALSE(compare_values(floats({1}), floats({1.0001f}), {1e-6}).within);
}

TEST(CompareValues, AToleranceIsForFloatsOnly) {
  EXPECT_FALSE(compare_values(int64s({100}), int64s({101}), {0.5}).within);
  EXPECT_FALSE(compare_values(strings({"a"}), strings({"b"}), {2.0}).within);
}

TEST(CompareValues, NaNMustStandAtTheSamePlaces) {
  const auto f = [](double v) { return static_cast<float>(v); };
  EXPECT_TRUE(compare_values(floats({f(kNaN), 1}), floats({f(-kNaN), 1}), {}).within);
  const Distance planted = compare_values(floats({1, 2, 3}), floats({1, f(kNaN), 3}), {});
  EXPECT_FALSE(planted.within);
  EXPECT_EQ(planted.problem, "1 NaN and 0 infinities differ, first at [1]");
  EXPECT_FALSE(compare_values(floats({f(kNaN)}), floats({1}), {}).within);
}

TEST(CompareValues, InfinitiesMustHaveTheirSign) {
  const auto f = [](double v) { return static_cast<float>(v); };
  EXPECT_TRUE(compare_values(floats({f(kInf), f(-kInf)}), floats({f(kInf), f(-kInf)}), {}).within);
  EXPECT_FALSE(compare_values(floats({f(kInf)}), floats({f(-kInf)}), {}).within);
  EXPECT_FALSE(compare_values(floats({1e30f}), floats({f(kInf)}), {}).within);
  EXPECT_FALSE(compare_values(floats({f(kInf)}), floats({f(kNaN)}), {}).within);
  // An infinity is no scale: the finite elements are judged among themselves.
  EXPECT_FALSE(compare_values(floats({f(kInf), 1}), floats({f(kInf), 2}), {}).within);
}

TEST(CompareValues, PlaceIsAnIndexPerAxis) {
  auto a = tensor<float>(DType::Float, {2, 3}, {0, 0, 0, 0, 0, 0}), b = a;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::memcpy(b.raw.data() + 5 * sizeof(float), &nan, sizeof nan);
  EXPECT_EQ(compare_values(a, b, {}).problem, "1 NaN and 0 infinities differ, first at [1,2]");
}

TEST(CompareValues, ZerosOfEitherSignAreEqual) {
  const Distance d = compare_values(floats({0.0f, 1}), floats({-0.0f, 1}), {});
  EXPECT_TRUE(d.within);
  EXPECT_EQ(d.max_abs, 0);
}

TEST(CompareValues, AnythingIsFarFromZeros) {
  EXPECT_TRUE(compare_values(floats({0, 0}), floats({0, 0}), {}).within);
  EXPECT_FALSE(compare_values(floats({0, 0}), floats({0, 1e-20f}), {}).within);
}

TEST(CompareValues, TypeAndShapeAreExact) {
  EXPECT_EQ(compare_values(floats({1}), tensor<double>(DType::Double, {1}, {1}), {}).problem,
            "type float became double");
  EXPECT_EQ(compare_values(tensor<float>(DType::Float, {2, 3}, std::vector<float>(6)),
                           tensor<float>(DType::Float, {3, 2}, std::vector<float>(6)), {})
                .problem,
            "shape [2,3] became [3,2]");
  EXPECT_EQ(compare_values(tensor<float>(DType::Float, {}, {1}), floats({1}), {}).problem,
            "shape [] became [1]");
  EXPECT_TRUE(compare_values(floats({}), floats({}), {}).within);
  EXPECT_FALSE(
      compare_values(tensor<float>(DType::Float, {0, 2}, {}), tensor<float>(DType::Float, {0, 3}, {}), {})
          .within);
}

TEST(CompareValues, IntegersAreExactWhereADoubleIsNot) {
  const std::int64_t large = (std::int64_t{1} << 53);
  const Distance d = compare_values(int64s({large, 1, 2, 3}), int64s({large + 1, 1, 2, 3}), {});
  EXPECT_FALSE(d.within);
  EXPECT_DOUBLE_EQ(d.max_rel, 0.25);
  EXPECT_DOUBLE_EQ(compare_values(int64s({5}), int64s({-2}), {}).max_abs, 7);
}

TEST(CompareValues, PackedElementsAreComparedOneByOne) {
  // Three 4-bit elements: the upper half of the second byte is padding.
  const auto a = tensor<std::uint8_t>(DType::Int4, {3}, {0x21, 0x03}),
             same = tensor<std::uint8_t>(DType::Int4, {3}, {0x21, 0xF3});
  const auto other = tensor<std::uint8_t>(DType::Int4, {3}, {0x31, 0x03});
  EXPECT_TRUE(compare_values(a, same, {}).within);
  EXPECT_FALSE(compare_values(a, other, {}).within);
  EXPECT_DOUBLE_EQ(compare_values(a, other, {}).max_rel, 1.0 / 3);
}

TEST(CompareValues, ComplexNumbersByTheirParts) {
  const auto a = tensor<float>(DType::Complex64, {1}, {1, 2}),
             b = tensor<float>(DType::Complex64, {1}, {1, 2.1f});
  EXPECT_TRUE(compare_values(a, a, {}).within);
  EXPECT_FALSE(compare_values(a, b, {}).within);
}

TEST(CompareValues, SequencesMapsOptionals) {
  using K = HostValue::Kind;
  const HostValue one = list(K::Sequence, {floats({1})}), two = list(K::Sequence, {floats({1}), floats({2})});
  EXPECT_EQ(compare_values(one, two, {}).problem, "length 1 became 2");
  EXPECT_FALSE(compare_values(two, list(K::Sequence, {floats({1}), floats({3})}), {}).within);
  EXPECT_TRUE(compare_values(HostValue{}, HostValue{}, {}).within);
  EXPECT_EQ(compare_values(HostValue{}, one, {}).problem, "an empty optional became a sequence");
  // A wrong key is not excused by values that are further apart but within the tolerance.
  const HostValue map = list(K::Map, {strings({"a", "b"}), floats({1, 2})});
  EXPECT_FALSE(compare_values(map, list(K::Map, {strings({"a", "c"}), floats({1, 3})}), {1.0}).within);
  EXPECT_FALSE(compare_types(one, two).empty());
  EXPECT_TRUE(compare_types(two, list(K::Sequence, {floats({7}), floats({8})})).empty());
}

TEST(FloatBits, HalfRoundsToNearestEvenAndBack) {
  EXPECT_EQ(double_to_half(1.0), 0x3C00);
  EXPECT_EQ(double_to_half(-2.0), 0xC000);
  EXPECT_EQ(double_to_half(65504), 0x7BFF);
  EXPECT_EQ(double_to_half(65519.9), 0x7BFF);
  EXPECT_EQ(double_to_half(65520), 0x7C00);
  EXPECT_EQ(double_to_half(std::ldexp(1, -24)), 0x0001);
  EXPECT_EQ(double_to_half(std::ldexp(1, -25)), 0x0000);          // a tie: to even
  EXPECT_EQ(double_to_half(1 + std::ldexp(1, -11)), 0x3C00);      // a tie: to even
  EXPECT_EQ(double_to_half(1 + 3 * std::ldexp(1, -11)), 0x3C02);  // a tie: to even
  EXPECT_EQ(double_to_half(-0.0), 0x8000);
  EXPECT_EQ(double_to_half(2 - std::ldexp(1, -12)), 0x4000);  // carries into the exponent
  for (unsigned bits = 0; bits < 0x7C00; ++bits) {
    const auto b = static_cast<std::uint16_t>(bits);
    ASSERT_EQ(double_to_half(half_to_float(b)), b);
  }
  EXPECT_TRUE(std::isnan(half_to_float(double_to_half(kNaN))));
  EXPECT_TRUE(std::isnan(bfloat16_to_float(float_to_bfloat16(NAN))));
  EXPECT_EQ(float_to_bfloat16(1.0f), 0x3F80);
  EXPECT_EQ(bfloat16_to_float(0xC040), -3.0f);
}

}  // namespace
}  // namespace graphopt
