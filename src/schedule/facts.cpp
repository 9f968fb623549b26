#include "schedule/facts.h"

#include <algorithm>
#include <functional>
#include <queue>

namespace graphopt::schedule {

Order file_order(const Problem& p) {
  std::vector<std::size_t> waits(p.subgraphs.size());  // for so many inputs
  for (Index s = 0; s < p.subgraphs.size(); ++s)
    waits[s] = static_cast<std::size_t>(
        std::ranges::count_if(p.subgraphs[s].inputs, [&p](Index v) { return p.values[v].from.has_value(); }));
  std::priority_queue<Index, std::vector<Index>, std::greater<>> ready;
  for (Index s = 0; s < p.subgraphs.size(); ++s)
    if (waits[s] == 0) ready.push(s);
  Order out;
  out.reserve(p.subgraphs.size());
  while (!ready.empty()) {
    const Index s = ready.top();
    ready.pop();
    out.push_back(s);
    for (const Index v : p.subgraphs[s].outputs)
      for (const Index reader : p.values[v].to)
        if (--waits[reader] == 0) ready.push(reader);
  }
  return out;
}

std::vector<Index> places_of(const Order& order) {
  std::vector<Index> out(order.size());
  for (Index i = 0; i < order.size(); ++i) out[order[i]] = i;
  return out;
}

std::vector<Group> groups(const Problem& p, const Order& order) {
  const std::vector<Index> place = places_of(order);
  std::vector<Group> out;
  // What needs a back of the group at hand, by subgraph: the group's number + 1.
  std::vector<std::size_t> needs(p.subgraphs.size());
  for (const Index front : order) {
    Group g{.front = front, .back = {}, .parallel = {}};
    for (const Index v : p.subgraphs[front].outputs)
      g.back.insert(g.back.end(), p.values[v].to.begin(), p.values[v].to.end());
    std::ranges::sort(g.back);
    g.back.erase(std::unique(g.back.begin(), g.back.end()), g.back.end());
    if (g.back.size() < 2) continue;
    const std::size_t mark = out.size() + 1;
    const auto [first, last] = std::ranges::minmax(g.back, {}, [&place](Index s) { return place[s]; });
    for (Index at = place[first]; at <= place[last]; ++at) {
      const Index s = order[at];
      const bool needs_back = std::ranges::any_of(p.subgraphs[s].inputs, [&](Index v) {
        return p.values[v].from && needs[*p.values[v].from] == mark;
      });
      const bool is_back = std::ranges::binary_search(g.back, s);
      if (is_back && !needs_back) g.parallel.push_back(s);
      if (is_back || needs_back) needs[s] = mark;
    }
    std::ranges::sort(g.parallel);
    out.push_back(std::move(g));
  }
  return out;
}

std::vector<Lifetime> lifetimes(const Problem& p, const Order& order) {
  const std::vector<Index> place = places_of(order);
  std::vector<Lifetime> out;
  out.reserve(p.values.size());
  for (const Value& v : p.values) {
    Lifetime life{.reference_count = v.to.size() + (v.network_output ? 1u : 0u)};
    if (v.from) life.first = place[*v.from];
    life.last = life.first;
    for (const Index reader : v.to) life.last = std::max<std::int64_t>(life.last, place[reader]);
    if (v.network_output) life.last = static_cast<std::int64_t>(order.size());
    out.push_back(life);
  }
  return out;
}

}  // namespace graphopt::schedule
