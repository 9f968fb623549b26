#include "partition/cost.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace graphopt::partition {
namespace {

__extension__ typedef unsigned __int128 Wide;

// Times above this count as this (some five minutes), so that no sum of times overflows.
constexpr std::uint64_t kMaxTime = std::uint64_t{1} << 38;

std::int64_t time(std::uint64_t ns) { return static_cast<std::int64_t>(std::min(ns, kMaxTime)); }

std::int64_t leg(std::uint64_t latency_ns, std::uint64_t bytes_per_s, std::uint64_t bytes) {
  if (bytes_per_s == 0) return time(latency_ns);
  const Wide ns = Wide{std::min(bytes, kMaxBytes)} * 1'000'000'000u / bytes_per_s;
  return time(latency_ns) + time(ns > kMaxTime ? kMaxTime : static_cast<std::uint64_t>(ns));
}

}  // namespace

CostModel::CostModel(const Problem& problem, const UnitGraph& graph)
    : problem_(problem), graph_(graph), devices_(problem.devices.size()) {
  for (Index d = 0; d < graph.host; ++d) known_ = known_ || known(d);
  if (problem.node_ns.empty()) return;
  unit_ns_.resize(graph.size() * devices_);
  for (Index u = 0; u < graph.size(); ++u)
    for (const Index node : graph.members[u])
      for (std::size_t d = 0; d < devices_; ++d)
        unit_ns_[u * devices_ + d] += time(problem.node_ns[node * devices_ + d]);
}

std::int64_t CostModel::launch(Index device) const {
  const auto& cost = problem_.devices[device].cost;
  return cost ? time(cost->launch_ns) : 0;
}

std::int64_t CostModel::transfer(Index from, Index to, std::uint64_t bytes) const {
  std::int64_t out = 0;
  if (const auto& cost = problem_.devices[from].cost; from != graph_.host && cost)
    out += leg(cost->latency_ns, cost->from_bytes_per_s, bytes);
  if (const auto& cost = problem_.devices[to].cost; to != graph_.host && cost)
    out += leg(cost->latency_ns, cost->to_bytes_per_s, bytes);
  return out;
}

namespace {

// Calls visit(value, home, to) for each transfer: a value that a group `to` reads and another one makes,
// once.
template <class Visit>
void for_each_transfer(const UnitGraph& graph, const Labels& labels, std::size_t groups, Visit visit) {
  std::vector<Index> seen(groups, kNone);
  for (Index v = 0; v < graph.value_producer.size(); ++v) {
    const Index home = labels[graph.value_producer[v]];
    for (const Index reader : graph.value_readers[v]) {
      const Index to = labels[reader];
      if (to == home || seen[to] == v) continue;
      seen[to] = v;
      visit(v, home, to);
    }
  }
}

}  // namespace

std::int64_t CostModel::total(const Labels& labels) const {
  std::int64_t out = 0;
  std::vector<Index> color;
  for (Index u = 0; u < labels.size(); ++u) {
    if (labels[u] >= color.size()) color.resize(std::size_t{labels[u]} + 1, kNone);
    if (color[labels[u]] == kNone) out += launch(graph_.color[u]);
    color[labels[u]] = graph_.color[u];
    out += unit_time(u, graph_.color[u]);
  }
  for_each_transfer(graph_, labels, color.size(), [&](Index v, Index home, Index to) {
    out += transfer(color[home], color[to], graph_.value_bytes[v]);
  });
  return out;
}

MoveEstimates::MoveEstimates(const CostModel& model, const Labels& labels)
    : model_(model), graph_(model.graph_) {
  Index groups = 0;
  for (const Index l : labels) groups = std::max(groups, l + 1);
  std::vector<Index> first(std::size_t{groups} + 1), items(labels.size());
  for (const Index l : labels) ++first[l + 1];
  std::partial_sum(first.begin(), first.end(), first.begin());
  std::vector<Index> at(first.begin(), first.end() - 1);
  for (Index u = 0; u < labels.size(); ++u) items[at[labels[u]]++] = u;
  members_ = Rows(std::move(first), std::move(items));

  borders_.resize(groups);
  neighbours_.resize(groups);
  for_each_transfer(graph_, labels, groups, [this](Index v, Index home, Index to) {
    borders_[home].push_back({graph_.value_bytes[v], to, false});
    borders_[to].push_back({graph_.value_bytes[v], home, true});
  });
  for (Index g = 0; g < groups; ++g) {
    for (const Border& b : borders_[g]) neighbours_[g].push_back(b.other);
    std::ranges::sort(neighbours_[g]);
    neighbours_[g].erase(std::unique(neighbours_[g].begin(), neighbours_[g].end()), neighbours_[g].end());
  }
}

std::vector<Index> MoveEstimates::targets(Index group) const {
  std::vector<Index> out, rest;
  Index last = kNone;
  for (const Index u : members_[group]) {
    if (graph_.set_of[u] == last) continue;
    const std::span<const Index> set = graph_.sets[graph_.set_of[u]];
    if (last == kNone) {
      out.assign(set.begin(), set.end());
    } else {
      rest.clear();
      std::ranges::set_intersection(out, set, std::back_inserter(rest));
      out.swap(rest);
    }
    last = graph_.set_of[u];
  }
  std::erase_if(out, [&](Index d) { return d <= color(group); });
  if (color(group) != graph_.host) out.push_back(graph_.host);
  return out;
}

std::int64_t MoveEstimates::saved(Index group, Index to) const {
  const Index from = color(group);
  std::int64_t out = model_.launch(from);
  for (const Index u : members_[group]) out += model_.unit_time(u, from) - model_.unit_time(u, to);
  bool merges = false;
  for (const Border& b : borders_[group]) {
    const Index other = color(b.other);
    out += b.in ? model_.transfer(other, from, b.bytes) : model_.transfer(from, other, b.bytes);
    if (other == to) merges = true;
    else out -= b.in ? model_.transfer(other, to, b.bytes) : model_.transfer(to, other, b.bytes);
  }
  return merges ? out : out - model_.launch(to);
}

Offer MoveEstimates::best_offer(Index group) const {
  Offer out{group, graph_.host, std::numeric_limits<std::int64_t>::min()};
  for (const Index to : targets(group))
    if (const std::int64_t ns = saved(group, to); ns > out.saved_ns) out = {group, to, ns};
  return out;
}

}  // namespace graphopt::partition
