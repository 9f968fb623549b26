// Ranges of element types, and the index arithmetic of broadcasting; see values.h for the method.
#include "infer/values.h"

#include <algorithm>
#include <vector>

#include "ops/integer_arithmetic.h"
#include "support/checked.h"

namespace graphopt {

bool has_values(DType type) {
  return is_int(type) || type == DType::Bool || type == DType::Float || type == DType::Double ||
         type == DType::Float16 || type == DType::BFloat16;
}

DimId fit(DimPool& dims, DType type, DimId d) {
  const auto held = exact_integers(type);
  if (!held) return {};
  // A number or a symbol with an open end is one of the 64 bits that extents and int64 elements have.
  const Range r = dims.range(d);
  const bool whole = dims.value(d) || dims.is_symbol(d);
  const bool low = held->low > Range::kMin ? r.low >= held->low : whole || r.low > Range::kMin;
  const bool high = held->high < Range::kMax ? r.high <= held->high : whole || r.high < Range::kMax;
  return low && high ? d : DimId{};
}

DimId computed(DimPool& dims, OpKind kind, DType type, DimId a, DimId b, DimId result, bool fmod) {
  if (!result) return {};
  if (is_int(type)) {
    const auto x = dims.value(a), y = dims.value(b);
    if (x && y) {
      const auto v = integer_result(kind, type, *x, *y, fmod);
      return v ? dims.constant(*v) : DimId{};
    }
  }
  return is_exact(kind, type, dims.range(a), dims.range(b), dims.range(result), fmod) ? result : DimId{};
}

DimId computed(DimPool& dims, OpKind kind, DType type, DimId a, DimId result) {
  return computed(dims, kind, type, a, dims.constant(0), result, false);
}

DimId reduced(DimPool& dims, OpKind kind, DType type, std::span<const DimId> elements) {
  std::vector<std::int64_t> numbers;
  std::vector<Range> ranges;
  for (const DimId d : elements) {
    if (const auto v = dims.value(d)) numbers.push_back(*v);
    ranges.push_back(dims.range(d));
  }
  if (is_int(type) && numbers.size() == elements.size()) {
    const auto v = integer_reduction(kind, type, numbers);
    return v ? dims.constant(*v) : DimId{};
  }
  if (elements.empty() && kind != OpKind::ReduceSum && kind != OpKind::ReduceProd) return {};
  DimId result = kind == OpKind::ReduceSum    ? dims.constant(0)
                 : kind == OpKind::ReduceProd ? dims.constant(1)
                                              : elements[0];
  for (const DimId d : elements) {
    switch (kind) {
      case OpKind::ReduceSum: result = dims.add(result, d); break;
      case OpKind::ReduceProd: result = dims.mul(result, d); break;
      case OpKind::ReduceMin: result = dims.min(result, d); break;
      case OpKind::ReduceMax: result = dims.max(result, d); break;
      default: return {};
    }
  }
  return is_exact_reduction(kind, type, ranges, dims.range(result)) ? result : DimId{};
}

std::optional<std::int64_t> count_of(std::span<const std::int64_t> dims) {
  std::optional<std::int64_t> n = 1;
  for (const std::int64_t d : dims) n = d < 0 ? std::nullopt : checked_mul(n, std::optional(d));
  return n;
}

bool too_many(std::span<const std::int64_t> dims, std::size_t limit) {
  const auto n = count_of(dims);
  return !n || static_cast<std::uint64_t>(*n) > limit;
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
