// Cuts subgraphs that do not fit into the memory of their devices. A value of unknown size counts as what it
// has at least.
//
// Problem: a subgraph needs its weights, each once, and the largest sum of the values that are alive at a
// node: one that it reads until its last reader, one that it makes until its last reader or, where it leaves
// the subgraph, the end. What needs more than its device has is cut into intervals of its execution order:
// the fewest, then those with the fewest bytes over the cuts. Intervals keep the quotient acyclic. Method: an
// interval inside another one needs no more. So the first unit from which an interval fits that ends at a
// given unit never moves back, and a window of two ends finds it for every unit; the bytes alive in the
// window are kept in a tree that adds to ranges and knows the largest sum. The best cuts before each unit
// follow by a dynamic program over a sliding minimum: O((n + e) log n). Ends: a unit that alone does not fit
// is reported; the caller moves it to a lower device.
#pragma once

#include <cstdint>
#include <vector>

#include "partition/unit_graph.h"

namespace graphopt::partition {

struct MemoryCuts {
  struct Whole {
    Index device = 0;
    std::uint64_t need_bytes = 0;
    std::vector<Index> units;  // one of each piece, in order
  };
  struct TooLarge {
    Index unit = 0;
    std::uint64_t need_bytes = 0;
  };
  Labels labels;
  std::vector<Whole> cut;
  std::vector<TooLarge> too_large;  // not of the host, which has no lower device
};

class MemoryModel {
 public:
  // `order`: all nodes, in execution order.
  MemoryModel(const Problem& problem, const UnitGraph& graph, std::vector<Index> order);

  bool limited() const { return limited_; }  // some device has a limit
  MemoryCuts cut(const Labels& labels);
  // By group: what it needs. Precondition: labels are below `groups`.
  std::vector<std::uint64_t> needs(const Labels& labels, std::size_t groups);

 private:
  friend class MemoryWindow;
  void enter(std::span<const Index> nodes);
  bool inside(Index node) const { return entered_[node] == epoch_; }
  Index last_place(Index value) const;
  std::uint64_t value_bytes(Index value) const;
  std::uint64_t need(std::span<const Index> nodes);
  std::vector<std::vector<Index>> pieces(std::span<const Index> units, std::uint64_t limit, MemoryCuts& out);
  std::vector<std::vector<Index>> intervals(std::span<const Index> units, std::uint64_t limit,
                                            std::vector<std::uint64_t>* alone);
  std::vector<std::uint64_t> crossing(std::span<const Index> nodes, std::span<const Index> first) const;

  const Problem& problem_;
  const UnitGraph& graph_;
  std::vector<Index> order_, place_;  // nodes, and the place of each
  bool limited_ = false;
  Rows reads_, makes_;  // by node: values

  // Of the nodes that are looked at:
  Index epoch_ = 0, count_ = 0;
  std::vector<Index> entered_, at_;  // by node: an epoch, the place
  std::vector<Index> read_epoch_,
      read_at_;                           // by value that is made elsewhere: the last reader's place so far
  std::vector<Index> used_epoch_, used_;  // by weight: nodes that read it
};

}  // namespace graphopt::partition
