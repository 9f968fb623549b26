#include "infer/failing_node.h"

#include <algorithm>
#include <vector>

#include "infer/refused_nodes.h"

namespace graphopt {
namespace {

// Returns which nodes of the main graph an output depends on; what a body reads counts as such.
std::vector<bool> live_nodes(const Model& m) {
  std::vector<bool> live(m.node_count(), false);
  const auto is_read = [&](ValueId v) {
    for (UseId u = v ? m.first_use(v) : UseId{}; u; u = m.next_use(u)) {
      const NodeId user = m.user(u);
      if (m.is_return(user) || m.node(user).graph != m.main() || live[user.index()]) return true;
    }
    return false;
  };
  for (NodeId n = m.graph(m.main()).last; n; n = m.prev_node(n))
    live[n.index()] = std::ranges::any_of(m.outputs(n), is_read);
  return live;
}

}  // namespace

NodeId failing_node(Model& m, const Inference& infer) {
  const LoadQuestion question{.stated = {}, .whole = true, .can_hide = [](NodeId, ValueId) { return false; }};
  const std::vector<RefusedNode> refused = refused_at_load(m, infer, question);
  const std::vector<bool> live = live_nodes(m);
  for (const RefusedNode& n : refused)
    if (n.fails && live[n.node.index()]) return n.node;
  return {};
}

}  // namespace graphopt
