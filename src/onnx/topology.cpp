// See topology.h. Called only for graphs that are not sorted already, so a sorted file costs nothing here.
#include "onnx/topology.h"

#include <algorithm>
#include <string>
#include <vector>

#include "ir/node_names.h"
#include "ir/topological_order.h"
#include "support/quote_name.h"

namespace graphopt {
namespace {

std::string shown_node(const Model& m, NodeId n) {
  const Node& node = m.node(n);
  if (has_name(m, n)) return quote_name(m.text(node.name));
  return "#" + std::to_string(node.file_index);
}

// Follows operands backward among the nodes of cycles until a node occurs twice.
void report_cycle(const Model& m, const NodeOrder& order, Problems& problems) {
  std::vector<std::uint32_t> maker(order.nodes.size()), seen_at(order.nodes.size(), 0), path;
  for (auto it = order.reads.rbegin(); it != order.reads.rend(); ++it)  // the first operand of a node remains
    if (order.waits_for[it->first] != 0) maker[it->second] = it->first;
  std::uint32_t at = 0;
  while (order.waits_for[at] == 0) ++at;
  while (seen_at[at] == 0) {
    path.push_back(at);
    seen_at[at] = static_cast<std::uint32_t>(path.size());
    at = maker[at];
  }
  std::vector<std::uint32_t> cycle(path.begin() + (seen_at[at] - 1), path.end());
  std::ranges::reverse(cycle);  // now each node is read by the next one
  std::ranges::rotate(cycle, std::ranges::min_element(cycle));
  std::string text;
  constexpr std::size_t kShown = 6;
  for (std::size_t i = 0; i < std::min(cycle.size(), kShown); ++i)
    text += shown_node(m, order.nodes[cycle[i]]) + " -> ";
  if (cycle.size() > kShown) text += "... (" + std::to_string(cycle.size()) + " nodes) -> ";
  text += shown_node(m, order.nodes[cycle.front()]);
  Place place = place_of(m, order.nodes[cycle.front()]);
  place.file = problems.file();
  problems.add(std::move(place), "nodes need each other's results in a circle: " + text,
               "break the circle: an ONNX graph has no cycles");
}

}  // namespace

bool sort_nodes(Model& m, GraphId g, Problems& problems) {
  const NodeOrder order = topological_order(m, g);
  if (order.sorted.size() < order.nodes.size()) {
    report_cycle(m, order, problems);
    return false;
  }
  put_in_order(m, order);
  return true;
}

void check_function_calls(const Model& m, Problems& problems) {
  // Returns the function that a graph belongs to, through any nesting: parents have smaller ids than their
  // subgraphs.
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
    if (m.is_return(n) || !m.alive(n) || m.kind(n) != OpKind::FunctionCall) continue;
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
                         : "it calls " + quote_name(name) +
                               ", which leads back to this call: functions call each other in a circle",
                     "ONNX functions cannot recur: use Loop, or remove the call");
      }
    }
  }
}

}  // namespace graphopt
