#include "partition/finish.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "partition/group_order.h"
#include "partition/levels.h"

namespace graphopt::partition {
namespace {

// Edges of the longest path that ends in each node.
std::vector<Index> node_depths(const Problem& problem) {
  const std::size_t n = problem.node_count();
  std::vector<Index> first(n + 1), waiting(n), depth(n), stack;
  for (Index i = 0; i < n; ++i) {
    waiting[i] = static_cast<Index>(problem.producers[i].size());
    if (waiting[i] == 0) stack.push_back(i);
    for (const Index p : problem.producers[i]) ++first[p + 1];
  }
  std::partial_sum(first.begin(), first.end(), first.begin());
  std::vector<Index> at(first.begin(), first.end() - 1), consumers(problem.producers.item_count());
  for (Index i = 0; i < n; ++i)
    for (const Index p : problem.producers[i]) consumers[at[p]++] = i;
  while (!stack.empty()) {
    const Index i = stack.back();
    stack.pop_back();
    for (Index e = first[i]; e < first[i + 1]; ++e) {
      const Index c = consumers[e];
      depth[c] = std::max(depth[c], depth[i] + 1);
      if (--waiting[c] == 0) stack.push_back(c);
    }
  }
  return depth;
}

void add_edges(const UnitGraph& graph, const Labels& labels, Partition& out) {
  const std::size_t groups = out.devices.size();
  std::vector<Index> first(groups + 1), units(labels.size()), seen(groups, kNone), row;
  for (const Index g : labels) ++first[g + 1];
  std::partial_sum(first.begin(), first.end(), first.begin());
  std::vector<Index> at(first.begin(), first.end() - 1);
  for (Index u = 0; u < labels.size(); ++u) units[at[labels[u]]++] = u;
  for (Index g = 0; g < groups; ++g) {
    row.clear();
    Index stage = 0;
    for (Index i = first[g]; i < first[g + 1]; ++i)
      for (const Index p : graph.producers[units[i]]) {
        const Index from = labels[p];
        if (from == g || seen[from] == g) continue;
        seen[from] = g;
        row.push_back(from);
        stage = std::max(stage, out.stages[from] + 1);
      }
    std::ranges::sort(row);
    out.depends.add_row(row);
    out.stages.push_back(stage);
  }
}

}  // namespace

std::vector<Index> execution_order(const Problem& problem, const UnitGraph& graph) {
  const std::size_t n = problem.node_count();
  std::vector<Index> out(n);
  if (graph.size() == n) {
    for (Index i = 0; i < n; ++i) out[i] = graph.members[graph.by_depth[i]][0];
    return out;
  }
  const std::vector<Index> depth = node_depths(problem);
  std::vector<Index> by_rank(n);
  for (Index i = 0; i < n; ++i) by_rank[problem.rank[i]] = i;
  Index deepest = 0;
  for (const Index d : depth) deepest = std::max(deepest, d);
  std::vector<Index> at(std::size_t{deepest} + 2);
  for (const Index d : depth) ++at[d + 1];
  std::partial_sum(at.begin(), at.end(), at.begin());
  for (const Index node : by_rank) out[at[depth[node]]++] = node;
  return out;
}

Partition finish(const Problem& problem, const UnitGraph& graph, const Labels& labels) {
  const Labels ordered = in_order(graph, labels);
  Index groups = 0;
  for (const Index g : ordered) groups = std::max(groups, g + 1);
  Partition out;
  out.devices.resize(groups);
  for (Index u = 0; u < ordered.size(); ++u) out.devices[ordered[u]] = graph.color[u];

  const std::size_t n = problem.node_count();
  out.subgraph_of.resize(n);
  std::vector<Index> first(std::size_t{groups} + 1), nodes(n);
  for (Index i = 0; i < n; ++i) {
    out.subgraph_of[i] = ordered[graph.unit_of[i]];
    ++first[out.subgraph_of[i] + 1];
  }
  std::partial_sum(first.begin(), first.end(), first.begin());
  std::vector<Index> at(first.begin(), first.end() - 1);
  for (const Index node : execution_order(problem, graph)) nodes[at[out.subgraph_of[node]]++] = node;
  out.nodes = Rows(std::move(first), std::move(nodes));
  add_edges(graph, ordered, out);

  const Score s = score(graph, ordered);
  out.accelerator_count = s.accelerators;
  out.border_bytes = s.border_bytes;
  out.border_values = s.transfers;
  out.bound = lower_bound(graph);
  return out;
}

}  // namespace graphopt::partition
