// What moves ask about an elementwise node: which of its operands broadcast, whether it may stand elsewhere.
// All answers come from the operator table (ops/facts.h).
#pragma once

#include "hoist/draft/draft.h"
#include "hoist/moves/reshaping.h"
#include "infer/infer.h"

namespace graphopt {

// Is `n` elementwise in the sense of methods/rewrites.md, part a, its conditions and caveats included? One
// result, all types known, no strings, attributes known, equal shapes where the opset does not broadcast.
bool is_elementwise(const Model& m, const Inference& infer, NodeId n);
// The same for operands and a result of which is_plain() is known.
bool is_elementwise_on_plain(const Model& m, const Inference& infer, NodeId n);
// A tensor's type, known, no strings.
inline bool is_plain(DType t) { return t != DType::Undefined && t != DType::String; }
// The axis of a QuantizeLinear or DequantizeLinear per axis; nothing for one per tensor and for others.
std::optional<std::uint32_t> quantization_axis(const Model& m, const Inference& infer, NodeId n);

enum class Operand : std::uint8_t {
  Broadcast,  // full shape, or broadcast to it
  Fixed,      // a scalar by definition, or only its type is looked at: stays as it is in every move
};
// Does the operator broadcast its operands? Old opsets of some do not.
bool broadcasts(const Model& m, NodeId n);
// Do later operands broadcast to the first alone?
bool broadcasts_one_way(const Model& m, NodeId n);
Operand operand_kind(const Model& m, NodeId n, std::size_t slot);
// Does e, elementwise, read v at an operand of the shape of its result?
bool reads_in_full(const Draft& d, DNode e, DValue v);

// b7: the same bits wherever an element stands in the buffer. Condition of moves that change places (Concat,
// Split, Transpose) below -O3.
bool position_free(const Draft& d, DNode n);
// b1, b7: may the node work on shape `to` instead? The kernels of Pow, and of Where on floats, differ by
// broadcast layout: they may where nothing is broadcast (and no element changes its place: `moved`), or where
// every operand is full or one element and the last dim is more than 1 on both sides.
bool may_reshape(const Draft& d, DNode n, ShapeId to, bool moved);
// Does its kernel take another path where an operand is broadcast along the axis of a Concat that was full
// before it? An operand of one element is none.
bool minds_broadcast(const Draft& d, DNode n, DValue operand);
// May a constant operand be expanded or joined (scalar and vector operands give the same bits)?
bool may_lift(const Draft& d, DNode n);
// Operator, attributes (absent = default), number of operands, types of operands and result: the same? None,
// or which of them is not.
Refusal operation_differs(const Draft& d, DNode a, DNode b);

// Are all elements of the constant finite or infinite numbers >= 0 that are no -0 (so that Relu and Abs
// return them bit for bit), and whole ones if asked (Floor, Ceil)? Floating types of 32 and 64 bits.
bool unchanged_by_clamp(const Draft& d, TensorId t, bool whole);

}  // namespace graphopt
