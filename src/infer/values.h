// Arithmetic and movement of small tensors whose elements are symbolic.
//
// Integers: results are those of the mathematical integers; where the type could wrap, the element is unknown
// (int64 holds every extent and every product of extents that a run can have, so there only constants can
// exceed the range, which the pool detects). Floats: only integers that the type holds exactly; any operation
// whose exact result is such an integer is exact in IEEE arithmetic.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "infer/context.h"

namespace graphopt {

// Returns the element if `type` certainly holds it; none otherwise.
DimId fit(DimPool& dims, DType type, DimId d);
// Returns true if tensors of the type can have symbolic values.
bool has_values(DType type);

std::optional<std::int64_t> count_of(std::span<const std::int64_t> dims);  // nothing when it overflows
std::vector<std::int64_t> strides_of(std::span<const std::int64_t> dims);

// Broadcasts concrete dims by NumPy's rules; nothing when they do not fit or there are too many elements.
std::optional<std::vector<std::int64_t>> broadcast_dims(std::span<const SymbolicTensor* const> operands,
                                                        std::size_t limit);
// Returns for each element of `dims` the index into an operand of dims `from`, broadcast.
std::vector<std::uint32_t> broadcast_index(std::span<const std::int64_t> dims,
                                           std::span<const std::int64_t> from);

// Calls f(element of a, element of b) over the broadcast of both. Elements may be none.
template <class F>
std::optional<SymbolicTensor> zip(const SymbolicTensor& a, const SymbolicTensor& b, DType out,
                                  std::size_t limit, F f) {
  const SymbolicTensor* both[] = {&a, &b};
  auto d = broadcast_dims(both, limit);
  if (!d) return std::nullopt;
  const auto ia = broadcast_index(*d, a.dims), ib = broadcast_index(*d, b.dims);
  SymbolicTensor r{out, std::move(*d), {}};
  r.elements.reserve(ia.size());
  for (std::size_t i = 0; i < ia.size(); ++i) r.elements.push_back(f(a.elements[ia[i]], b.elements[ib[i]]));
  return r;
}

// out[i] = t[index(i)], for `out` of dims d. f maps the coordinates of the result to the flat index into t.
template <class F> SymbolicTensor pick(const SymbolicTensor& t, std::vector<std::int64_t> d, F f) {
  SymbolicTensor r{t.dtype, std::move(d), {}};
  const auto n = static_cast<std::size_t>(count_of(r.dims).value_or(0));
  r.elements.reserve(n);
  std::vector<std::int64_t> at(r.dims.size(), 0);
  for (std::size_t i = 0; i < n; ++i) {
    r.elements.push_back(t.elements[static_cast<std::size_t>(f(at))]);
    for (std::size_t k = at.size(); k-- > 0;) {
      if (++at[k] < r.dims[k]) break;
      at[k] = 0;
    }
  }
  return r;
}

}  // namespace graphopt
