// What moves ask about an elementwise node: which of its operands broadcast, whether it may stand elsewhere.
// All answers come from the operator table (ops/facts.h).
#pragma once

#include "hoist/draft.h"
#include "infer/infer.h"

namespace graphopt {

// Is `n` elementwise in the sense of methods/rewrites.md, part a, its conditions and caveats included? One result, all
// types known, no strings, attributes known, equal shapes where the opset does not broadcast.
bool is_elementwise(const Model& m, const Inference& infer, NodeId n);

enum class Operand : std::uint8_t {
  Broadcast,   // full shape, or broadcast to it
  Fixed,       // a scalar by definition, or only its type is looked at: stays as it is in every move
};
Operand operand_kind(const Model& m, NodeId n, std::size_t slot);

// b7: the same bits wherever an element stands in the buffer. Condition of moves that change places (Concat, Split,
// Transpose) below -O3.
bool position_free(const Draft& d, DNode n);
// b1: may the node work on another shape at all? Not Pow, whose kernels differ by broadcast layout, unless nothing is
// broadcast.
bool may_reshape(const Draft& d, DNode n);
// May a constant operand be expanded or joined (scalar and vector operands give the same bits)?
bool may_lift(const Draft& d, DNode n);
// Operator, attributes (absent = default), number of operands, types of operands and result: the same?
bool same_operation(const Draft& d, DNode a, DNode b);

// Are all elements of the constant finite or infinite numbers >= 0 that are no -0 (so that Relu and Abs return them bit for
// bit), and whole ones if asked (Floor, Ceil)? Floating types of 32 and 64 bits.
bool unchanged_by_clamp(const Model& m, TensorId t, bool whole);

}  // namespace graphopt
