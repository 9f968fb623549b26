// New deformations and operands that follow them (methods/rewrites.md, b1).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "hoist/draft/draft.h"

namespace graphopt {

// Why a candidate was refused: the vocabulary of methods/rewrites.md, part g.
enum class Refusal : std::uint8_t {
  None,
  MultiUse,
  GraphOutput,
  Captured,
  Attributes,
  Type,
  Operand,
  TwoOperands,
  ShapeUnknown,
  NotWritable,
  AxisCut,
  Barrier,
  Absorbed,
  Position,
  Bytes,
  Limit,
  Depends,
  Function,
  Tie,
};
std::string_view refusal_text(Refusal r);  // "multi-use"

// May D, T, Concat and Split act on this type in the model's opset (and in ONNX Runtime's kernels)?
bool type_can_move(const Draft& d, DType type);

// A shape operand that a deformation of the model has, for use by another one from the same shape (b1, form
// 6).
struct RuntimeTarget {
  DValue operand;  // none: there is none
  NodeId reshape;  // whose attributes say how it is read (allowzero)
};

// The value of `v` with shape `to`, made right before `before`: `v` itself, a reshaped constant, what another
// deformation of the same root already is, or a new deformation. `runtime_target` (or none) is a shape
// operand that says the same when no constant can. None, and `why`, when nothing says it.
DValue deformed(Draft& d, DValue v, ShapeId to, DNode before, const RuntimeTarget& runtime_target,
                Refusal& why);

// A constant with other dims over the same bytes.
DValue reshaped_constant(Draft& d, DValue constant, ShapeId to);
// A constant with its axes permuted (new bytes); none when it has too many elements.
DValue transposed_constant(Draft& d, DValue constant, std::span<const std::int64_t> perm);
// A constant broadcast to `dims`; none when it would have too many elements or its type cannot.
DValue expanded_constant(Draft& d, DValue constant, std::span<const std::int64_t> dims);
// Constants of one rank, equal but for `axis`, joined along it.
DValue joined_constants(Draft& d, std::span<const DValue> constants, std::size_t axis);

// Operand `w`, broadcast to shape t, for use where the result has shape s instead (rules 3 to 5; w is not
// full). `may_lift`: constants may be expanded. None, and `why`, when it cannot follow.
DValue mapped_operand(Draft& d, DValue w, ShapeId t, ShapeId s, bool may_lift, DNode before, Refusal& why);

// The lengths of a Split's pieces, which must be numbers, are to be written anew, from the shapes of its
// results.
void set_lengths(Draft& d, DNode split);

}  // namespace graphopt
