// The rule of neighbouring depths, with a guard against cycles.
//
// Problem: the published rule grows one subgraph after the other. The first unit in the order of (depth,
// number) that is in none starts one; a neighbour of the same device joins it if an edge between them spans
// one depth, or if it is the only neighbour of the other on that side; then depths are computed anew for the
// contracted graph. Consecutive starts on the host share a subgraph. As printed, depths that are stale while
// a subgraph grows, and the shared host subgraph, can close a cycle. Method: the same, but a join that would
// close a cycle is refused (GroupOrder::merge). Ends: each round takes a start that no later round takes; a
// join lowers the number of groups. In large graphs depths are computed anew only after a share of the groups
// is gone, so that rounds are not quadratic.

#include <algorithm>
#include <utility>

#include "partition/algorithms.h"
#include "partition/group_order.h"
#include "partition/levels.h"

namespace graphopt::partition {
namespace {

constexpr std::size_t kRefreshAlways = 1024;  // groups up to which each round computes depths anew
constexpr std::size_t kRefreshShare = 16;     // beyond: when one in so many groups is gone

class DepthRule {
 public:
  explicit DepthRule(const UnitGraph& graph)
      : graph_(graph),
        budget_{std::int64_t{1} << 62},
        order_(graph, singles(graph), budget_),
        depth_(graph.size()),
        done_(graph.size()),
        near_(graph.size()),
        groups_(graph.size()) {}

  Labels run() {
    refresh();
    Index host = kNone;
    while (true) {
      if (groups_ <= kRefreshAlways || (fresh_groups_ - groups_) * kRefreshShare > fresh_groups_) refresh();
      while (next_ < sequence_.size() && (!order_.alive(sequence_[next_]) || done_[sequence_[next_]] != 0))
        ++next_;
      if (next_ == sequence_.size()) break;
      const Index start = sequence_[next_];
      if (order_.color(start) == graph_.host) {
        if (host != kNone && join(host, start)) continue;
        host = start;
        done_[start] = 1;
      } else {
        host = kNone;
        extend(start);
        done_[start] = 1;
      }
    }
    order_.compact();
    return order_.labels();
  }

 private:
  bool join(Index a, Index b) {
    if (!order_.merge(a, b)) return false;
    --groups_;
    return true;
  }

  // Depths of all groups, and the groups by (depth, least unit).
  void refresh() {
    order_.compact();
    sequence_.clear();
    for (std::size_t s = 0; s < order_.slot_count(); ++s) {
      const Index g = order_.at(s);
      depth_[g] = 0;
      for (const Index p : order_.producers(g)) depth_[g] = std::max(depth_[g], depth_[p] + 1);
      sequence_.push_back(g);
    }
    std::ranges::sort(sequence_, [&](Index x, Index y) { return before(x, y); });
    next_ = 0;
    fresh_groups_ = groups_;
  }
  bool before(Index x, Index y) const {
    return std::pair(depth_[x], order_.key(x)) < std::pair(depth_[y], order_.key(y));
  }

  void collect_neighbours(Index group) {
    around_.clear();
    for (const auto* list : {&order_.producers(group), &order_.consumers(group)})
      around_.insert(around_.end(), list->begin(), list->end());
  }
  // Marks those of around_ that an edge over one depth joins to `part`.
  void mark_near(Index part) {
    for (const Index g : around_)
      if (depth_[g] == depth_[part] + 1 || depth_[g] + 1 == depth_[part]) near_[g] = round_;
  }

  static Index only(const std::vector<Index>& list) { return list.size() == 1 ? list[0] : kNone; }

  void extend(Index start) {
    ++round_;
    collect_neighbours(start);
    mark_near(start);
    std::vector<Index> neighbours;
    for (bool grew = true; grew;) {
      grew = false;
      collect_neighbours(start);
      neighbours.clear();
      for (const Index g : around_)
        if (done_[g] == 0 && order_.color(g) == order_.color(start)) neighbours.push_back(g);
      std::ranges::sort(neighbours, [&](Index x, Index y) { return before(x, y); });
      const Index consumer = only(order_.consumers(start)), producer = only(order_.producers(start));
      for (const Index g : neighbours) {
        if (near_[g] != round_ && g != consumer && g != producer && only(order_.consumers(g)) != start &&
            only(order_.producers(g)) != start)
          continue;
        collect_neighbours(g);
        if (!join(start, g)) continue;
        mark_near(g);
        grew = true;
        if (neighbours.size() < kManyNeighbours) break;
      }
    }
  }

  // From this number on, a list of neighbours is tried to its end before it is made anew.
  static constexpr std::size_t kManyNeighbours = 64;

  const UnitGraph& graph_;
  Budget budget_;
  GroupOrder order_;
  std::vector<Index> depth_, sequence_, around_;
  std::vector<std::uint8_t> done_;
  std::vector<Index> near_;  // by group: the last round in which it was marked
  Index round_ = 0;
  std::size_t next_ = 0, groups_, fresh_groups_ = 0;
};

}  // namespace

Found depth(const UnitGraph& graph) {
  Labels labels = DepthRule(graph).run();
  const Score s = score(graph, labels);
  const LowerBound bound = lower_bound(graph);
  return {std::move(labels), s.accelerators == bound.accelerator && s.groups == bound.all};
}

}  // namespace graphopt::partition
