// What one sequential run of a partition takes, in nanoseconds, and what a move would save.
//
// A run takes the launches of its subgraphs, the times of the nodes on their devices, and one transfer for
// each value and subgraph that reads it. A transfer goes through the host: from an accelerator, then to one,
// each at that device's latency and bandwidth; so it does between two subgraphs of one accelerator. Figures
// that a device does not state count as nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "partition/unit_graph.h"

namespace graphopt::partition {

class CostModel {
 public:
  CostModel(const Problem& problem, const UnitGraph& graph);

  // Some device can be left to save time.
  bool known() const { return known_; }
  bool known(Index device) const { return problem_.devices[device].cost.has_value(); }

  // Time of a run with the units' colors.
  std::int64_t total(const Labels& labels) const;

 private:
  friend class MoveEstimates;
  std::int64_t launch(Index device) const;
  std::int64_t transfer(Index from, Index to, std::uint64_t bytes) const;
  std::int64_t unit_time(Index unit, Index device) const {
    return unit_ns_.empty() ? 0 : unit_ns_[std::size_t{unit} * devices_ + device];
  }

  const Problem& problem_;
  const UnitGraph& graph_;
  const std::size_t devices_;
  bool known_ = false;
  std::vector<std::int64_t> unit_ns_;  // by unit, then device
};

// A group that could move to a lower device.
struct Offer {
  Index group = 0, to = 0;
  std::int64_t saved_ns = 0;  // estimated: neighbours on the target device are taken to merge with it
};

// Offers for the groups of a partition, from their own borders alone.
class MoveEstimates {
 public:
  MoveEstimates(const CostModel& model, const Labels& labels);

  std::size_t group_count() const { return members_.size(); }
  std::span<const Index> members(Index group) const { return members_[group]; }  // units, ascending
  Index color(Index group) const { return graph_.color[members_[group][0]]; }
  const std::vector<Index>& neighbours(Index group) const { return neighbours_[group]; }
  // Returns the lower devices that take all of the group; the host last.
  std::vector<Index> targets(Index group) const;
  // Returns the target that saves most; of equal ones the first.
  Offer best_offer(Index group) const;
  std::int64_t saved(Index group, Index to) const;

 private:
  struct Border {  // a value that the group reads from another one, or that another one reads from it
    std::uint64_t bytes;
    Index other;
    bool in;
  };
  const CostModel& model_;
  const UnitGraph& graph_;
  Rows members_;
  std::vector<std::vector<Border>> borders_;
  std::vector<std::vector<Index>> neighbours_;
};

}  // namespace graphopt::partition
