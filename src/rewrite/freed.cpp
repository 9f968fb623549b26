// Each read that goes is counted at its value. A value with as many gone reads as uses is needed by nothing:
// a constant is then freed, and a node with no other results is dead, so that its own reads go. Ends: a node
// dies once. Exact up to the limit, which keeps one question from walking a whole model.
#include "rewrite/freed.h"

#include <algorithm>
#include <cstddef>
#include <unordered_map>
#include <vector>

#include "ops/constants.h"
#include "rewrite/dead.h"

namespace graphopt {
namespace {

constexpr std::size_t kMostDead = 64;

// Appends the values that a node reads, in its bodies too, once for each read.
void append_reads(const Model& m, NodeId root, std::vector<ValueId>& reads) {
  std::vector<NodeId> nodes{root};
  while (!nodes.empty()) {
    const NodeId n = nodes.back();
    nodes.pop_back();
    for (std::size_t i = 0; i < m.input_count(n); ++i)
      if (m.input(n, i)) reads.push_back(m.input(n, i));
    for (const Attr& a : m.attrs(n))
      for (const GraphId g : a.graphs) {
        for (NodeId inner = m.first_node(g); inner; inner = m.next_node(inner)) nodes.push_back(inner);
        nodes.push_back(m.graph(g).ret);
      }
  }
}

}  // namespace

std::uint64_t bytes_freed(const Model& m, GraphId g, std::span<const ValueId> given) {
  std::vector<ValueId> reads(given.begin(), given.end());
  std::unordered_map<ValueId, std::uint32_t> gone;
  const auto is_free = [&](ValueId v) {
    if (m.value(v).pinned) return false;
    const auto found = gone.find(v);
    return m.use_count(v) == (found == gone.end() ? 0 : found->second);
  };
  std::uint64_t bytes = 0;
  std::size_t dead = 0;
  for (std::size_t i = 0; i < reads.size(); ++i) {
    const ValueId v = reads[i];
    ++gone[v];
    if (!is_free(v)) continue;
    if (const TensorId t = m.constant_of(v)) {
      bytes += bytes_of(m, t);
      continue;
    }
    const NodeId def = m.value(v).def;
    if (!def || m.node(def).graph != g || dead >= kMostDead || !removable(m, def)) continue;
    if (!std::ranges::all_of(m.outputs(def), [&](ValueId y) { return !y || is_free(y); })) continue;
    ++dead;
    append_reads(m, def, reads);
  }
  return bytes;
}

std::uint64_t bytes_freed_with(const Model& m, NodeId n) {
  std::vector<ValueId> reads;
  append_reads(m, n, reads);
  return bytes_freed(m, m.node(n).graph, reads);
}

}  // namespace graphopt
