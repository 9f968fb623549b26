// Whether a problem is well-formed.

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>

#include "partition/problem.h"

namespace graphopt::partition {
namespace {

Error wrong(std::string what) {
  return {ErrorKind::Internal, {}, "the partitioning problem is ill-formed: " + std::move(what), ""};
}

// Returns what is wrong with lists of ids below `limit`; empty if nothing is.
std::string beyond(const Rows& rows, std::size_t limit, const char* row_name, const char* item_name) {
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (const Index item : rows[i])
      if (item >= limit) return fmt::format("{} {} names {} {} of {}", row_name, i, item_name, item, limit);
  return {};
}

std::string lengths(const Problem& p) {
  const std::size_t n = p.node_count();
  const auto differ = [](const char* name, std::size_t is, std::size_t should) {
    return is == should ? std::string() : fmt::format("{} {} instead of {}", is, name, should);
  };
  if (p.devices.empty()) return "no device";
  if (n >= kNone) return fmt::format("{} nodes", n);
  for (const std::string& text :
       {differ("lists of producers", p.producers.size(), n),
        differ("sets of devices", p.support_of.size(), n),
        differ("lists of readers", p.readers.size(), p.values.size()),
        differ("times", p.node_ns.size(), p.node_ns.empty() ? 0 : n * p.devices.size()),
        differ("lists of weights", p.weights.size(), p.weights.size() == 0 ? 0 : n)})
    if (!text.empty()) return text;
  return {};
}

std::string names(const Problem& p) {
  const std::size_t n = p.node_count();
  std::vector<std::uint8_t> taken(n);
  for (Index i = 0; i < n; ++i) {
    if (p.rank[i] >= n || taken[p.rank[i]] != 0) return fmt::format("rank {} of node {}", p.rank[i], i);
    taken[p.rank[i]] = 1;
    if (p.support_of[i] >= p.supports.size()) return fmt::format("set of devices of node {}", i);
  }
  for (const std::string& text :
       {beyond(p.producers, n, "node", "node"), beyond(p.readers, n, "value", "node"),
        beyond(p.weights, p.weight_bytes.size(), "node", "weight"),
        beyond(p.supports, p.devices.size(), "set", "device")})
    if (!text.empty()) return text;
  for (std::size_t s = 0; s < p.supports.size(); ++s)
    if (std::ranges::adjacent_find(p.supports[s], std::greater_equal<>()) != p.supports[s].end())
      return fmt::format("the devices of set {} do not ascend", s);
  for (std::size_t g = 0; g < p.groups.size(); ++g) {
    if (p.groups[g].nodes.empty()) return fmt::format("group {} is empty", g);
    for (const Index i : p.groups[g].nodes)
      if (i >= n) return fmt::format("group {} names node {} of {}", g, i, n);
  }
  for (std::size_t v = 0; v < p.values.size(); ++v) {
    const Index producer = p.values[v].producer;
    if (producer != kNone && producer >= n)
      return fmt::format("value {} names node {} of {}", v, producer, n);
  }
  return {};
}

bool has_cycle(const Problem& p) {
  const std::size_t n = p.node_count();
  std::vector<Index> waiting(n), first(n + 1), consumers(p.producers.item_count()), stack;
  for (Index i = 0; i < n; ++i)
    for (const Index q : p.producers[i]) ++first[q + 1];
  for (std::size_t i = 0; i < n; ++i) first[i + 1] += first[i];
  std::vector<Index> at(first.begin(), first.end() - 1);
  for (Index i = 0; i < n; ++i) {
    waiting[i] = static_cast<Index>(p.producers[i].size());
    if (waiting[i] == 0) stack.push_back(i);
    for (const Index q : p.producers[i]) consumers[at[q]++] = i;
  }
  std::size_t done = 0;
  while (!stack.empty()) {
    const Index i = stack.back();
    stack.pop_back();
    ++done;
    for (Index e = first[i]; e < first[i + 1]; ++e)
      if (--waiting[consumers[e]] == 0) stack.push_back(consumers[e]);
  }
  return done != n;
}

}  // namespace

Status check(const Problem& problem) {
  if (std::string what = lengths(problem); !what.empty()) return wrong(std::move(what));
  if (std::string what = names(problem); !what.empty()) return wrong(std::move(what));
  if (has_cycle(problem)) return wrong("the nodes form a cycle");
  return Done{};
}

}  // namespace graphopt::partition
