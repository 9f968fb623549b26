// New deformations, and operands of elementwise nodes that change their shape with them (docs/hoisting.md,
// "New deformations" and "Operands").
#pragma once

#include <cstdint>
#include <vector>

#include "hoist/draft/draft.h"
#include "hoist/moves/refusal.h"

namespace graphopt {

// Returns whether Reshape, Squeeze, Unsqueeze, Transpose, Concat and Split take this type in the model's
// opset and have kernels for it in ONNX Runtime.
bool type_can_move(const Draft& d, DType type);

// The run-time shape operand of a Reshape of the model, for use by another Reshape from an equal shape.
struct RuntimeTarget {
  DValue operand;  // none if there is no such operand
  NodeId reshape;  // its attributes (allowzero) say how the operand is read
};

// Returns a value with the elements of `v` and shape `to`: `v` itself, a reshaped constant, the source of v's
// deformations, or the result of a new deformation, which is put right before the node `before`.
// `runtime_target` (or none) is a shape operand for the case that no constant target can be written. Returns
// none, and sets `why`, if no target can be written.
DValue deformed(Draft& d, DValue v, ShapeId to, DNode before, const RuntimeTarget& runtime_target,
                Refusal& why);

// Returns a constant with other dims over the same bytes.
DValue reshaped_constant(Draft& d, DValue constant, ShapeId to);
// Returns a constant with its axes permuted (new bytes); none if it has too many elements.
DValue transposed_constant(Draft& d, DValue constant, std::span<const std::int64_t> perm);
// Returns a constant broadcast to `dims`; none if it would have too many elements or has no raw bytes.
DValue expanded_constant(Draft& d, DValue constant, std::span<const std::int64_t> dims);
// Returns constants of one rank, whose dims are equal but for `axis`, joined along it; none if the result has
// too many elements.
DValue joined_constants(Draft& d, std::span<const DValue> constants, std::size_t axis);

// Returns the operand that takes the place of `w`, which broadcasts to shape t, where the result has shape s
// instead (w has not the full shape t). `may_lift`: constants may be expanded. Returns none, and sets `why`,
// if no operand fits.
DValue mapped_operand(Draft& d, DValue w, ShapeId t, ShapeId s, bool may_lift, DNode before, Refusal& why);

// Sets the lengths of a Split to the extents of its results along its axis, which must be numbers.
void set_lengths(Draft& d, DNode split);

}  // namespace graphopt
