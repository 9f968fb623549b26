// A node that no run of a model gets past.
//
// Problem: numbers that are bound to open dims may be ones that a node with constant operands does not take:
// lengths of a Split that do not add up to the extent, a target of a Reshape with other elements. A runtime
// that knows the dims refuses the whole model then. Method: the first node of the main graph on which an
// output depends and which such a runtime refuses (refused_nodes.h).
#pragma once

#include "infer/infer.h"

namespace graphopt {

// Returns the first such node; none where there is none. Inference is up to date. A node that has an operand
// without elements does not count: kernels take some that inference refuses.
NodeId failing_node(Model& m, const Inference& infer);

}  // namespace graphopt
