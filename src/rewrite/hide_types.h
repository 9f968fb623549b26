// Hides the type of an operand from a runtime that loads the model.
//
// Problem: a body that never runs may hold a node that cannot run with what is known of its operands now; a
// runtime that knows it, too, refuses the model (infer/refused_nodes.h).
// Method: the node reads the operand as an element of a sequence. A sequence of tensors of different ranks
// has elements of an unknown rank, so the second one is an empty tensor of another rank. No runtime folds
// that, since sequences are no constants. Where there are no sequences (before opset 11, in some element
// types, where a function has the name of such an operator) nothing can be hidden.
//   y = MatMul (x, x)     =>     <float[0] e, int64 p = {0}>
//                                s = SequenceConstruct (x, e)  h = SequenceAt (s, p)  y = MatMul (h, h)
// Exact: the element is the operand, bit for bit. Ends: the node knows nothing of the operand afterwards.
// Cost: two nodes in a body that no run reaches.
#pragma once

#include <span>

#include "infer/infer.h"
#include "infer/refused_nodes.h"
#include "ir/model.h"

namespace graphopt {

// Returns whether `operand` of `reader` can be hidden there.
bool can_hide(const Model& m, const Inference& infer, NodeId reader, ValueId operand);

// Hides the operands that each node lists; one value of several nodes of a graph is hidden once. Returns
// whether there were any. Inference is not updated.
bool hide_types(Model& m, const Inference& infer, std::span<const RefusedNode> nodes);

}  // namespace graphopt
