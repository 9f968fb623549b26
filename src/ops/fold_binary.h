// Elementwise kernels of two operands that broadcast; private to src/ops/fold_*.cpp.
#pragma once

#include "ops/fold_kernel.h"

namespace graphopt::folding {

// Makes the result of two operands that broadcast; nothing to walk where `rows` is empty afterwards.
FoldRefusal begin_binary(FoldRun& r, DType type, const Operand& a, const Operand& b, Buffer& out,
                         std::optional<RowWalk<2>>& rows);

// out = op(a, b) for all elements; A and R are Elem types. op(x, y, result) returns false where the result is
// not defined.
template <class A, class R, class Op>
FoldRefusal binary(FoldRun& r, const Operand& a, const Operand& b, Buffer& out, Op op) {
  std::optional<RowWalk<2>> rows;
  if (const FoldRefusal no = begin_binary(r, R::kType, a, b, out, rows); no != kDone) return no;
  char* const to = out.data();
  while (rows && rows->next()) {
    // Copies: the compiler cannot know that the result does not lie over the walk.
    const std::int64_t at = rows->out, count = rows->count;
    const auto offsets = rows->offsets, steps = rows->steps;
    for (std::int64_t i = 0; i < count; ++i) {
      typename R::Value v{};
      if (!op(A::get(a.data, offsets[0] + i * steps[0]), A::get(b.data, offsets[1] + i * steps[1]), v))
        return kBad;
      R::put(to, at + i, v);
    }
  }
  return kDone;
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
