// Ranges of element types, and the index arithmetic of broadcasting; see values.h for the method.
#include "infer/values.h"

#include <algorithm>
#include <vector>

#include "support/checked.h"

namespace graphopt {

bool has_values(DType type) {
  return is_int(type) || type == DType::Bool || type == DType::Float || type == DType::Double ||
         type == DType::Float16 || type == DType::BFloat16;
}

namespace {

// Extents are below 2^31, so an expression with small numbers cannot leave int64. Its value with all symbols
// set to 1 measures the numbers: each step of a computation is checked here, so large numbers cannot cancel
// unnoticed. A single number is its own value.
bool cannot_wrap(const DimPool& dims, DimId d) {
  if (dims.value(d) || dims.is_symbol(d)) return true;
  std::vector<DimPool::Binding> ones;
  for (const DimId s : dims.symbols_of(d)) ones.push_back({s, 1});
  const auto at_ones = dims.evaluate(d, ones);
  constexpr std::int64_t kSmall = std::int64_t{1} << 32;
  return at_ones && *at_ones <= kSmall && *at_ones >= -kSmall;
}

}  // namespace

DimId fit(DimPool& dims, DType type, DimId d) {
  if (!d) return {};
  Range allowed;
  switch (type) {
    case DType::Int64: return cannot_wrap(dims, d) ? d : DimId{};
    case DType::UInt64: allowed = {0, Range::kMax}; break;
    case DType::Int32: allowed = {-(std::int64_t{1} << 31), (std::int64_t{1} << 31) - 1}; break;
    case DType::UInt32: allowed = {0, (std::int64_t{1} << 32) - 1}; break;
    case DType::Int16: allowed = {-32768, 32767}; break;
    case DType::UInt16: allowed = {0, 65535}; break;
    case DType::Int8: allowed = {-128, 127}; break;
    case DType::UInt8: allowed = {0, 255}; break;
    case DType::Bool: allowed = {0, 1}; break;
    case DType::Float: allowed = {-(1 << 24), 1 << 24}; break;
    case DType::Double: allowed = {-(std::int64_t{1} << 53), std::int64_t{1} << 53}; break;
    case DType::Float16: allowed = {-2048, 2048}; break;
    case DType::BFloat16: allowed = {-256, 256}; break;
    default: return {};
  }
  const Range r = dims.range(d);
  return r.low >= allowed.low && r.high <= allowed.high ? d : DimId{};
}

std::optional<std::int64_t> count_of(std::span<const std::int64_t> dims) {
  std::optional<std::int64_t> n = 1;
  for (const std::int64_t d : dims) n = d < 0 ? std::nullopt : checked_mul(n, std::optional(d));
  return n;
}

std::vector<std::int64_t> strides_of(std::span<const std::int64_t> dims) {
  std::vector<std::int64_t> s(dims.size(), 1);
  for (std::size_t k = dims.size(); k-- > 1;) s[k - 1] = s[k] * dims[k];
  return s;
}

std::optional<std::vector<std::int64_t>> broadcast_dims(std::span<const SymbolicTensor* const> operands,
                                                        std::size_t limit) {
  std::vector<std::int64_t> out;
  for (const SymbolicTensor* t : operands) {
    if (t->dims.size() > out.size()) out.insert(out.begin(), t->dims.size() - out.size(), 1);
    const std::size_t shift = out.size() - t->dims.size();
    for (std::size_t i = 0; i < t->dims.size(); ++i) {
      std::int64_t& d = out[shift + i];
      if (d == 1) d = t->dims[i];
      else if (t->dims[i] != 1 && t->dims[i] != d) return std::nullopt;
    }
  }
  const auto n = count_of(out);
  if (!n || static_cast<std::uint64_t>(*n) > limit) return std::nullopt;
  return out;
}

std::vector<std::uint32_t> broadcast_index(std::span<const std::int64_t> dims,
                                           std::span<const std::int64_t> from) {
  const auto strides = strides_of(from);
  const std::size_t shift = dims.size() - from.size();
  const auto n = static_cast<std::size_t>(count_of(dims).value_or(0));
  std::vector<std::uint32_t> out(n);
  std::vector<std::int64_t> at(dims.size(), 0);
  for (std::size_t i = 0; i < n; ++i) {
    std::int64_t index = 0;
    for (std::size_t k = 0; k < from.size(); ++k)
      if (from[k] != 1) index += at[shift + k] * strides[k];
    out[i] = static_cast<std::uint32_t>(index);
    for (std::size_t k = at.size(); k-- > 0;) {
      if (++at[k] < dims[k]) break;
      at[k] = 0;
    }
  }
  return out;
}

}  // namespace graphopt
