// New deformations, and operands of elementwise nodes that change their shape with them (docs/hoisting.md,
// "New deformations" and "Operands").
#pragma once

#include <cstdint>
#include <vector>

#include "draft/draft.h"
#include "hoist/moves/refusal.h"

namespace graphopt {

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
                MoveRefusal& why);

// Returns why a function of data_movement.h made no constant: Limit if it had too many elements, else Operand
// (its bytes are not at hand). Precondition: it was called for the candidate at hand.
MoveRefusal constant_refusal(const Draft& d);

// Returns the operand that takes the place of `w`, which broadcasts to shape t, where the result has shape s
// instead (w has not the full shape t). `may_expand`: it may be expanded if it is a constant. Returns none,
// and sets `why`, if no operand fits.
DValue mapped_operand(Draft& d, DValue w, ShapeId t, ShapeId s, bool may_expand, DNode before,
                      MoveRefusal& why);

}  // namespace graphopt
