#include "partition/levels.h"

#include <algorithm>
#include <ranges>
#include <utility>

namespace graphopt::partition {

std::vector<Index> switch_levels(const UnitGraph& graph, bool backward) {
  std::vector<Index> level(graph.size());
  const auto visit = [&](Index u, std::span<const Index> before) {
    for (const Index p : before)
      level[u] = std::max(level[u], level[p] + (graph.color[p] != graph.color[u] ? 1 : 0));
  };
  if (backward)
    for (const Index u : std::views::reverse(graph.order)) visit(u, graph.consumers[u]);
  else
    for (const Index u : graph.order) visit(u, graph.producers[u]);
  return level;
}

LowerBound lower_bound(const UnitGraph& graph) {
  LowerBound out;
  std::vector<Index> runs(graph.size());
  for (const Index device : used_devices(graph)) {
    Index most = 0;
    for (const Index u : graph.order) {
      const bool mine = graph.color[u] == device;
      runs[u] = mine ? 1 : 0;
      for (const Index p : graph.producers[u])
        runs[u] = std::max(runs[u], runs[p] + (mine && graph.color[p] != device ? 1 : 0));
      most = std::max(most, runs[u]);
    }
    out.all += most;
    out.accelerator += device != graph.host ? most : 0;
  }
  for (const Index level : switch_levels(graph, false)) out.all = std::max(out.all, level + 1);
  return out;
}

std::vector<Index> used_devices(const UnitGraph& graph) {
  std::vector<std::uint8_t> used(std::size_t{graph.host} + 1);
  for (const Index c : graph.color) used[c] = 1;
  std::vector<Index> out;
  for (Index d = 0; d < used.size(); ++d)
    if (used[d] != 0) out.push_back(d);
  return out;
}

Labels level_classes(const UnitGraph& graph, const std::vector<Index>& levels) {
  Index top = 0;
  for (const Index l : levels) top = std::max(top, l);
  // Devices in use are numbered anew, so that labels stay below levels times used devices.
  const std::vector<Index> used = used_devices(graph);
  std::vector<Index> number(std::size_t{graph.host} + 1);
  for (Index d = 0; d < used.size(); ++d) number[used[d]] = d;
  std::vector<std::vector<Index>> label(used.size(), std::vector<Index>(std::size_t{top} + 1, kNone));
  Labels out(graph.size());
  Index count = 0;
  for (Index u = 0; u < graph.size(); ++u) {
    Index& l = label[number[graph.color[u]]][levels[u]];
    if (l == kNone) l = count++;
    out[u] = l;
  }
  return out;
}

Labels components(const UnitGraph& graph, const Labels& classes) {
  Labels out(graph.size(), kNone);
  std::vector<Index> stack;
  Index count = 0;
  for (Index root = 0; root < graph.size(); ++root) {
    if (out[root] != kNone) continue;
    out[root] = count;
    stack.push_back(root);
    while (!stack.empty()) {
      const Index u = stack.back();
      stack.pop_back();
      const auto reach = [&](std::span<const Index> next) {
        for (const Index v : next) {
          if (out[v] != kNone || classes[v] != classes[u]) continue;
          out[v] = count;
          stack.push_back(v);
        }
      };
      reach(graph.consumers[u]);
      reach(graph.producers[u]);
    }
    ++count;
  }
  return out;
}

namespace {

void leave_out_empty(Blocks& blocks) {
  std::vector<Index> number(blocks.color.size());
  for (const Index b : blocks.of) number[b] = 1;
  Index count = 0;
  for (Index b = 0; b < number.size(); ++b) {
    if (number[b] == 0) continue;
    blocks.color[count] = blocks.color[b];
    number[b] = count++;
  }
  blocks.color.resize(count);
  for (Index& b : blocks.of) b = number[b];
}

}  // namespace

Blocks alternating_blocks(const UnitGraph& graph, Index first) {
  Blocks out;
  out.of.resize(graph.size());
  Index other = first, last = 0;
  for (const Index u : graph.order) {
    Index& at = out.of[u];
    if (graph.color[u] != first) other = graph.color[u], at = 1;
    for (const Index p : graph.producers[u])
      at = std::max(at, out.of[p] + (graph.color[p] != graph.color[u] ? 1 : 0));
    last = std::max(last, at);
  }
  for (Index b = 0; b <= last && graph.size() > 0; ++b) out.color.push_back(b % 2 == 0 ? first : other);
  leave_out_empty(out);
  return out;
}

Blocks settle(const UnitGraph& graph, Blocks blocks) {
  std::vector<Index>& at = blocks.of;
  std::vector<std::vector<Index>> of_color(std::size_t{graph.host} + 1);
  for (Index b = 0; b < blocks.color.size(); ++b) of_color[blocks.color[b]].push_back(b);
  std::vector<Index> near;
  for (const Index u : std::views::reverse(graph.by_depth)) {
    const Index color = graph.color[u];
    Index low = 0, high = at[u];
    for (const Index p : graph.producers[u]) low = std::max(low, at[p] + (graph.color[p] != color ? 1 : 0));
    bool read = false;
    for (const Index c : graph.consumers[u]) {
      const Index b = at[c] - (graph.color[c] != color ? 1 : 0);
      high = read ? std::min(high, b) : b;
      read = true;
    }
    // A block of the device; only blocks of neighbours save anything, and the first possible one is as good
    // as any other without neighbours.
    const std::vector<Index>& mine = of_color[color];
    Index best = *std::ranges::lower_bound(mine, low);
    if (low == high || best > high) continue;
    near.clear();
    const auto note = [&](Index neighbour) {
      const Index b = at[neighbour];
      if (b >= low && b <= high && blocks.color[b] == color) near.push_back(b);
    };
    for (const Index p : graph.producers[u]) note(p);
    for (const Index c : graph.consumers[u]) note(c);
    std::ranges::sort(near);
    std::size_t most = 0;
    for (std::size_t i = 0, j = 0; i < near.size(); i = j) {
      while (j < near.size() && near[j] == near[i]) ++j;
      if (j - i > most) most = j - i, best = near[i];
    }
    at[u] = best;
  }
  leave_out_empty(blocks);
  return blocks;
}

}  // namespace graphopt::partition
