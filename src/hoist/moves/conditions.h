// Conditions of moves that change an elementwise node: which of its operands have the result's shape or
// broadcast to it, and whether it computes the same bits at another place. All of them come from the operator
// table (ops/facts.h).
#pragma once

#include "draft/draft.h"
#include "hoist/moves/refusal.h"
#include "rewrite/context.h"

namespace graphopt {

enum class Operand : std::uint8_t {
  Shaped,  // of the result's shape, or broadcast to it
  Fixed,   // a scalar by definition, or read for its type only: stays as it is in every move
};
// Returns whether the operator broadcasts its operands in the model's opset.
bool broadcasts(const Model& m, NodeId n);
// Returns whether later operands broadcast to the first one, and the first never to them.
bool broadcasts_one_way(const Model& m, NodeId n);
Operand operand_kind(const Model& m, NodeId n, std::size_t slot);
// Returns whether e, elementwise, reads v as an operand that has the shape of its result.
bool reads_in_full(const Draft& d, DNode e, DValue v);
// Returns whether m is elementwise and reads the result of n as an operand of its own shape.
bool consumes_in_full(const Draft& d, DNode m, DNode n);

// Returns whether the results of n may differ as they would on shape `to`; `moved`: at other positions, past
// Concat, Split and Transpose. With Strictness::Exact they must not differ at all. With Rounding they may
// differ by what two loops of one kernel differ by, mostly the last bit, and by the sign of a zero; with
// Assuming also by what a Cast to integers makes of a NaN or of a number outside of their range
// (docs/hoisting.md, "Exactness").
bool may_move(const Draft& d, DNode n, ShapeId to, bool moved, Strictness s);
// Returns false if the bits of an element depend on its position in the buffer. For operators whose kernels
// depend on the layout of the operands it returns true: ask may_reshape() as well.
bool position_free(const Draft& d, DNode n);
// Returns whether the node computes the same bits on shape `to`; `moved`: its elements change their
// positions. Always true, unless the kernel depends on the layout of the operands (Pow; Where, Max and Min on
// floating types). Then it is true if no operand is broadcast and no element moves. For Pow and Where it is
// also true if every operand is full or has one element, and the last dim is above 1 on both sides.
bool may_reshape(const Draft& d, DNode n, ShapeId to, bool moved);
// Returns whether the bits may change if `operand`, now of full extent on an axis, is broadcast along it
// instead: the kernel depends on the layout, and the operand has more than one element.
bool broadcast_sensitive(const Draft& d, DNode n, DValue operand);
// Returns whether constant operands of n may be expanded or joined: its kernels give the same bits for scalar
// and for vector operands.
bool may_expand(const Draft& d, DNode n);
// Compares operator, attributes (absent = default), number of operands, types of operands and result. Returns
// None if all are the same, else the reason of a refusal.
MoveRefusal operation_differs(const Draft& d, DNode a, DNode b);

// Returns whether Relu and Abs return all elements of the constant bit for bit: float or double, >= 0, no
// NaN, no -0. With `whole` the same for Floor and Ceil: whole numbers. False for a constant of too many
// elements.
bool unchanged_by_clamp(const Draft& d, TensorId t, bool whole);

}  // namespace graphopt
