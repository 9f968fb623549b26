// A node that no run of a model gets past.
//
// Problem: numbers that are bound to open dims may be ones that a node with constant operands does not take:
// lengths of a Split that do not add up to the extent, a target of a Reshape with other elements. A runtime
// that knows the dims refuses the whole model then. Method: onnx's own inference function is asked about each
// node of the main graph on which an output depends, with the types and constants that are known.
#pragma once

#include "infer/infer.h"

namespace graphopt {

// Returns the first such node; none where there is none. Inference is up to date. Nodes with bodies are not
// asked, and no node that has an operand without elements: kernels take some that inference refuses.
NodeId failing_node(const Model& m, const Inference& infer);

}  // namespace graphopt
