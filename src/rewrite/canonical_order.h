// The canonical order of a graph's nodes: the same for every order of the file and every choice of inner
// names.
//
// Problem: of several equal choices one has to be taken, and what stands first in the file is no reason.
// Method: nodes are sorted by depth (the longest path from the inputs) and, within one depth, by a colour
// that depends on structure alone: the first of the graph's outputs that it leads to, the first operand slot
// that reads it, then operator, attributes and operands (forward), users and outputs (backward). Only nodes
// that a colour cannot tell apart stay as they stood; colours are hashes, so this is a rule for choosing,
// never a proof that two nodes are equal.
// Cost: a walk forward and one backward over the graph, and a sort.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "ir/model.h"
#include "support/large_array.h"

namespace graphopt {

// One object serves all graphs of a model: its scratch arrays are as large as the model.
class CanonicalOrder {
 public:
  explicit CanonicalOrder(const Model& m) : m_(m) {}

  void look_at(GraphId g);

  // Of the graph that was looked at last:
  std::span<const NodeId> nodes() const { return nodes_; }         // as they stand in it
  std::span<const std::uint32_t> order() const { return order_; }  // canonical, as indices into nodes()
  // Values of this graph that the bodies of one of its nodes read, each once.
  std::span<const std::pair<NodeId, ValueId>> captures_of(NodeId n) const;

 private:
  void find_captures();
  void look_forward();
  void look_backward();
  void sort();
  std::uint64_t value_colour(ValueId v) const;
  std::uint64_t hash_bodies(NodeId n) const;

  const Model& m_;
  GraphId graph_;
  LargeArray<NodeId> nodes_;
  LargeArray<std::uint32_t> order_;
  std::vector<std::pair<NodeId, ValueId>>
      captures_;  // (node of the graph, value that its bodies read), sorted
  std::vector<std::pair<ValueId, std::uint32_t>> inputs_;  // of the graph, with their place; sorted
  std::uint32_t deepest_ = 0;
  LargeArray<std::uint32_t> depth_, first_output_, first_slot_;  // by NodeId
  LargeArray<std::uint64_t> colour_, back_;                      // by NodeId
};

}  // namespace graphopt
