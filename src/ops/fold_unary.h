// Elementwise kernels of one operand; private to src/ops/fold_*.cpp.
#pragma once

#include "ops/fold_kernel.h"

namespace graphopt::folding {

// Emits op(x) for all elements of the first operand; E is their Elem type. op(x, result) returns false where
// the result is not defined.
template <class E, class Op> FoldRefusal unary(FoldRun& r, Op op) {
  const Operand& data = r.in(0);
  Buffer out;
  if (const FoldRefusal no = r.make(E::kType, Dims(data.dims.begin(), data.dims.end()), out); no != kDone)
    return no;
  for (std::int64_t i = 0; i < data.elements; ++i) {
    typename E::Value v{};
    if (!op(E::get(data.data, i), v)) return kBad;
    E::put(out.data(), i, v);
  }
  r.emit(0, std::move(out));
  return kDone;
}

}  // namespace graphopt::folding
