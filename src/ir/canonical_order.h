// The canonical rank and order of a graph's nodes: the same for every order of the file and every choice of
// inner names.
//
// Problem: a pass has to choose between equal candidates, and parts of a model have to be numbered; neither
// must depend on the order of the file.
// Method: the rank of a node is the number of its first visit by a depth-first walk that starts at the
// outputs of the graph in their order and goes through the operands of each node in their order, then through
// its bodies, from their outputs, in the order of the attributes' names. Each live node is reached by a path
// of positions from an output, so the rank is total and needs no comparison of nodes. Nodes that no output
// needs (mostly removed before) come last, by a hash of their structure; equal ones keep the order of the
// file. The canonical order is topological: by depth (the longest path from the inputs), then by rank.
// Constant nodes are no part of a path: a constant may be one in the file and an initializer in memory. Cost:
// one walk over the graph and its bodies, and one sweep; no sort.
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
  // Returns the rank of a node of the graph. Ranks are distinct, not dense: nodes in bodies have some, too.
  std::uint32_t rank(NodeId n) const { return rank_[n.index()]; }
  // Returns the values of this graph that bodies of n read, each once, as pairs (n, value).
  std::span<const std::pair<NodeId, ValueId>> captures_of(NodeId n) const;

 private:
  struct Frame {
    NodeId node;
    std::uint32_t next = 0;  // operand
  };

  void find_captures();
  void find_depths();
  void rank_nodes();
  void rank_unreached();
  bool reached(NodeId n) const { return seen_[n.index()] == epoch_; }
  void enter(NodeId n);
  void walk(NodeId start);
  void enter_bodies(NodeId n);
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
  LargeArray<std::uint32_t> depth_, rank_, seen_;  // by NodeId; seen_: epochs
  std::uint32_t epoch_ = 0, next_rank_ = 0;
  std::vector<Frame> stack_;
  std::vector<std::uint64_t> colour_;  // by NodeId, of nodes that no output needs
};

}  // namespace graphopt
