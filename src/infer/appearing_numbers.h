// Graphs whose nodes may get operands with dims or numbers that inference does not know yet.
//
// Problem: inference follows integers. A list that is computed from floating-point constants it does not
// know, and a fold makes a constant of it. A node that need not run and that fails with this list is refused
// then. Where its operand can be hidden that is done when the passes are at rest (refused_nodes.h); elsewhere
// it has to be foreseen.
// Method: values that are computed from constants alone and whose elements inference does not know may
// appear; what reads one for its dims, and has no known dims, opens, and so does what is computed from that.
// Calls and nodes with bodies count as what passes may put in their place. This overestimates what passes do.
#pragma once

#include <vector>

#include "infer/infer.h"

namespace graphopt {

// Returns for each graph whether a node in it reads what may appear or open. Linear in the model. Inference
// is up to date.
std::vector<bool> graphs_where_numbers_may_appear(const Model& m, const Inference& infer);

}  // namespace graphopt
