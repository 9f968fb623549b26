// Which elementwise nodes are in the region of which anchor (docs/regions.md).
//
// Problem: F, the number of elementwise nodes in no region, is part of the cost and changes
// with every move. Method: every anchor opens a region. A free elementwise node joins a region that produces
// one of its operands of full shape (nodes in order) or one that consumes its value (nodes in reverse order),
// as long as the quotient, the graph in which each region is one node, stays acyclic. This repeats until no
// node joins. After a move only the elementwise nodes connected with touched ones are decided anew,
// SearchLimits::region_update of them at most.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "draft/draft.h"

namespace graphopt {

class Regions {
 public:
  explicit Regions(Draft& d) : d_(d) {}

  // Sets DraftNode::region of all nodes.
  void start();
  // Sets it anew for the elementwise nodes among `touched` and around them: updated().
  void update(std::span<const DNode> touched);
  std::span<const DNode> updated() const { return area_; }
  // Returns what is wrong with the regions as they are marked, as a sentence, or an empty string: a region's
  // anchor is alive, its nodes are elementwise nodes connected with it.
  std::string difference();

 private:
  DNode region_of(DNode n) const { return d_[n].anchor && !d_[n].shape_only ? n : d_[n].region; }
  bool join_producer(DNode n);
  bool join_consumer(DNode n);
  bool join_best(DNode n, bool last_first);
  bool acyclic(DNode e, DNode region);
  bool collect(DNode region, std::vector<DNode>& out);
  bool beside_producer(DNode n) const;
  bool beside_consumer(DNode n) const;
  template <class KeyOf, class Beside, class Join, class NextOf>
  bool spread(std::span<const DNode> free, KeyOf key_of, Beside beside, Join join, NextOf next_of);
  void grow(std::vector<DNode>& free);

  Draft& d_;
  std::vector<DNode> area_, free_, candidates_, stack_;
  std::vector<std::pair<std::uint64_t, DNode>> waiting_;  // a heap
  std::vector<DNode> at_once_;
  std::vector<std::uint32_t> seen_, member_;  // by node: epochs
  std::vector<std::uint32_t> state_;          // by node: may join in this wave, or is queued in it
  std::uint32_t epoch_ = 0, wave_ = 0;
};

}  // namespace graphopt
