// The elements of constant tensors as numbers, for rules that ask "is this 1?" or compute with weights.
//
// Problem: a payload is raw bytes of one of many element types, perhaps unaligned (it lies in a mapped file),
// perhaps of the wrong size, and integers and floats of several widths can say the same. A rule that decodes
// by itself handles float and forgets the others.
// Method: two readings cover all types that hold numbers exactly.
//
//   int   Bool, and integers of 2 to 64 bits: int64. A uint64 of 2^63 or more has no int64: nothing.
//   real  Float16, BFloat16, Float, Double: double, which holds each of them exactly; -0 and infinities stay
//         what they are. A NaN stays a NaN; its payload may change.
//
// Each reading comes as a list, as a scalar (the one element of a tensor of any rank) and as a splat (all
// elements have the same bits: a -0 among 0s is no splat; an empty tensor has none). Every function takes a
// tensor or a value, and returns nothing where the value is no constant (Model::constant_of), the type is
// another one, the payload is broken, or the tensor has more than `most` elements.
//
//   const auto factor = real_scalar(m, m.input(n, 1));   // of 16 to 64 bits, shape [], [1], [1, 1] ...
//   if (factor == 0.5) ...
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/model.h"

namespace graphopt {

// As many elements as are read unless the caller says otherwise: parameters fit, weights mostly do not.
inline constexpr std::int64_t kMostElements = 1 << 16;

// Returns the bytes that a constant takes in raw form; 0 where its type has no size, as strings.
std::uint64_t bytes_of(const Model& m, TensorId t);
// Returns the payload if it has the size that type and dims ask for; nothing for strings.
std::optional<Bytes> payload_of(const Model& m, TensorId t);

std::optional<std::vector<std::int64_t>> int_list(const Model& m, TensorId t,
                                                  std::int64_t most = kMostElements);
std::optional<std::vector<double>> real_list(const Model& m, TensorId t, std::int64_t most = kMostElements);
std::optional<std::int64_t> int_scalar(const Model& m, TensorId t);
std::optional<double> real_scalar(const Model& m, TensorId t);
std::optional<std::int64_t> int_splat(const Model& m, TensorId t, std::int64_t most = kMostElements);
std::optional<double> real_splat(const Model& m, TensorId t, std::int64_t most = kMostElements);

inline std::optional<std::vector<std::int64_t>> int_list(const Model& m, ValueId v,
                                                         std::int64_t most = kMostElements) {
  return int_list(m, m.constant_of(v), most);
}
inline std::optional<std::vector<double>> real_list(const Model& m, ValueId v,
                                                    std::int64_t most = kMostElements) {
  return real_list(m, m.constant_of(v), most);
}
inline std::optional<std::int64_t> int_scalar(const Model& m, ValueId v) {
  return int_scalar(m, m.constant_of(v));
}
inline std::optional<double> real_scalar(const Model& m, ValueId v) {
  return real_scalar(m, m.constant_of(v));
}
inline std::optional<std::int64_t> int_splat(const Model& m, ValueId v, std::int64_t most = kMostElements) {
  return int_splat(m, m.constant_of(v), most);
}
inline std::optional<double> real_splat(const Model& m, ValueId v, std::int64_t most = kMostElements) {
  return real_splat(m, m.constant_of(v), most);
}

// Returns whether all elements are `number`, exactly, as the tensor's type writes it: 0.1 as a float is the
// float nearest to 0.1. 0 and -0 are two numbers for floats and one for integers. False for NaN.
bool holds(const Model& m, TensorId t, double number, std::int64_t most = kMostElements);

// Returns element i of a payload if it is an integer, of whatever type; nothing for another number, for -0,
// for one above 2^53 of a floating type, and for types of less than a byte.
std::optional<std::int64_t> integer_element(DType type, const char* payload, std::int64_t i);

// Returns the payload of these numbers; nothing where the type is no integer type of whole bytes and not
// Bool, or does not hold one of them.
std::optional<std::string> int_payload(DType type, std::span<const std::int64_t> numbers);

// Returns whether both have the same type, dims and bits.
bool equal_constants(const Model& m, TensorId a, TensorId b);

// The element types whose payload is an array of T.
template <class T> inline constexpr DType kTypeOf = DType::Undefined;
template <> inline constexpr DType kTypeOf<float> = DType::Float;
template <> inline constexpr DType kTypeOf<double> = DType::Double;
template <> inline constexpr DType kTypeOf<std::int8_t> = DType::Int8;
template <> inline constexpr DType kTypeOf<std::int16_t> = DType::Int16;
template <> inline constexpr DType kTypeOf<std::int32_t> = DType::Int32;
template <> inline constexpr DType kTypeOf<std::int64_t> = DType::Int64;
template <> inline constexpr DType kTypeOf<std::uint8_t> = DType::UInt8;
template <> inline constexpr DType kTypeOf<std::uint16_t> = DType::UInt16;
template <> inline constexpr DType kTypeOf<std::uint32_t> = DType::UInt32;
template <> inline constexpr DType kTypeOf<std::uint64_t> = DType::UInt64;

// Returns the elements in place, without a copy, however many; nothing also where the payload is not aligned
// for T, which depends on the file alone: the caller needs another way as well.
template <class T> std::optional<std::span<const T>> typed_view(const Model& m, TensorId t) {
  static_assert(kTypeOf<T> != DType::Undefined && std::endian::native == std::endian::little);
  if (!t || m.tensor(t).dtype != kTypeOf<T>) return std::nullopt;
  const std::optional<Bytes> bytes = payload_of(m, t);
  if (!bytes || std::bit_cast<std::uintptr_t>(bytes->data()) % alignof(T) != 0) return std::nullopt;
  return std::span<const T>(reinterpret_cast<const T*>(bytes->data()), bytes->size() / sizeof(T));
}
template <class T> std::optional<std::span<const T>> typed_view(const Model& m, ValueId v) {
  return typed_view<T>(m, m.constant_of(v));
}

}  // namespace graphopt
