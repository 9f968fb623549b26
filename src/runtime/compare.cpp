// Elements are converted to double one by one: the comparison costs far less than the runs before it.
//
// Integers are compared bitwise (a double cannot hold all int64); only their distance is computed in double.
#include "runtime/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "support/half.h"

namespace graphopt {
namespace {

constexpr double kSmallestScale = 1e-30;  // an original of zeros: any difference is far

template <class T> T load(const std::string& raw, std::size_t i) {
  T v;
  std::memcpy(&v, raw.data() + i * sizeof(T), sizeof(T));
  return v;
}

// Returns the tensor as one of floats if it is one: the parts of complex numbers count as two elements.
bool compared_as_floats(DType t) {
  return t == DType::Float || t == DType::Double || t == DType::Float16 || t == DType::BFloat16 ||
         t == DType::Complex64 || t == DType::Complex128;
}

std::string index_text(const std::vector<std::int64_t>& dims, std::size_t flat, std::size_t parts) {
  flat /= parts;
  std::vector<std::size_t> index(dims.size());
  for (std::size_t axis = dims.size(); axis-- > 0;) {
    const auto extent = static_cast<std::size_t>(dims[axis]);
    index[axis] = flat % extent;
    flat /= extent;
  }
  return fmt::format("[{}]", fmt::join(index, ","));
}

Distance compare_floats(const HostValue& a, const HostValue& b, Tolerance tolerance) {
  const HostValue *x = &a, *y = &b;
  HostValue parts[2];
  std::size_t per_element = 1;
  if (a.dtype == DType::Complex64 || a.dtype == DType::Complex128) {
    const DType part = a.dtype == DType::Complex64 ? DType::Float : DType::Double;
    for (int side = 0; side < 2; ++side) {
      parts[side].dtype = part;
      parts[side].raw = (side == 0 ? a : b).raw;
    }
    x = &parts[0];
    y = &parts[1];
    per_element = 2;
  }
  const int bits = bits_of(x->dtype);
  const std::size_t n = x->raw.size() * 8 / static_cast<std::size_t>(bits);

  Distance d;
  double scale = 0;
  std::uint64_t nans = 0, infinities = 0;
  std::size_t first = n;
  for (std::size_t i = 0; i < n; ++i) {
    const double p = number_at(*x, i), q = number_at(*y, i);
    if (std::isnan(p) || std::isnan(q)) {
      if (std::isnan(p) != std::isnan(q)) {
        ++nans;
        first = std::min(first, i);
      }
      continue;
    }
    if (std::isinf(p) || std::isinf(q)) {
      if (p != q) {
        ++infinities;
        first = std::min(first, i);
      }
      continue;
    }
    scale = std::max(scale, std::fabs(p));
    d.max_abs = std::max(d.max_abs, std::fabs(p - q));
  }
  d.max_rel = d.max_abs > 0 ? d.max_abs / std::max(scale, kSmallestScale) : 0;
  d.within = d.max_rel <= tolerance.of(a.dtype) || d.max_abs <= tolerance.floor(a.dtype);
  if (nans + infinities > 0) {
    d.within = false;
    d.problem = fmt::format("{} NaN and {} infinities differ, first at {}", nans, infinities,
                            index_text(a.dims, first, per_element));
  }
  return d;
}

// Returns element i of a type with fewer than 8 bits: packed, the first in the low bits.
unsigned small_element(const std::string& raw, std::size_t i, int bits) {
  const std::size_t at = i * static_cast<std::size_t>(bits);
  unsigned window = static_cast<unsigned char>(raw[at / 8]);
  if (at / 8 + 1 < raw.size())
    window |= static_cast<unsigned>(static_cast<unsigned char>(raw[at / 8 + 1])) << 8;
  return (window >> (at % 8)) & ((1u << bits) - 1);
}

Distance compare_exactly(const HostValue& a, const HostValue& b) {
  std::size_t n = 1, unequal = 0;
  for (const std::int64_t extent : a.dims) n *= static_cast<std::size_t>(extent);
  Distance d;
  const int bits = bits_of(a.dtype);
  const auto width = static_cast<std::size_t>(bits / 8);
  const bool integers = is_int(a.dtype) && bits >= 8;
  for (std::size_t i = 0; i < n; ++i) {
    bool same = true;
    if (a.dtype == DType::String) same = a.strings[i] == b.strings[i];
    else if (bits < 8) same = small_element(a.raw, i, bits) == small_element(b.raw, i, bits);
    else same = std::memcmp(a.raw.data() + i * width, b.raw.data() + i * width, width) == 0;
    if (same) continue;
    ++unequal;
    if (integers) d.max_abs = std::max(d.max_abs, std::fabs(number_at(a, i) - number_at(b, i)));
  }
  if (n > 0) d.max_rel = static_cast<double>(unequal) / static_cast<double>(n);
  d.within = unequal == 0;
  return d;
}

// Returns the worse of two: a problem first, then what is outside the tolerance, then the larger number.
void take_worse(Distance& worst, Distance d) {
  const auto rank = [](const Distance& x) {
    return std::make_tuple(!x.problem.empty(), !x.within, x.max_rel);
  };
  const double far = std::max(worst.max_abs, d.max_abs);
  if (rank(d) > rank(worst)) worst = std::move(d);
  worst.max_abs = far;
}

std::string_view kind_name(HostValue::Kind kind) {
  switch (kind) {
    case HostValue::Kind::Absent: return "an empty optional";
    case HostValue::Kind::Tensor: return "a tensor";
    case HostValue::Kind::Sequence: return "a sequence";
    case HostValue::Kind::Map: return "a map";
  }
  return "";
}

// Compares the value itself, not its items.
std::string compare_outside(const HostValue& a, const HostValue& b) {
  if (a.kind != b.kind) return fmt::format("{} became {}", kind_name(a.kind), kind_name(b.kind));
  if (a.kind == HostValue::Kind::Tensor) {
    if (a.dtype != b.dtype) return fmt::format("type {} became {}", dtype_name(a.dtype), dtype_name(b.dtype));
    if (a.dims != b.dims)
      return fmt::format("shape [{}] became [{}]", fmt::join(a.dims, ","), fmt::join(b.dims, ","));
  }
  if (a.items.size() != b.items.size())
    return fmt::format("length {} became {}", a.items.size(), b.items.size());
  return {};
}

}  // namespace

double default_tolerance(DType t) {
  switch (t) {
    case DType::Double:
    case DType::Complex128: return 1e-6;
    case DType::Float:
    case DType::Complex64: return 1e-4;
    case DType::Float16: return 1e-2;
    case DType::BFloat16: return 5e-2;
    default: return 0;
  }
}

double unit_at_one(DType t) {
  switch (t) {
    case DType::Double:
    case DType::Complex128: return 0x1p-52;
    case DType::Float:
    case DType::Complex64: return 0x1p-23;
    case DType::Float16: return 0x1p-10;
    case DType::BFloat16: return 0x1p-7;
    default: return 0;
  }
}

// Sequences of maps of tensors is as deep as a runtime goes, so the recursion is bounded.
bool has_numbers(DType type) {
  const bool is_plain_float = is_float(type) && bits_of(type) >= 16;
  return is_plain_float || (is_int(type) && bits_of(type) >= 8) || type == DType::Bool;
}

double number_at(const HostValue& t, std::size_t i) {
  switch (t.dtype) {
    case DType::Float: return load<float>(t.raw, i);
    case DType::Double: return load<double>(t.raw, i);
    case DType::Float16: return half_to_float(load<std::uint16_t>(t.raw, i));
    case DType::BFloat16: return bfloat16_to_float(load<std::uint16_t>(t.raw, i));
    case DType::Int8: return load<std::int8_t>(t.raw, i);
    case DType::Int16: return load<std::int16_t>(t.raw, i);
    case DType::Int32: return load<std::int32_t>(t.raw, i);
    case DType::Int64: return static_cast<double>(load<std::int64_t>(t.raw, i));
    case DType::UInt8: return load<std::uint8_t>(t.raw, i);
    case DType::UInt16: return load<std::uint16_t>(t.raw, i);
    case DType::UInt32: return load<std::uint32_t>(t.raw, i);
    case DType::UInt64: return static_cast<double>(load<std::uint64_t>(t.raw, i));
    case DType::Bool: return load<std::uint8_t>(t.raw, i) == 0 ? 0 : 1;
    default: return 0;
  }
}

Distance compare_values(const HostValue& a, const HostValue& b, Tolerance tolerance) {
  Distance worst;
  worst.problem = compare_outside(a, b);
  if (!worst.problem.empty()) {
    worst.within = false;
    return worst;
  }
  if (a.kind == HostValue::Kind::Tensor)
    return compared_as_floats(a.dtype) ? compare_floats(a, b, tolerance) : compare_exactly(a, b);
  for (std::size_t i = 0; i < a.items.size(); ++i)
    take_worse(worst, compare_values(a.items[i], b.items[i], tolerance));
  return worst;
}

std::string compare_types(const HostValue& a, const HostValue& b) {
  std::string problem = compare_outside(a, b);
  for (std::size_t i = 0; problem.empty() && i < a.items.size(); ++i)
    problem = compare_types(a.items[i], b.items[i]);
  return problem;
}

}  // namespace graphopt
