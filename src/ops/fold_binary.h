// Elementwise kernels of two operands that broadcast; private to src/ops/fold_*.cpp.
#pragma once

#include "ops/fold_kernel.h"

namespace graphopt::folding {

// out = op(a, b) for all elements; A and R are Elem types. op(x, y, result) returns false where the result is
// not defined.
template <class A, class R, class Op>
FoldRefusal binary(FoldRun& r, const Operand& a, const Operand& b, Buffer& out, Op op) {
  if (a.dtype != b.dtype) return kBad;
  const std::optional<Dims> dims = broadcast_dims(a.dims, b.dims);
  if (!dims) return kBad;
  if (const FoldRefusal no = r.make(R::kType, *dims, out); no != kDone) return no;
  if (out.elements == 0) return kDone;
  char* const to = out.data();
  const bool fine = for_each_row<2>(
      {*dims, {broadcast_strides(a.dims, *dims), broadcast_strides(b.dims, *dims)}},
      [&](std::int64_t at, const auto& offset, const auto& step, std::int64_t count) {
        for (std::int64_t i = 0; i < count; ++i) {
          typename R::Value v{};
          if (!op(A::get(a.data, offset[0] + i * step[0]), A::get(b.data, offset[1] + i * step[1]), v))
            return false;
          R::put(to, at + i, v);
        }
        return true;
      });
  return fine ? kDone : kBad;
}

// Applies it to the node's two operands and emits the result.
template <class A, class R, class Op> FoldRefusal emit_binary(FoldRun& r, Op op) {
  Buffer out;
  const FoldRefusal no = binary<A, R>(r, r.in(0), r.in(1), out, op);
  if (no == kDone) r.emit(0, std::move(out));
  return no;
}

// Combines all operands from left to right, as runtimes do.
template <class A, class Op> FoldRefusal emit_variadic(FoldRun& r, Op op) {
  if (r.inputs() == 1) return fold_identity(r);
  Buffer so_far;
  Operand left = r.in(0);
  for (std::size_t i = 1; i < r.inputs(); ++i) {
    if (!r.in(i)) return kBad;
    Buffer next;
    if (const FoldRefusal no = binary<A, A>(r, left, r.in(i), next, op); no != kDone) return no;
    so_far = std::move(next);
    left.dims = so_far.dims;
    left.elements = so_far.elements;
    left.data = so_far.raw.data();
  }
  r.emit(0, std::move(so_far));
  return kDone;
}

}  // namespace graphopt::folding
