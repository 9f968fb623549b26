#include "ir/topological_order.h"

#include <functional>
#include <queue>
#include <unordered_map>

namespace graphopt {

NodeOrder topological_order(const Model& m, GraphId g) {
  NodeOrder out;
  std::unordered_map<NodeId, std::uint32_t> index;  // a map, not an array: a model may have many small graphs
  index.reserve(m.graph(g).node_count);
  for (NodeId n = m.first_node(g); n; n = m.next_node(n)) {
    index.emplace(n, static_cast<std::uint32_t>(out.nodes.size()));
    out.nodes.push_back(n);
  }
  const std::size_t count = out.nodes.size();
  out.waits_for.resize(count);
  std::vector<std::size_t> first_read(count + 1);
  for (std::uint32_t i = 0; i < count; ++i) {
    first_read[i] = out.reads.size();
    for (const ValueId v : m.outputs(out.nodes[i]))
      for (UseId u = v ? m.first_use(v) : UseId{}; u; u = m.next_use(u)) {
        const NodeId user = m.ancestor_in(g, m.user(u));
        if (!user || m.is_return(user)) continue;
        const std::uint32_t reader = index.at(user);
        out.reads.emplace_back(i, reader);
        ++out.waits_for[reader];
      }
  }
  first_read[count] = out.reads.size();
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready;
  for (std::uint32_t i = 0; i < count; ++i)
    if (out.waits_for[i] == 0) ready.push(i);
  while (!ready.empty()) {
    const std::uint32_t i = ready.top();
    ready.pop();
    out.sorted.push_back(i);
    for (std::size_t k = first_read[i]; k < first_read[i + 1]; ++k)
      if (--out.waits_for[out.reads[k].second] == 0) ready.push(out.reads[k].second);
  }
  return out;
}

void put_in_order(Model& m, const NodeOrder& order) {
  std::size_t k = 0;
  while (k < order.sorted.size() && order.sorted[k] == k) ++k;  // these already stand at their final position
  for (; k < order.sorted.size(); ++k) m.move_before(order.nodes[order.sorted[k]], {});
}

}  // namespace graphopt
