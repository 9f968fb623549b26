// Model: results that change their definition, and inlining a subgraph into the graph around it.

#include <cassert>
#include <utility>

#include "ir/model.h"
#include "ir/model_state.h"

namespace graphopt {

ValueId Model::detach_output(NodeId n, std::size_t slot) {
  assert(slot < nodes_[n.index()].output_count);
  ValueId& out = edit_slot(nodes_[n.index()].first_output + slot);
  const ValueId v = out;
  if (!v) return v;
  edit(v).def = {};
  edit(v).def_slot = 0;
  out = {};
  touch(n);
  tell([n](Listener& l) { l.node_changed(n); });
  return v;
}

void Model::attach_output(NodeId n, std::size_t slot, ValueId v) {
  assert(slot < nodes_[n.index()].output_count && !output_slots_[nodes_[n.index()].first_output + slot]);
  assert(alive(v) && !values_[v.index()].def && values_[v.index()].graph == nodes_[n.index()].graph);
  edit_slot(nodes_[n.index()].first_output + slot) = v;
  edit(v).def = n;
  edit(v).def_slot = static_cast<std::uint32_t>(slot);
  touch(n);
  tell([n](Listener& l) { l.node_changed(n); });
}

NameHolders Model::count_names() const {
  NameHolders holders{std::vector<std::uint32_t>(names.size()), std::vector<std::uint32_t>(names.size())};
  for (const Value& v : values_)
    if (v.alive && v.name) ++holders.values[v.name.index()];
  for (const Node& n : nodes_)
    if (n.alive && n.name) ++holders.nodes[n.name.index()];
  return holders;
}

void Model::inline_subgraph(GraphId g, NameHolders& holders) {
  assert(graphs_[g.index()].owner && graphs_[g.index()].inputs.empty());
  const NodeId owner = graphs_[g.index()].owner;
  const GraphId outer = graphs_[g.index()].parent;

  // Names were unique in the scope of g. In the outer graph they must differ from those of all other values
  // of the model, because a sibling's body may use the same name. (A count that is too high, since values
  // were erased after counting, costs a needless new name.)
  const auto move_value = [&](ValueId v) {
    edit(v).graph = outer;
    // Names of dims in it had the body as their scope: in the outer graph they would claim to be equal to
    // dims that happen to have the same name.
    if (values_[v.index()].info.data() != nullptr) edit(v).info_stale = true;
    const NameId name = values_[v.index()].name;
    if (name.index() >= holders.values.size() || holders.values[name.index()] < 2) return;
    --holders.values[name.index()];
    rename(v, fresh_name(text(name)));
  };
  // Runtimes refuse a graph with two nodes of the same name; in two graphs that is allowed.
  const auto name_node = [&](Node& n) {
    if (n.name == kEmptyName || !n.name || n.name.index() >= holders.nodes.size()) return;
    if (holders.nodes[n.name.index()] < 2) return;
    --holders.nodes[n.name.index()];
    n.name = fresh_name(text(n.name));
  };

  const std::vector<ValueId> moved = std::exchange(edit_initializers(g), {});
  for (const ValueId v : moved)
    if (values_[v.index()].alive) {
      move_value(v);
      edit(outer).initializers.push_back(v);
    }

  while (const NodeId n = graphs_[g.index()].first) {
    unlink_node(n);
    link_node(n, outer, owner);
    name_node(edit(n));
    touch(n);
    for (const ValueId v : outputs(n))
      if (v) move_value(v);
    for (const Attr& a : attrs(n))
      for (const GraphId inner : a.graphs) edit(inner).parent = outer;
    tell([n](Listener& l) { l.node_changed(n); });
  }
  mark_dirty(outer);
}

}  // namespace graphopt
