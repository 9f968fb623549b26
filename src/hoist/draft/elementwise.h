// Properties of elementwise nodes that moves depend on: which operands broadcast, and whether the node
// computes the same bits at another place. All of them come from the operator table (ops/facts.h).
#pragma once

#include "hoist/draft/draft.h"
#include "hoist/moves/reshaping.h"
#include "infer/infer.h"

namespace graphopt {

// Returns whether `n` is elementwise as docs/hoisting.md ("Elements and classes") defines it: by its class,
// with one result, known types, no strings, known attributes, and equal shapes where the opset does not
// broadcast.
bool is_elementwise(const Model& m, const Inference& infer, NodeId n);
// The same for operands and a result of which is_plain() is known.
bool is_elementwise_on_plain(const Model& m, const Inference& infer, NodeId n);
// Returns whether t is known and not String.
inline bool is_plain(DType t) { return t != DType::Undefined && t != DType::String; }
// Returns the axis of a QuantizeLinear or DequantizeLinear per axis; nothing for one per tensor and for other
// operators.
std::optional<std::uint32_t> quantization_axis(const Model& m, const Inference& infer, NodeId n);

enum class Operand : std::uint8_t {
  Broadcast,  // of the result's shape, or broadcast to it
  Fixed,      // a scalar by definition, or read for its type only: stays as it is in every move
};
// Returns whether the operator broadcasts its operands in the model's opset.
bool broadcasts(const Model& m, NodeId n);
// Returns whether later operands broadcast to the first one, and the first never to them.
bool broadcasts_one_way(const Model& m, NodeId n);
Operand operand_kind(const Model& m, NodeId n, std::size_t slot);
// Returns whether e, elementwise, reads v as an operand that has the shape of its result.
bool reads_in_full(const Draft& d, DNode e, DValue v);

// Returns whether n computes the same bits for an element at every position in the buffer. Below -O3 it is a
// condition of moves that change positions: past Concat, Split and Transpose (docs/hoisting.md, "Exactness").
bool position_free(const Draft& d, DNode n);
// Returns whether the node computes the same bits on shape `to`. Kernels of Pow, and of Where on floats,
// depend on the broadcast layout: they do where nothing is broadcast and no element changes its position
// (`moved` is false), or where every operand is full or has one element and the last dim is more than 1 on
// both sides.
bool may_reshape(const Draft& d, DNode n, ShapeId to, bool moved);
// Returns whether the bits may change if `operand`, now of full extent on an axis, is broadcast along it
// instead: the kernel depends on the layout, and the operand has more than one element.
bool broadcast_sensitive(const Draft& d, DNode n, DValue operand);
// Returns whether a constant operand may be expanded or joined: scalar and vector operands give the same
// bits.
bool may_lift(const Draft& d, DNode n);
// Compares operator, attributes (absent = default), number of operands, types of operands and result. Returns
// None if all are the same, else the reason of a refusal.
Refusal operation_differs(const Draft& d, DNode a, DNode b);

// Returns whether Relu and Abs return all elements of the constant bit for bit: float or double, >= 0, no
// NaN, no -0. With `whole` the same for Floor and Ceil: whole numbers. False for a constant of too many
// elements.
bool unchanged_by_clamp(const Draft& d, TensorId t, bool whole);

}  // namespace graphopt
