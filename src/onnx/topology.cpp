// See topology.h. Kahn's method: nodes whose operands are all made wait in a heap by their place in the file.
// Called for graphs only that are not sorted already, so nothing here is paid by a well-made file.
#include "onnx/topology.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <string>
#include <unordered_map>
#include <vector>

namespace graphopt {
namespace {

std::string shown_node(const Model& m, NodeId n) {
  const Node& node = m.node(n);
  if (node.name && node.name != kEmptyName) return quoted(m.text(node.name));
  return "#" + std::to_string(node.file_index);
}

// Follows operands backward among nodes that never became ready, until one comes up again.
void report_cycle(const Model& m, GraphId g, const std::vector<NodeId>& nodes,
                  const std::vector<std::vector<std::uint32_t>>& reads,
                  const std::vector<std::uint32_t>& waits_for, Problems& problems) {
  std::vector<std::uint32_t> seen_at(nodes.size(), 0), path;
  std::uint32_t at = 0;
  while (waits_for[at] == 0) ++at;
  while (seen_at[at] == 0) {
    path.push_back(at);
    seen_at[at] = static_cast<std::uint32_t>(path.size());
    for (const std::uint32_t before : reads[at])
      if (waits_for[before] != 0) {
        at = before;
        break;
      }
  }
  std::vector<std::uint32_t> cycle(path.begin() + (seen_at[at] - 1), path.end());
  std::ranges::reverse(cycle);  // now from a node to one that reads it
  std::ranges::rotate(cycle, std::ranges::min_element(cycle));
  std::string text;
  constexpr std::size_t kShown = 6;
  for (std::size_t i = 0; i < std::min(cycle.size(), kShown); ++i)
    text += shown_node(m, nodes[cycle[i]]) + " -> ";
  if (cycle.size() > kShown) text += "... (" + std::to_string(cycle.size()) + " nodes) -> ";
  text += shown_node(m, nodes[cycle.front()]);
  Place place = place_of(m, nodes[cycle.front()]);
  place.file = problems.file();
  (void)g;
  problems.add(std::move(place), "nodes need each other's results in a circle: " + text,
               "break the circle: an ONNX graph has no cycles");
}

}  // namespace

bool sort_nodes(Model& m, GraphId g, Problems& problems) {
  std::vector<NodeId> nodes;
  std::unordered_map<NodeId, std::uint32_t> index;
  for (NodeId n = m.first_node(g); n; n = m.next_node(n)) {
    index.emplace(n, static_cast<std::uint32_t>(nodes.size()));
    nodes.push_back(n);
  }
  std::vector<std::vector<std::uint32_t>> reads(nodes.size()), read_by(nodes.size());
  std::vector<std::uint32_t> waits_for(nodes.size(), 0);
  for (std::uint32_t i = 0; i < nodes.size(); ++i)
    for (const ValueId v : m.outputs(nodes[i])) {
      if (!v) continue;
      for (UseId u = m.first_use(v); u; u = m.next_use(u)) {
        const NodeId user = m.ancestor_in(g, m.user(u));
        if (!user || m.is_return(user)) continue;
        const std::uint32_t k = index.at(user);
        read_by[i].push_back(k);
        reads[k].push_back(i);
        ++waits_for[k];
      }
    }
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready;
  for (std::uint32_t i = 0; i < nodes.size(); ++i)
    if (waits_for[i] == 0) ready.push(i);
  std::vector<NodeId> order;
  while (!ready.empty()) {
    const std::uint32_t i = ready.top();
    ready.pop();
    order.push_back(nodes[i]);
    for (const std::uint32_t k : read_by[i])
      if (--waits_for[k] == 0) ready.push(k);
  }
  if (order.size() < nodes.size()) {
    for (std::vector<std::uint32_t>& r : reads) std::ranges::sort(r);
    report_cycle(m, g, nodes, reads, waits_for, problems);
    return false;
  }
  for (const NodeId n : order) m.move_before(n, {});
  return true;
}

void check_function_calls(const Model& m, Problems& problems) {
  // The function that a graph belongs to, through any nesting: parents have smaller ids than their subgraphs.
  std::vector<FunctionId> owner(m.graph_count());
  for (std::uint32_t g = 0; g < m.graph_count(); ++g) {
    const Graph& graph = m.graph(GraphId{g});
    owner[g] = graph.parent ? owner[graph.parent.index()] : graph.function;
  }
  struct Call {
    FunctionId callee;
    NodeId node;
  };
  std::vector<std::vector<Call>> calls(m.function_count());
  for (std::uint32_t i = 0; i < m.node_count(); ++i) {
    const NodeId n{i};
    if (m.is_return(n) || !m.alive(n)) continue;
    const FunctionId callee = m.op(n).function;
    const FunctionId caller = owner[m.node(n).graph.index()];
    if (callee && caller) calls[caller.index()].push_back({callee, n});
  }
  enum : std::uint8_t { New, Open, Done };
  std::vector<std::uint8_t> state(m.function_count(), New);
  struct Frame {
    std::uint32_t function;
    std::size_t next;
  };
  for (std::uint32_t root = 0; root < m.function_count(); ++root) {
    if (state[root] != New) continue;
    std::vector<Frame> stack{{root, 0}};
    state[root] = Open;
    while (!stack.empty()) {
      Frame& top = stack.back();
      if (top.next == calls[top.function].size()) {
        state[top.function] = Done;
        stack.pop_back();
        continue;
      }
      const Call call = calls[top.function][top.next++];
      const std::uint32_t callee = call.callee.index();
      if (state[callee] == New) {
        state[callee] = Open;
        stack.push_back({callee, 0});
      } else if (state[callee] == Open) {
        const Function& f = m.function(call.callee);
        const std::string name = std::string(m.text(f.domain)) + "::" + std::string(m.text(f.name));
        problems.add(place_of(m, call.node),
                     callee == top.function
                         ? "the function calls itself"
                         : "it calls " + quoted(name) +
                               ", which leads back to this call: functions call each other in a circle",
                     "ONNX functions cannot recur: use Loop, or remove the call");
      }
    }
  }
}

}  // namespace graphopt
