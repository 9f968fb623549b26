// Order of nodes, and calls between functions.
#pragma once

#include "ir/model.h"
#include "onnx/problems.h"

namespace graphopt {

// Sorts the nodes of a graph topologically, keeping their order where possible. A node that holds subgraphs
// depends on what they capture. Returns false, and reports a problem, when there is a cycle.
bool sort_nodes(Model& m, GraphId g, Problems& problems);

// Reports a problem for each group of functions that call each other in a cycle.
void check_function_calls(const Model& m, Problems& problems);

}  // namespace graphopt
