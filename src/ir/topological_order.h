// A topological order of the nodes of a graph, as close as possible to the present one. Kahn's method: nodes
// whose operands are all available wait in a heap keyed by their present position, so that the first of them
// comes first and a sorted graph keeps its order.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "ir/model.h"

namespace graphopt {

// Nodes are identified by their index in `nodes`. A node that holds subgraphs reads what they capture.
struct NodeOrder {
  std::vector<NodeId> nodes;  // in their present order
  // (producer, consumer), once per operand, by producer
  std::vector<std::pair<std::uint32_t, std::uint32_t>> reads;
  std::vector<std::uint32_t> waits_for;  // operands that are never available: 0 unless the graph has a cycle
  std::vector<std::uint32_t> sorted;     // all nodes but those in a cycle or downstream of one
};
NodeOrder topological_order(const Model& m, GraphId g);

// Precondition: `order` describes the graph as it is, and has no cycle.
void put_in_order(Model& m, const NodeOrder& order);

}  // namespace graphopt
