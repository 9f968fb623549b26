// Which elementwise nodes work together with which anchor (methods/rewrites.md, part d, steps 1 and 2).
//
// Problem: F, the number of elementwise nodes that stand with no anchor, is part of the cost; it changes with
// every move.
// Method: every anchor opens a region. A free E joins a region that produces one of its full-shape operands
// (in order), or one that consumes its value (in reverse order), as long as the graph in which each region is
// one node stays acyclic. After a move only the E nodes connected with what was touched are grown again, up
// to SearchLimits::region_update.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "hoist/draft/draft.h"

namespace graphopt {

class Regions {
 public:
  explicit Regions(Draft& d) : d_(d) {}

  void start();                                 // all nodes
  void update(std::span<const DNode> touched);  // around these; sets updated()
  std::span<const DNode> updated() const { return area_; }

 private:
  DNode region_of(DNode n) const { return d_[n].anchor && !d_[n].shape_only ? n : d_[n].region; }
  bool join_producer(DNode n);
  bool join_consumer(DNode n);
  bool join_first(DNode n, bool from_behind);
  bool acyclic(DNode e, DNode region);
  bool collect(DNode region, std::vector<DNode>& out);
  bool beside_producer(DNode n) const;
  bool beside_consumer(DNode n) const;
  template <class Place, class Beside, class Join, class Behind>
  bool spread(std::span<const DNode> free, Place place, Beside beside, Join join, Behind behind);
  void grow(std::vector<DNode>& free);  // leaves those that joined nothing

  Draft& d_;
  std::vector<DNode> area_, free_, candidates_, stack_;
  std::vector<std::pair<std::uint64_t, DNode>> waiting_;  // a heap
  std::vector<DNode> at_once_;
  std::vector<std::uint32_t> seen_, member_;  // by node: epochs
  std::vector<std::uint32_t> turn_;           // by node: may join in this wave, or waits for it
  std::uint32_t epoch_ = 0, wave_ = 0;
};

}  // namespace graphopt
