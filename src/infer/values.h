// Arithmetic and movement of small tensors whose elements are symbolic.
//
// An element is a mathematical integer that the run's element equals. Two numbers are computed as ONNX
// Runtime computes them (ops/integer_arithmetic.h). Else the result is known only where the bounds of the
// operands and of the result prove that the runtime's result is the mathematical one: nothing wraps, nothing
// rounds. Bounds are those of the expression (DimPool::range), not of its coefficients: three extents below
// 2^31 already leave int64. Floats: only integers that the type holds exactly; an operation of IEEE
// arithmetic whose exact result is such an integer is exact.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "infer/context.h"

namespace graphopt {

// Returns the element if `type` certainly holds it; none otherwise. `d` is the value of an extent or of an
// element of another type.
DimId fit(DimPool& dims, DType type, DimId d);
// Returns the element that ONNX Runtime computes from elements a and b of `type`, whose mathematical result
// is `result`; none when they may differ. The second form is for operators of one operand.
DimId computed(DimPool& dims, OpKind kind, DType type, DimId a, DimId b, DimId result, bool fmod = false);
DimId computed(DimPool& dims, OpKind kind, DType type, DimId a, DimId result);
// Returns the element that a reduction computes from these; none when one is unknown, or the result may be
// another than the mathematical one.
DimId reduced(DimPool& dims, OpKind kind, DType type, std::span<const DimId> elements);
// Returns true if tensors of the type can have symbolic values.
bool has_values(DType type);

std::optional<std::int64_t> count_of(std::span<const std::int64_t> dims);  // nothing when it overflows
// Returns true if a tensor of these dims has more elements than `limit`.
bool too_many(std::span<const std::int64_t> dims, std::size_t limit);
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
