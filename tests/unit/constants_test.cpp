// Elements of constant tensors as numbers: every type, special values, and what is refused.
#include "ops/constants.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "infer/infer.h"
#include "infer_case.h"
#include "onnx/reader.h"

namespace graphopt {
namespace {

using Ints = std::vector<std::int64_t>;

template <class T> std::string bytes_of(const std::vector<T>& v) {
  std::string raw(v.size() * sizeof(T), '\0');
  if (!v.empty()) std::memcpy(raw.data(), v.data(), raw.size());
  return raw;
}

struct Constants : testing::Test {
  Model m;
  template <class T> TensorId make(DType type, Ints dims, const std::vector<T>& values) {
    return m.make_tensor(type, dims, bytes_of(values));
  }
  template <class T> TensorId row(DType type, const std::vector<T>& values) {
    return make(type, {static_cast<std::int64_t>(values.size())}, values);
  }
  TensorId packed(DType type, std::int64_t count, std::string raw) {
    return m.make_tensor(type, Ints{count}, std::move(raw));
  }
};

template <class T> Ints extremes() {
  return {static_cast<std::int64_t>(std::numeric_limits<T>::min()), 0, 1,
          static_cast<std::int64_t>(std::numeric_limits<T>::max())};
}
template <class T> std::vector<T> as(const Ints& v) {
  std::vector<T> out;
  for (const std::int64_t x : v) out.push_back(static_cast<T>(x));
  return out;
}

TEST_F(Constants, IntegersOfEveryWidth) {
  const auto check = [&]<class T>(DType type, T) {
    EXPECT_EQ(int_list(m, row(type, as<T>(extremes<T>()))), extremes<T>()) << dtype_name(type);
    EXPECT_FALSE(real_list(m, row(type, as<T>(extremes<T>())))) << dtype_name(type);
  };
  check(DType::Int8, std::int8_t{});
  check(DType::UInt8, std::uint8_t{});
  check(DType::Int16, std::int16_t{});
  check(DType::UInt16, std::uint16_t{});
  check(DType::Int32, std::int32_t{});
  check(DType::UInt32, std::uint32_t{});
  check(DType::Int64, std::int64_t{});
  EXPECT_EQ(int_list(m, row<std::uint8_t>(DType::Bool, {0, 1, 2})), (Ints{0, 1, 1}));
}

TEST_F(Constants, UnsignedNumbersBeyondInt64HaveNoReading) {
  constexpr std::uint64_t kTop = std::uint64_t{1} << 63;
  EXPECT_EQ(int_scalar(m, row<std::uint64_t>(DType::UInt64, {kTop - 1})),
            std::numeric_limits<std::int64_t>::max());
  EXPECT_FALSE(int_scalar(m, row<std::uint64_t>(DType::UInt64, {kTop})));
  EXPECT_FALSE(int_list(m, row<std::uint64_t>(DType::UInt64, {1, kTop})));
  EXPECT_FALSE(int_splat(m, row<std::uint64_t>(DType::UInt64, {kTop, kTop})));
}

// The first element is in the lowest bits; a byte that is not full ends in bits of no element.
TEST_F(Constants, ElementsBelowAByte) {
  EXPECT_EQ(int_list(m, packed(DType::Int4, 3, "\x8F\xF7")), (Ints{-1, -8, 7}));
  EXPECT_EQ(int_list(m, packed(DType::UInt4, 3, "\x8F\xF7")), (Ints{15, 8, 7}));
  EXPECT_EQ(int_list(m, packed(DType::Int2, 5, "\xE4\xFD")), (Ints{0, 1, -2, -1, 1}));
  EXPECT_EQ(int_list(m, packed(DType::UInt2, 5, "\xE4\xFD")), (Ints{0, 1, 2, 3, 1}));
  EXPECT_EQ(int_splat(m, packed(DType::Int4, 3, "\x99\xF9")), -7);
  EXPECT_FALSE(int_splat(m, packed(DType::Int4, 3, "\x99\xF8")));
  EXPECT_EQ(int_scalar(m, packed(DType::Int4, 1, "\xF9")), -7);
  EXPECT_FALSE(int_list(m, packed(DType::Int4, 3, "\x99")));
  EXPECT_FALSE(real_scalar(m, packed(DType::Float4E2M1, 1, "\x01")));
}

TEST_F(Constants, FloatsAreWidenedExactly) {
  constexpr float kLeast = std::numeric_limits<float>::denorm_min();
  const auto floats =
      real_list(m, row<float>(DType::Float, {0.1f, kLeast, -0.0f, std::numeric_limits<float>::max(),
                                             -std::numeric_limits<float>::infinity(), std::nanf("")}));
  ASSERT_TRUE(floats);
  EXPECT_EQ((*floats)[0], static_cast<double>(0.1f));
  EXPECT_EQ((*floats)[1], 0x1p-149);
  EXPECT_TRUE((*floats)[2] == 0 && std::signbit((*floats)[2]));
  EXPECT_EQ((*floats)[3], static_cast<double>(std::numeric_limits<float>::max()));
  EXPECT_EQ((*floats)[4], -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan((*floats)[5]));

  const auto halves = real_list(
      m, row<std::uint16_t>(DType::Float16, {0x3C00, 0x0001, 0x8000, 0x7BFF, 0xFC00, 0x7E00, 0x03FF}));
  ASSERT_TRUE(halves);
  EXPECT_EQ((*halves)[0], 1.0);
  EXPECT_EQ((*halves)[1], 0x1p-24);
  EXPECT_TRUE((*halves)[2] == 0 && std::signbit((*halves)[2]));
  EXPECT_EQ((*halves)[3], 65504.0);
  EXPECT_EQ((*halves)[4], -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan((*halves)[5]));
  EXPECT_EQ((*halves)[6], 1023 * 0x1p-24);

  const auto brains =
      real_list(m, row<std::uint16_t>(DType::BFloat16, {0x3F80, 0x0001, 0x8000, 0xFF80, 0x7FC0}));
  ASSERT_TRUE(brains);
  EXPECT_EQ((*brains)[0], 1.0);
  EXPECT_EQ((*brains)[1], 0x1p-133);
  EXPECT_TRUE((*brains)[2] == 0 && std::signbit((*brains)[2]));
  EXPECT_EQ((*brains)[3], -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan((*brains)[4]));

  EXPECT_EQ(real_scalar(m, row<double>(DType::Double, {5e-324})), 5e-324);
  EXPECT_FALSE(int_scalar(m, row<float>(DType::Float, {1.0f})));
}

TEST_F(Constants, ScalarsHaveOneElementAndAnyRank) {
  EXPECT_EQ(real_scalar(m, make<float>(DType::Float, {}, {2.5f})), 2.5);
  EXPECT_EQ(real_scalar(m, make<float>(DType::Float, {1, 1, 1}, {2.5f})), 2.5);
  EXPECT_FALSE(real_scalar(m, row<float>(DType::Float, {2.5f, 2.5f})));
  EXPECT_FALSE(real_scalar(m, row<float>(DType::Float, {})));
  EXPECT_EQ(int_scalar(m, make<std::int32_t>(DType::Int32, {}, {-3})), -3);
  EXPECT_FALSE(int_scalar(m, row<std::int32_t>(DType::Int32, {-3, -3})));
}

TEST_F(Constants, SplatsHaveEqualBits) {
  EXPECT_EQ(real_splat(m, row<float>(DType::Float, {2, 2, 2})), 2.0);
  EXPECT_FALSE(real_splat(m, row<float>(DType::Float, {2, 2, 3})));
  EXPECT_FALSE(real_splat(m, row<float>(DType::Float, {0.0f, -0.0f}))) << "equal numbers, other bits";
  EXPECT_TRUE(std::isnan(*real_splat(m, row<float>(DType::Float, {std::nanf(""), std::nanf("")}))));
  EXPECT_FALSE(real_splat(m, row<float>(DType::Float, {}))) << "no element";
  EXPECT_EQ(int_splat(m, row<std::int64_t>(DType::Int64, {7, 7})), 7);
  EXPECT_FALSE(int_splat(m, row<std::int64_t>(DType::Int64, {7, 7 + (std::int64_t{1} << 40)})));
  EXPECT_FALSE(int_splat(m, row<std::uint8_t>(DType::Bool, {1, 2}))) << "both true, other bits";
}

TEST_F(Constants, AnEmptyTensorIsAnEmptyListOfItsType) {
  EXPECT_EQ(int_list(m, row<std::int64_t>(DType::Int64, {})), Ints{});
  EXPECT_FALSE(real_list(m, row<std::int64_t>(DType::Int64, {})));
  EXPECT_EQ(real_list(m, row<float>(DType::Float, {})), std::vector<double>{});
  EXPECT_FALSE(int_list(m, row<float>(DType::Float, {})));
  EXPECT_FALSE(int_splat(m, packed(DType::Int4, 0, "")));
}

TEST_F(Constants, TheNumberOfElementsIsLimited) {
  const TensorId three = row<std::int64_t>(DType::Int64, {7, 7, 7});
  EXPECT_TRUE(int_list(m, three, 3) && int_splat(m, three, 3));
  EXPECT_FALSE(int_list(m, three, 2));
  EXPECT_FALSE(int_splat(m, three, 2));
  const TensorId big = row(DType::Float, std::vector<float>(std::size_t{kMostElements} + 1));
  EXPECT_FALSE(real_list(m, big));
  EXPECT_FALSE(real_splat(m, big));
  EXPECT_EQ(real_splat(m, big, kMostElements + 1), 0.0);
  EXPECT_TRUE(typed_view<float>(m, big));
}

TEST_F(Constants, WhatHoldsNoNumbersIsRefused) {
  EXPECT_FALSE(int_list(m, TensorId{}));
  EXPECT_FALSE(real_splat(m, TensorId{}));
  EXPECT_FALSE(int_scalar(m, ValueId{}));
  EXPECT_FALSE(typed_view<float>(m, TensorId{}));
  EXPECT_FALSE(real_list(m, packed(DType::Float, 2, "1234"))) << "too short";
  EXPECT_FALSE(real_splat(m, packed(DType::Float, 1, "12341234"))) << "too long";
  EXPECT_FALSE(typed_view<float>(m, packed(DType::Float, 2, "1234")));
  for (const DType type : {DType::Float8E4M3FN, DType::Float8E5M2, DType::Float8E8M0, DType::Undefined}) {
    EXPECT_FALSE(real_scalar(m, packed(type, 1, "1"))) << dtype_name(type);
    EXPECT_FALSE(int_scalar(m, packed(type, 1, "1"))) << dtype_name(type);
  }
  EXPECT_FALSE(real_scalar(m, packed(DType::Complex64, 1, "12345678")));
  Tensor t;
  t.dtype = DType::String;
  t.dims = {1};
  t.ready = true;
  t.owned = std::make_shared<Unpacked>(Unpacked{{}, {"1"}});
  EXPECT_FALSE(int_list(m, m.add_tensor(std::move(t))));
  Tensor broken;
  broken.dtype = DType::Float;
  broken.dims = {1};
  broken.decode = [](Bytes, Unpacked&) { return false; };
  EXPECT_FALSE(real_scalar(m, m.add_tensor(std::move(broken))));
}

TEST_F(Constants, ViewsNeedTheTypeAndItsAlignment) {
  const TensorId t = row<float>(DType::Float, {1, 2});
  const auto view = typed_view<float>(m, t);
  ASSERT_TRUE(view);
  EXPECT_EQ(std::vector<float>(view->begin(), view->end()), (std::vector<float>{1, 2}));
  EXPECT_FALSE(typed_view<std::int32_t>(m, t));
  EXPECT_FALSE(typed_view<double>(m, t));
  alignas(8) static constexpr char kBytes[16] = {};
  Tensor shifted;
  shifted.dtype = DType::Float;
  shifted.dims = {2};
  shifted.elements = 2;
  shifted.raw = Bytes(kBytes + 1, 8);
  shifted.ready = true;
  const TensorId odd = m.add_tensor(std::move(shifted));
  EXPECT_FALSE(typed_view<float>(m, odd));
  EXPECT_EQ(real_splat(m, odd), 0.0);
}

TEST_F(Constants, AGivenNumberIsComparedAsTheTypeWritesIt) {
  EXPECT_TRUE(holds(m, row<float>(DType::Float, {0.1f, 0.1f}), 0.1));
  EXPECT_FALSE(holds(m, row<float>(DType::Float, {std::nextafter(0.1f, 1.0f)}), 0.1));
  EXPECT_FALSE(holds(m, row<double>(DType::Double, {static_cast<double>(0.1f)}), 0.1));
  EXPECT_TRUE(holds(m, row<std::uint16_t>(DType::Float16, {0x3DA8}), std::sqrt(2.0)));
  EXPECT_FALSE(holds(m, row<std::uint16_t>(DType::Float16, {0x3DA9}), std::sqrt(2.0)));
  EXPECT_TRUE(holds(m, row<std::uint16_t>(DType::BFloat16, {0x3FB5}), std::sqrt(2.0)));
  EXPECT_FALSE(holds(m, row<float>(DType::Float, {-0.0f}), 0.0));
  EXPECT_TRUE(holds(m, row<float>(DType::Float, {-0.0f}), -0.0));
  EXPECT_TRUE(holds(m, row<std::int64_t>(DType::Int64, {0}), -0.0));
  EXPECT_TRUE(holds(m, row<std::int8_t>(DType::Int8, {-5}), -5.0));
  EXPECT_FALSE(holds(m, row<std::int8_t>(DType::Int8, {-5}), -5.5));
  const TensorId least = row<std::int64_t>(DType::Int64, {std::numeric_limits<std::int64_t>::min()});
  EXPECT_TRUE(holds(m, least, -0x1p63));
  EXPECT_FALSE(holds(m, least, 0x1p63));
  EXPECT_FALSE(holds(m, row<float>(DType::Float, {std::nanf("")}), std::nan("")));
  EXPECT_FALSE(holds(m, row<float>(DType::Float, {}), 0.0));
}

TEST_F(Constants, ElementsThatAreIntegersOfWhateverType) {
  const auto first = []<class T>(DType type, T x) {
    std::string payload(2 * sizeof x, '\0');  // element 1: unaligned for most
    std::memcpy(payload.data() + sizeof x, &x, sizeof x);
    return integer_element(type, payload.data(), 1);
  };
  EXPECT_EQ(first(DType::Int64, std::int64_t{-5}), -5);
  EXPECT_EQ(first(DType::UInt8, std::uint8_t{200}), 200);
  EXPECT_EQ(first(DType::Bool, std::uint8_t{7}), 1);
  EXPECT_EQ(first(DType::UInt64, std::uint64_t{1} << 62), std::int64_t{1} << 62);
  EXPECT_FALSE(first(DType::UInt64, std::uint64_t{1} << 63));
  EXPECT_EQ(first(DType::Float, -3.0f), -3);
  EXPECT_EQ(first(DType::Double, 0x1p53), std::int64_t{1} << 53);
  EXPECT_FALSE(first(DType::Double, 0x1p54)) << "its neighbours are no doubles";
  EXPECT_FALSE(first(DType::Float, 0.5f));
  EXPECT_EQ(first(DType::Float, 0.0f), 0);
  EXPECT_FALSE(first(DType::Float, -0.0f));
  EXPECT_FALSE(first(DType::Float, std::nanf("")));
  EXPECT_FALSE(first(DType::Float, std::numeric_limits<float>::infinity()));
  EXPECT_EQ(first(DType::Float16, std::uint16_t{0x4200}), 3);
  EXPECT_EQ(first(DType::BFloat16, std::uint16_t{0xC040}), -3);
  EXPECT_FALSE(first(DType::Int4, std::uint8_t{1}));
  EXPECT_FALSE(first(DType::Float8E5M2, std::uint8_t{1}));
}

TEST_F(Constants, PayloadsOfNumbers) {
  const auto back = [&](DType type, std::vector<std::int64_t> numbers) {
    const auto payload = int_payload(type, numbers);
    const std::int64_t dims[] = {static_cast<std::int64_t>(numbers.size())};
    return payload && int_list(m, m.make_tensor(type, dims, *payload)) == numbers;
  };
  for (const DType type : {DType::Int8, DType::Int16, DType::Int32, DType::Int64}) {
    EXPECT_TRUE(back(type, {-128, 0, 127})) << dtype_name(type);
    EXPECT_TRUE(back(type, {})) << dtype_name(type);
  }
  for (const DType type : {DType::UInt8, DType::UInt16, DType::UInt32, DType::UInt64}) {
    EXPECT_TRUE(back(type, {0, 255})) << dtype_name(type);
    EXPECT_FALSE(back(type, {0, -1})) << dtype_name(type);
  }
  EXPECT_TRUE(back(DType::Bool, {0, 1}));
  EXPECT_FALSE(back(DType::Bool, {2}));
  EXPECT_FALSE(back(DType::Int8, {128}));
  EXPECT_FALSE(back(DType::UInt32, {std::int64_t{1} << 32}));
  for (const DType type : {DType::Float, DType::Int4, DType::String}) EXPECT_FALSE(int_payload(type, {}));
}

TEST_F(Constants, EqualConstantsHaveTypeDimsAndBitsInCommon) {
  const TensorId a = row<float>(DType::Float, {1, 2});
  EXPECT_TRUE(equal_constants(m, a, a));
  EXPECT_TRUE(equal_constants(m, a, row<float>(DType::Float, {1, 2})));
  EXPECT_FALSE(equal_constants(m, a, row<float>(DType::Float, {1, 3})));
  EXPECT_FALSE(equal_constants(m, a, make<float>(DType::Float, {2, 1}, {1, 2})));
  EXPECT_FALSE(equal_constants(m, row<std::int32_t>(DType::Int32, {0}), row<float>(DType::Float, {0})));
  EXPECT_FALSE(equal_constants(m, row<float>(DType::Float, {0.0f}), row<float>(DType::Float, {-0.0f})));
  EXPECT_FALSE(equal_constants(m, packed(DType::Float, 2, "1"), packed(DType::Float, 2, "1")));
  EXPECT_FALSE(equal_constants(m, TensorId{}, TensorId{}));
  const TensorId broken = packed(DType::Float, 2, "1");
  EXPECT_TRUE(equal_constants(m, broken, broken)) << "one tensor";
}

// An initializer that is also an input may be another value in each run.
TEST(ConstantValues, InitializersAndConstantNodesButNoInputs) {
  const InferCase c(R"(g (float[1] x, float[1] d = {1}) => (float[1] y) <float[1] w = {1}> {
    k = Constant <value_float = 1.0> ()
    t = Constant <value = float {1}> ()
    y = Sum (x, d, w, t, k) })");
  const Model& m = *c.model;
  EXPECT_EQ(real_scalar(m, c.value("w")), 1.0);
  EXPECT_EQ(real_scalar(m, c.value("t")), 1.0);
  EXPECT_FALSE(real_scalar(m, c.value("d")));
  EXPECT_FALSE(real_scalar(m, c.value("x")));
  EXPECT_FALSE(real_scalar(m, c.value("y")));
  EXPECT_EQ(real_splat(m, c.value("w")), 1.0);
  EXPECT_EQ(real_list(m, c.value("w")), std::vector<double>{1.0});
  EXPECT_FALSE(int_list(m, c.value("w")));
  EXPECT_FALSE(int_splat(m, c.value("w")));
}

}  // namespace
}  // namespace graphopt
