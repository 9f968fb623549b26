// How values, uses and nodes are linked: the list of uses of each value, and the list of nodes of each graph
// with keys by which "which is first" is a comparison. The mutators (mutate.cpp) keep them.
#include <cassert>

#include "ir/model.h"
#include "ir/model_state.h"
#include "support/order_keys.h"

namespace graphopt {

// --- use lists ---------------------------------------------------------------------------------------------

void Model::link_use(UseId u, ValueId v, std::size_t slot) {
  Use& use = edit(u);
  use.value = v;
  use.prev = use.next = {};
  if (!v) return;
  Value& val = edit(v);
  use.next = val.first_use;
  if (use.next) edit(use.next).prev = u;
  val.first_use = u;
  ++val.use_count;
  count_overwriting(u, slot, true);
}

void Model::unlink_use(UseId u, std::size_t slot) {
  Use& use = edit(u);
  if (!use.value) return;
  Value& val = edit(use.value);
  if (use.prev) edit(use.prev).next = use.next;
  else val.first_use = use.next;
  if (use.next) edit(use.next).prev = use.prev;
  --val.use_count;
  count_overwriting(u, slot, false);
  use.value = {};
  use.prev = use.next = {};
}

void Model::count_overwriting(UseId u, std::size_t slot, bool more) {
  const Use& use = uses_[u.index()];
  if (!overwrites_ || !use.value || slot >= 64) return;
  if ((nodes_[use.user.index()].overwrites >> slot & 1) == 0) return;
  std::uint32_t& count = edit_overwriting(use.value);
  if (more) ++count;
  else --count;
}

UseId Model::make_uses(NodeId n, std::span<const ValueId> operands) {
  const UseId first{uses_.size()};
  for (std::size_t i = 0; i < operands.size(); ++i) {
    uses_.push_back(Use{{}, n, {}, {}});
    link_use(UseId{first.index() + i}, operands[i], i);
  }
  return first;
}

// --- order -------------------------------------------------------------------------------------------------

void Model::renumber(NodeId n) {
  spread_keys(
      n, [this](NodeId m) { return nodes_[m.index()].prev; },
      [this](NodeId m) { return nodes_[m.index()].next; },
      [this](NodeId m) -> std::uint64_t& { return edit(m).order; });
}

void Model::link_node(NodeId n, GraphId g, NodeId before) {
  Graph& graph = edit(g);
  Node& node = edit(n);
  node.graph = g;
  node.next = before;
  node.prev = before ? nodes_[before.index()].prev : graph.last;
  (node.prev ? edit(node.prev).next : graph.first) = n;
  (before ? edit(before).prev : graph.last) = n;
  ++graph.node_count;
  ++live_nodes_;
  ++live_of_kind_[static_cast<std::size_t>(node.kind)];
  const std::uint64_t low = node.prev ? nodes_[node.prev.index()].order : 0;
  if (!before) {
    node.order = low + kKeyGap;
    return;
  }
  node.order = key_between(low, nodes_[before.index()].order);
  if (node.order == low) renumber(n);
}

void Model::unlink_node(NodeId n) {
  Node& node = edit(n);
  Graph& graph = edit(node.graph);
  (node.prev ? edit(node.prev).next : graph.first) = node.next;
  (node.next ? edit(node.next).prev : graph.last) = node.prev;
  node.prev = node.next = {};
  --graph.node_count;
  --live_nodes_;
  --live_of_kind_[static_cast<std::size_t>(node.kind)];
}

void Model::move_before(NodeId n, NodeId before) {
  const GraphId g = nodes_[n.index()].graph;
  assert(n != before && (!before || nodes_[before.index()].graph == g));
  unlink_node(n);
  link_node(n, g, before);
  mark_dirty(g);
}

}  // namespace graphopt
