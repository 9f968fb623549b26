#include "partition/merge.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>
#include <utility>

namespace graphopt::partition {
namespace {

constexpr std::size_t kNear = 8;          // unrelated partners on each side
constexpr std::size_t kNearSlots = 4096;  // slots that are searched for them
// From this number of partners on, a list of partners is tried to its end before it is made anew.
constexpr std::size_t kManyPartners = 64;

class Merger {
 public:
  Merger(const UnitGraph& graph, GroupOrder& order, Budget& budget)
      : graph_(graph), order_(order), budget_(budget) {}

  void run(bool unrelated, bool backward, bool host) {
    for (bool changed = true; changed && !budget_.spent();) {
      changed = false;
      order_.compact();
      std::vector<Index> groups;
      for (std::size_t s = 0; s < order_.slot_count(); ++s) groups.push_back(order_.at(s));
      if (backward) std::ranges::reverse(groups);
      for (const Index group : groups) {
        if (budget_.spent()) return;
        const Index color = order_.color(group);
        if (!order_.alive(group) || (color == graph_.host && !host)) continue;
        const bool any = color == graph_.host || (unrelated && graph_.connected[color] == 0);
        while (merge_with_one(group, any)) changed = true;
      }
    }
  }

 private:
  // Merges the group with the first possible partner, or with several if it has many. Returns false if there
  // was none.
  bool merge_with_one(Index group, bool any) {
    find_partners(group, any);
    bool merged = false;
    for (const Index partner : partners_) {
      if (budget_.spent()) return false;
      if (!order_.merge(group, partner)) continue;
      merged = true;
      if (partners_.size() < kManyPartners) break;
    }
    return merged;
  }

  void find_partners(Index group, bool any) {
    partners_.clear();
    const Index color = order_.color(group);
    for (const auto* list : {&order_.consumers(group), &order_.producers(group)}) {
      budget_.steps -= static_cast<std::int64_t>(list->size());
      for (const Index g : *list)
        if (order_.color(g) == color) partners_.push_back(g);
    }
    sort_by_distance(group, partners_.begin());
    if (!any) return;
    const std::size_t related = partners_.size();
    const auto look = [&](std::size_t slot, bool up) {
      for (std::size_t found = 0, looked = 0; found < kNear && looked < kNearSlots; ++looked) {
        if (up ? ++slot == order_.slot_count() : slot-- == 0) return;
        const Index g = order_.at(slot);
        if (g == kNone || order_.color(g) != color) continue;
        if (related_to(g, related)) continue;
        partners_.push_back(g);
        ++found;
      }
    };
    look(order_.slot(group), false);
    look(order_.slot(group), true);
    sort_by_distance(group, partners_.begin() + static_cast<std::ptrdiff_t>(related));
  }

  bool related_to(Index g, std::size_t related) const {
    budget_.steps -= static_cast<std::int64_t>(related / 8);
    return std::find(partners_.begin(), partners_.begin() + static_cast<std::ptrdiff_t>(related), g) !=
           partners_.begin() + static_cast<std::ptrdiff_t>(related);
  }

  void sort_by_distance(Index group, std::vector<Index>::iterator first) {
    const Index slot = order_.slot(group);
    const auto distance = [&](Index g) {
      const Index s = order_.slot(g);
      return std::pair(s > slot ? s - slot : slot - s, order_.key(g));
    };
    std::sort(first, partners_.end(), [&](Index x, Index y) { return distance(x) < distance(y); });
  }

  const UnitGraph& graph_;
  GroupOrder& order_;
  Budget& budget_;
  std::vector<Index> partners_;
};

}  // namespace

Labels merge_groups(const UnitGraph& graph, const Labels& start, MergeOptions options, Budget& budget) {
  GroupOrder order(graph, start, budget);
  Merger merger(graph, order, budget);
  if (options.accelerators_first) merger.run(options.unrelated, options.backward, false);
  merger.run(options.unrelated, options.backward, true);
  return order.labels();
}

Labels merge_units(const UnitGraph& graph, SweepOptions options, const std::vector<Index>* given,
                   Budget& budget) {
  GroupOrder order(graph, singles(graph), budget, given);
  std::vector<Index> units, partners;
  for (std::size_t s = 0; s < order.slot_count(); ++s) units.push_back(order.key(order.at(s)));
  if (options.backward) std::ranges::reverse(units);
  for (const Index unit : units) {
    if (budget.spent()) break;
    if (graph.color[unit] == graph.host) continue;
    const Index group = order.group_of(unit);
    const Index slot = order.slot(group);
    partners.clear();
    for (const Index g : options.backward ? order.consumers(group) : order.producers(group))
      if (order.color(g) == order.color(group)) partners.push_back(g);
    const auto preference = [&](Index g) {
      const Index s = order.slot(g);
      return std::tuple(options.largest ? kNone - order.size(g) : 0, s > slot ? s - slot : slot - s,
                        order.key(g));
    };
    std::ranges::sort(partners, [&](Index x, Index y) { return preference(x) < preference(y); });
    for (const Index partner : partners) order.merge(group, partner);
  }
  order.compact();
  Merger merger(graph, order, budget);
  merger.run(false, options.backward, false);
  merger.run(false, options.backward, true);
  return order.labels();
}

std::vector<Index> drawn_order(const UnitGraph& graph, std::uint64_t seed) {
  // The finalizer of SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014).
  const auto draw = [seed](Index unit) {
    std::uint64_t x = (seed << 32 | unit) + 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
  };
  using Entry = std::pair<std::uint64_t, Index>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  std::vector<Index> waiting(graph.size()), out;
  for (Index u = 0; u < graph.size(); ++u) {
    waiting[u] = static_cast<Index>(graph.producers[u].size());
    if (waiting[u] == 0) ready.emplace(draw(u), u);
  }
  while (!ready.empty()) {
    const Index u = ready.top().second;
    ready.pop();
    out.push_back(u);
    for (const Index c : graph.consumers[u])
      if (--waiting[c] == 0) ready.emplace(draw(c), c);
  }
  return out;
}

}  // namespace graphopt::partition
