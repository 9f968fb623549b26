// The canonical order of a graph's nodes: the same for every order of the file and every choice of inner
// names.
//
// Problem: a pass has to choose between equal candidates, and its choice must not depend on the order of the
// file.
// Method: nodes are sorted by depth (the longest path from the inputs) and, within one depth, by structure
// alone: the first of the graph's outputs that the node leads to, the first operand slot that reads it, then
// a colour made of operator, attributes and operands (forward) and of users and outputs (backward). Nodes
// with equal colours keep the order of the file. Colours are hashes, so they are a rule for choosing, never a
// proof that two nodes are equal. Cost: a walk forward and one backward over the graph, and a sort.
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

  void compute(GraphId g);

  // Of the graph of the last compute():
  std::span<const NodeId> nodes() const { return nodes_; }         // in the order of the file
  std::span<const std::uint32_t> order() const { return order_; }  // canonical, as indices into nodes()
  // Returns the values of this graph that bodies of n read, each once, as pairs (n, value).
  std::span<const std::pair<NodeId, ValueId>> captures_of(NodeId n) const;

 private:
  void find_captures();
  void colour_forward();
  void colour_backward();
  void sort();
  std::uint64_t value_colour(ValueId v) const;
  std::uint64_t hash_bodies(NodeId n) const;

  const Model& m_;
  GraphId graph_;
  LargeArray<NodeId> nodes_;
  LargeArray<std::uint32_t> order_;
  std::vector<std::pair<NodeId, ValueId>>
      captures_;  // (node of the graph, value that its bodies read), sorted
  std::vector<std::pair<ValueId, std::uint32_t>> inputs_;  // of the graph, with their position; sorted
  std::uint32_t deepest_ = 0;
  LargeArray<std::uint32_t> depth_, first_output_, first_slot_;  // by NodeId
  LargeArray<std::uint64_t> colour_, back_;                      // by NodeId
};

}  // namespace graphopt
