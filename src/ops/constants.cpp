// See constants.h. One function per reading decodes element i; lists, scalars and splats are made of it.
#include "ops/constants.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include "support/half.h"

namespace graphopt {
namespace {

template <class T> T load(const char* data, std::int64_t i) {
  T x;
  std::memcpy(&x, data + i * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return x;
}

// Element i of 2 or 4 bits: the first one is in the lowest bits of a byte.
std::int64_t sub_byte(const char* data, std::int64_t i, int bits, bool is_signed) {
  const std::int64_t per_byte = 8 / bits;
  const unsigned byte = static_cast<unsigned char>(data[i / per_byte]);
  const unsigned pattern = byte >> (i % per_byte * bits) & ((1u << bits) - 1);
  const bool negative = is_signed && pattern >> (bits - 1) != 0;
  return static_cast<std::int64_t>(pattern) - (negative ? std::int64_t{1} << bits : 0);
}

std::optional<std::int64_t> element(DType type, const char* data, std::int64_t i, std::int64_t) {
  switch (type) {
    case DType::Bool: return load<std::uint8_t>(data, i) != 0 ? 1 : 0;
    case DType::Int2: return sub_byte(data, i, 2, true);
    case DType::UInt2: return sub_byte(data, i, 2, false);
    case DType::Int4: return sub_byte(data, i, 4, true);
    case DType::UInt4: return sub_byte(data, i, 4, false);
    case DType::Int8: return load<std::int8_t>(data, i);
    case DType::UInt8: return load<std::uint8_t>(data, i);
    case DType::Int16: return load<std::int16_t>(data, i);
    case DType::UInt16: return load<std::uint16_t>(data, i);
    case DType::Int32: return load<std::int32_t>(data, i);
    case DType::UInt32: return load<std::uint32_t>(data, i);
    case DType::Int64: return load<std::int64_t>(data, i);
    case DType::UInt64: {
      const auto x = load<std::uint64_t>(data, i);
      return x >> 63 == 0 ? std::optional(static_cast<std::int64_t>(x)) : std::nullopt;
    }
    default: return std::nullopt;
  }
}

std::optional<double> element(DType type, const char* data, std::int64_t i, double) {
  switch (type) {
    case DType::Float16: return half_to_float(load<std::uint16_t>(data, i));
    case DType::BFloat16: return bfloat16_to_float(load<std::uint16_t>(data, i));
    case DType::Float: return load<float>(data, i);
    case DType::Double: return load<double>(data, i);
    default: return std::nullopt;
  }
}

template <class T> std::optional<std::vector<T>> list(const Model& m, TensorId t, std::int64_t most) {
  if (!t || m.tensor(t).elements > most) return std::nullopt;
  const std::optional<Bytes> bytes = payload_of(m, t);
  if (!bytes) return std::nullopt;
  const DType type = m.tensor(t).dtype;
  // The type of an empty tensor counts, too: an element of zero bytes tells whether there is a reading.
  constexpr char kZeros[8] = {};
  if (!element(type, kZeros, 0, T{})) return std::nullopt;
  std::vector<T> out;
  out.reserve(static_cast<std::size_t>(m.tensor(t).elements));
  for (std::int64_t i = 0; i < m.tensor(t).elements; ++i) {
    const std::optional<T> x = element(type, bytes->data(), i, T{});
    if (!x) return std::nullopt;
    out.push_back(*x);
  }
  return out;
}

// Returns whether all elements have the bits of the first one.
bool is_splat(DType type, Bytes bytes, std::int64_t elements) {
  const int bits = bits_of(type);
  if (bits >= 8) {
    const std::size_t width = static_cast<std::size_t>(bits) / 8;
    return std::memcmp(bytes.data(), bytes.data() + width, bytes.size() - width) == 0;
  }
  for (std::int64_t i = 1; i < elements; ++i)
    if (element(type, bytes.data(), i, std::int64_t{}) != element(type, bytes.data(), 0, std::int64_t{}))
      return false;
  return true;
}

template <class T> std::optional<T> splat(const Model& m, TensorId t, std::int64_t most) {
  if (!t || m.tensor(t).elements < 1 || m.tensor(t).elements > most) return std::nullopt;
  const std::optional<Bytes> bytes = payload_of(m, t);
  if (!bytes) return std::nullopt;
  const DType type = m.tensor(t).dtype;
  const std::optional<T> first = element(type, bytes->data(), 0, T{});
  return first && is_splat(type, *bytes, m.tensor(t).elements) ? first : std::nullopt;
}

// Returns the number of this type that is nearest to x; types of fewer bits than a float by way of a float.
double nearest(DType type, double x) {
  const float narrow = static_cast<float>(x);
  switch (type) {
    case DType::Float16: return half_to_float(float_to_half(narrow));
    case DType::BFloat16: return bfloat16_to_float(float_to_bfloat16(narrow));
    case DType::Float: return narrow;
    default: return x;
  }
}

}  // namespace

std::uint64_t bytes_of(const Model& m, TensorId t) {
  return raw_size(m.tensor(t).dtype, static_cast<std::uint64_t>(m.tensor(t).elements)).value_or(0);
}

std::optional<Bytes> payload_of(const Model& m, TensorId t) {
  if (!t || m.tensor(t).elements < 0) return std::nullopt;
  const auto size = raw_size(m.tensor(t).dtype, static_cast<std::uint64_t>(m.tensor(t).elements));
  if (!size) return std::nullopt;
  const std::optional<Bytes> bytes = m.raw(t);
  return bytes && bytes->size() == *size ? bytes : std::nullopt;
}

std::optional<std::vector<std::int64_t>> int_list(const Model& m, TensorId t, std::int64_t most) {
  return list<std::int64_t>(m, t, most);
}
std::optional<std::vector<double>> real_list(const Model& m, TensorId t, std::int64_t most) {
  return list<double>(m, t, most);
}
std::optional<std::int64_t> int_scalar(const Model& m, TensorId t) { return splat<std::int64_t>(m, t, 1); }
std::optional<double> real_scalar(const Model& m, TensorId t) { return splat<double>(m, t, 1); }
std::optional<std::int64_t> int_splat(const Model& m, TensorId t, std::int64_t most) {
  return splat<std::int64_t>(m, t, most);
}
std::optional<double> real_splat(const Model& m, TensorId t, std::int64_t most) {
  return splat<double>(m, t, most);
}

bool holds(const Model& m, TensorId t, double number, std::int64_t most) {
  if (const std::optional<double> real = real_splat(m, t, most)) {
    const double wanted = nearest(m.tensor(t).dtype, number);
    return *real == wanted && std::signbit(*real) == std::signbit(wanted);
  }
  const std::optional<std::int64_t> integer = int_splat(m, t, most);
  // In this range both sides of the comparison are exact.
  return integer && number >= -0x1p63 && number < 0x1p63 && number == std::floor(number) &&
         *integer == static_cast<std::int64_t>(number);
}

std::optional<std::int64_t> integer_element(DType type, const char* payload, std::int64_t i) {
  if (bits_of(type) < 8) return std::nullopt;
  if (const auto integer = element(type, payload, i, std::int64_t{})) return integer;
  const auto real = element(type, payload, i, double{});
  if (!real || !(std::fabs(*real) <= 0x1p53) || *real != std::floor(*real) ||
      (*real == 0 && std::signbit(*real)))
    return std::nullopt;
  return static_cast<std::int64_t>(*real);
}

std::optional<std::string> int_payload(DType type, std::span<const std::int64_t> numbers) {
  std::string raw;
  const auto append = [&]<class T>(T) {
    raw.reserve(numbers.size() * sizeof(T));
    for (const std::int64_t x : numbers) {
      if (!std::in_range<T>(x)) return false;
      const T narrow = static_cast<T>(x);
      raw.append(reinterpret_cast<const char*>(&narrow), sizeof narrow);
    }
    return true;
  };
  const auto all = [&] {
    switch (type) {
      case DType::Int64: return append(std::int64_t{});
      case DType::Int32: return append(std::int32_t{});
      case DType::Int16: return append(std::int16_t{});
      case DType::Int8: return append(std::int8_t{});
      case DType::UInt8: return append(std::uint8_t{});
      case DType::UInt16: return append(std::uint16_t{});
      case DType::UInt32: return append(std::uint32_t{});
      case DType::UInt64: return append(std::uint64_t{});
      case DType::Bool:
        return std::ranges::all_of(numbers, [](std::int64_t x) { return x == 0 || x == 1; }) &&
               append(std::uint8_t{});
      default: return false;
    }
  };
  return all() ? std::optional(std::move(raw)) : std::nullopt;
}

bool equal_constants(const Model& m, TensorId a, TensorId b) {
  if (!a || !b) return false;
  if (a == b) return true;
  if (m.tensor(a).dtype != m.tensor(b).dtype || m.tensor(a).dims != m.tensor(b).dims) return false;
  const std::optional<Bytes> x = payload_of(m, a), y = payload_of(m, b);
  return x && y && *x == *y;
}

}  // namespace graphopt
