// Order of nodes, and calls between functions.
#pragma once

#include "ir/model.h"
#include "onnx/problems.h"

namespace graphopt {

// Brings the nodes of a graph into topological order; of two that could stand first, the one that stood
// first. A node that holds subgraphs depends on what they capture. False, and a problem, when there is a
// cycle.
bool sort_nodes(Model& m, GraphId g, Problems& problems);

// A problem for each group of functions that call each other in a circle.
void check_function_calls(const Model& m, Problems& problems);

}  // namespace graphopt
