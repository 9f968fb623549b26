// An order in which the nodes of a graph can stand. Kahn's method: nodes whose operands are all made wait in
// a heap by the place that they have now, so of two that could stand first the one that stands first does,
// and a sorted graph stays as it is.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "ir/model.h"

namespace graphopt {

// Nodes are told by their index in `nodes`. A node that holds subgraphs reads what they capture.
struct NodeOrder {
  std::vector<NodeId> nodes;                                   // as they stand
  std::vector<std::pair<std::uint32_t, std::uint32_t>> reads;  // (maker, reader), once per operand, by maker
  std::vector<std::uint32_t> waits_for;  // so many operands that are never made: 0 but for circles
  std::vector<std::uint32_t> sorted;     // all but what is in a circle or behind one
};
NodeOrder topological_order(const Model& m, GraphId g);

// Precondition: `order` is of the graph as it is, and has no circle.
void put_in_order(Model& m, const NodeOrder& order);

}  // namespace graphopt
