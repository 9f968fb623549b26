// Model: the functions that change it. Use lists, order keys, dirty marks and listeners are maintained here
// and in links.cpp, and nowhere else.
//
// Preconditions that model.h documents are asserted: builds for debugging and those with sanitizers check
// them (CMakePresets.json), the released one does not. They are about callers: whatever a file says, the
// reader refuses it before it calls a function that relies on it.

#include <algorithm>
#include <cassert>
#include <string>

#include "ir/bodies.h"
#include "ir/model.h"
#include "ir/model_state.h"

namespace graphopt {

// --- dirty marks -------------------------------------------------------------------------------------------

void Model::mark_dirty(GraphId g) {
  while (g && !graphs_[g.index()].dirty) {
    Graph& graph = edit(g);
    graph.dirty = true;
    if (graph.owner) edit(graph.owner).dirty = true;
    g = graph.parent;
  }
}

void Model::touch(NodeId n) {
  if (!nodes_[n.index()].dirty) edit(n).dirty = true;
  mark_dirty(nodes_[n.index()].graph);
}

void Model::mark_clean() {
  for (Node& n : nodes_) n.dirty = false;
  for (Graph& g : graphs_) g.dirty = false;
}

// --- building ----------------------------------------------------------------------------------------------

OpId Model::intern_op(OpKind kind, std::string_view domain, std::string_view type, std::string_view overload,
                      FunctionId function) {
  const OpIndex::Key key{kind, names.intern(domain), names.intern(type), names.intern(overload)};
  const auto [it, fresh] = op_index_->ops.try_emplace(key, OpId{ops_.size()});
  if (fresh) ops_.push_back(Op{kind, key.domain, key.type, key.overload, function});
  return it->second;
}

GraphId Model::add_graph(NodeId owner, NameId attribute, std::uint32_t opsets) {
  const GraphId g{graphs_.size()};
  Graph graph;
  graph.owner = owner;
  graph.parent = owner ? nodes_[owner.index()].graph : GraphId{};
  graph.attribute = attribute;
  graph.opsets = opsets;
  graph.name = kEmptyName;
  graph.ret = NodeId{nodes_.size()};
  Node ret;
  ret.is_return = true;
  ret.graph = g;
  ret.order = ~std::uint64_t{0};  // after every node of its graph
  ret.name = kEmptyName;
  if (ops_.empty()) intern_op(OpKind::Opaque, "", "");
  ret.op = OpId{std::uint32_t{0}};
  ret.first_use = UseId{uses_.size()};
  nodes_.push_back(ret);
  graphs_.push_back(std::move(graph));
  return g;
}

FunctionId Model::add_function(Function f) {
  functions_.push_back(std::move(f));
  return FunctionId{functions_.size() - 1};
}

GraphId Model::define_function(FunctionId id, Function f, OpsetTable imports) {
  if (id.index() == functions_.size()) add_function({});
  opset_tables.push_back(std::move(imports));
  f.body = add_graph({}, {}, static_cast<std::uint32_t>(opset_tables.size() - 1));
  graphs_[f.body.index()].function = id;
  functions_[id.index()] = std::move(f);
  return functions_[id.index()].body;
}

void Model::erase_function(FunctionId f) {
  const GraphId body = functions_[f.index()].body;
  assert(graphs_[body.index()].alive);
  set_graph_outputs(body, {});
  while (const NodeId n = graphs_[body.index()].last) erase(n);
  for (const ValueId v : graphs_[body.index()].inputs) edit(v).alive = false;
  edit(graphs_[body.index()].ret).alive = false;
  edit(body).alive = false;
}

ValueId Model::add_value(GraphId g, NameId name) {
  Value v;
  v.name = name;
  v.graph = g;
  values_.push_back(v);
  return ValueId{values_.size() - 1};
}

ValueId Model::add_input(GraphId g, NameId name) {
  const ValueId v = add_value(g, name);
  values_.back().is_input = true;
  edit_inputs(g).push_back(v);
  mark_dirty(g);
  return v;
}

void Model::mark_initializer(ValueId v, TensorId t) {
  Value& val = edit(v);
  assert(val.alive && !val.def);
  val.tensor = t;  // none for a sparse initializer
  val.is_initializer = true;
  edit(val.graph).initializers.push_back(v);
  mark_dirty(val.graph);
}

bool Model::can_hold_constant(GraphId g, DType type) const {
  if (is_in_function(*this, g) ? graph(g).parent.valid() : ir_version >= 4) return true;  // as an initializer
  const std::int64_t version = opset(g, NameId{std::uint32_t{0}});
  return version >= 9 ||
         (version > 0 && (type == DType::Float || type == DType::Float16 || type == DType::Double));
}

ValueId Model::add_initializer(GraphId g, std::string_view base, TensorId t) {
  const ValueId v = add_value(g, fresh_name(base));
  mark_initializer(v, t);
  return v;
}

NodeId Model::add_node(GraphId g, OpId op, std::span<const ValueId> inputs, std::span<const ValueId> outputs,
                       NodeId before, std::string_view name) {
  const NodeId n{nodes_.size()};
  assert(!before || (nodes_[before.index()].alive && nodes_[before.index()].graph == g));
  Node node;
  node.op = op;
  node.kind = ops_[op.index()].kind;
  node.name = name.empty() ? kEmptyName : names.intern(name);
  node.first_output = static_cast<std::uint32_t>(output_slots_.size());
  node.output_count = static_cast<std::uint32_t>(outputs.size());
  node.first_attr = static_cast<std::uint32_t>(attrs_.size());
  node.input_count = static_cast<std::uint32_t>(inputs.size());
  nodes_.push_back(node);
  nodes_[n.index()].first_use = make_uses(n, inputs);
  for (std::uint32_t i = 0; i < outputs.size(); ++i) {
    output_slots_.push_back(outputs[i]);
    if (!outputs[i]) continue;
    Value& v = edit(outputs[i]);
    assert(v.alive && v.graph == g && !v.def && !v.is_input && !v.is_initializer);
    v.def = n;
    v.def_slot = i;
  }
  link_node(n, g, before);
  touch(n);
  if (!listeners_.empty()) {
    tell([n](Listener& l) { l.node_added(n); });
    for (const ValueId v : inputs)
      if (v) tell([v](Listener& l) { l.uses_changed(v); });
  }
  return n;
}

NodeId Model::add_node_as(NodeId like, GraphId g, std::span<const ValueId> inputs,
                          std::span<const ValueId> outputs, NodeId before) {
  assert(std::ranges::all_of(attrs(like), [](const Attr& a) { return a.graphs.empty(); }));
  const NodeId n = add_node(g, nodes_[like.index()].op, inputs, outputs, before);
  set_attrs(n, std::vector<Attr>(attrs(like).begin(), attrs(like).end()));  // a copy: the array may grow
  if (const std::uint64_t overwritten = nodes_[like.index()].overwrites) set_overwrites(n, overwritten);
  return n;
}

NodeId Model::add_node_like(GraphId g, OpId op, std::span<const ValueId> inputs, std::size_t n_outputs,
                            std::string_view base, NodeId before) {
  std::vector<ValueId> outs(n_outputs);
  for (ValueId& v : outs) v = add_value(g, fresh_name(base));
  return add_node(g, op, inputs, outs, before, {});
}

void Model::declare(ValueId input, TypeId type) { edit(input).declared = type; }

void Model::set_graph_outputs(GraphId g, std::span<const ValueId> outputs) {
  set_operands(graphs_[g.index()].ret, outputs);
}

// --- operands and attributes -------------------------------------------------------------------------------

void Model::set_operand(NodeId n, std::size_t slot, ValueId v) {
  assert(nodes_[n.index()].alive && slot < nodes_[n.index()].input_count && (!v || alive(v)));
  const UseId u{nodes_[n.index()].first_use.index() + slot};
  const ValueId old = uses_[u.index()].value;
  if (old == v) return;
  unlink_use(u, slot);
  link_use(u, v, slot);
  touch(n);
  tell([&](Listener& l) {
    l.node_changed(n);
    if (old) l.uses_changed(old);
    if (v) l.uses_changed(v);
  });
}

void Model::set_operands(NodeId n, std::span<const ValueId> operands) {
  assert(nodes_[n.index()].alive &&
         std::ranges::all_of(operands, [this](ValueId v) { return !v || alive(v); }));
  // copied: the argument may view the storage that changes
  const std::vector<ValueId> now(operands.begin(), operands.end());
  std::vector<ValueId> old;
  {
    const Node& node = nodes_[n.index()];
    for (std::uint32_t i = 0; i < node.input_count; ++i) {
      const UseId u{node.first_use.index() + i};
      if (uses_[u.index()].value) old.push_back(uses_[u.index()].value);
      unlink_use(u, i);
    }
  }
  if (now.size() <= nodes_[n.index()].input_count) {
    for (std::size_t i = 0; i < now.size(); ++i)
      link_use(UseId{nodes_[n.index()].first_use.index() + i}, now[i], i);
  } else {
    const UseId first = make_uses(n, now);
    edit(n).first_use = first;
  }
  edit(n).input_count = static_cast<std::uint32_t>(now.size());
  touch(n);
  tell([&](Listener& l) {
    l.node_changed(n);
    for (const ValueId v : old) l.uses_changed(v);
    for (const ValueId v : now)
      if (v) l.uses_changed(v);
  });
}

void Model::set_bytes(NodeId n, Bytes proto) {
  edit(n).proto = proto;
  touch(n);
}

void Model::set_op(NodeId n, OpId op) {
  Node& node = edit(n);
  node.op = op;
  --live_of_kind_[static_cast<std::size_t>(node.kind)];
  node.kind = ops_[op.index()].kind;
  ++live_of_kind_[static_cast<std::size_t>(node.kind)];
  touch(n);
  tell([n](Listener& l) { l.node_changed(n); });
}

void Model::set_attrs(NodeId n, std::span<const Attr> attrs) {
  Node& node = edit(n);
  node.first_attr = static_cast<std::uint32_t>(attrs_.size());
  node.attr_count = static_cast<std::uint32_t>(attrs.size());
  attrs_.append(attrs);
}

// Returns the node's attributes, moved to the end of the pool when they must grow by `room` and are not
// there, or when a trial would have to bring them back.
std::span<Attr> Model::attrs_for_change(NodeId n, std::size_t room) {
  Node& node = edit(n);
  const bool kept = in_trial_ && node.first_attr < trial_->attrs;
  if (room > 0 || kept) {
    if (kept || node.first_attr + node.attr_count != attrs_.size()) {
      const std::uint32_t first = static_cast<std::uint32_t>(attrs_.size());
      for (std::uint32_t i = 0; i < node.attr_count; ++i) attrs_.push_back(attrs_[node.first_attr + i]);
      node.first_attr = first;
    }
    attrs_.resize(attrs_.size() + room);
    node.attr_count += static_cast<std::uint32_t>(room);
  }
  return std::span<Attr>(attrs_).subspan(node.first_attr, node.attr_count);
}

void Model::set_attr(NodeId n, Attr a) {
  std::span<Attr> have = attrs_for_change(n, 0);
  auto it = std::ranges::find(have, a.name, &Attr::name);
  if (it != have.end()) *it = a;
  else attrs_for_change(n, 1).back() = a;
  touch(n);
  tell([n](Listener& l) { l.node_changed(n); });
}

void Model::set_attr_int(NodeId n, NameId name, std::int64_t i) {
  Attr a;
  a.name = name;
  a.kind = AttrKind::Int;
  a.i = i;
  set_attr(n, a);
}

void Model::set_attr_ints(NodeId n, NameId name, std::span<const std::int64_t> ints) {
  Attr a;
  a.name = name;
  a.kind = AttrKind::Ints;
  a.ints = keep(ints);
  set_attr(n, a);
}

void Model::remove_attr(NodeId n, NameId name) {
  std::span<Attr> have = attrs_for_change(n, 0);
  const auto it = std::ranges::find(have, name, &Attr::name);
  if (it == have.end()) return;
  std::move(it + 1, have.end(), it);
  --edit(n).attr_count;
  touch(n);
  tell([n](Listener& l) { l.node_changed(n); });
}

// --- results -----------------------------------------------------------------------------------------------

void Model::drop_output(NodeId n, std::size_t slot) {
  ValueId& out = edit_slot(nodes_[n.index()].first_output + slot);
  if (!out) return;
  Value& v = edit(out);
  v.alive = false;
  v.def = {};
  out = {};
  touch(n);
  tell([n](Listener& l) { l.node_changed(n); });
}

void Model::truncate_outputs(NodeId n) {
  Node& node = edit(n);
  while (node.output_count > 0 && !output_slots_[node.first_output + node.output_count - 1]) {
    --node.output_count;
    touch(n);
  }
}

void Model::remove_output(NodeId n, std::size_t slot) {
  Node& node = edit(n);
  assert(slot < node.output_count);
  for (std::size_t i = slot; i < node.output_count; ++i) edit_slot(node.first_output + i);
  const std::span<ValueId> slots =
      std::span<ValueId>(output_slots_).subspan(node.first_output, node.output_count);
  assert(!slots[slot] || use_count(slots[slot]) == 0);
  if (slots[slot]) {
    edit(slots[slot]).alive = false;
    edit(slots[slot]).def = {};
  }
  for (std::size_t i = slot; i + 1 < slots.size(); ++i) {
    slots[i] = slots[i + 1];
    if (slots[i]) edit(slots[i]).def_slot = static_cast<std::uint32_t>(i);
  }
  --node.output_count;
  touch(n);
  tell([n](Listener& l) { l.node_changed(n); });
}

void Model::remove_input(GraphId g, std::size_t position) {
  std::vector<ValueId>& inputs = edit_inputs(g);
  const NodeId owner = graphs_[g.index()].owner;
  assert(owner && position < inputs.size() && use_count(inputs[position]) == 0 &&
         !values_[inputs[position].index()].is_initializer);
  edit(inputs[position]).alive = false;
  inputs.erase(inputs.begin() + static_cast<std::ptrdiff_t>(position));
  mark_dirty(g);
  tell([owner](Listener& l) { l.node_changed(owner); });
}

bool Model::can_replace(ValueId old_value, ValueId new_value) const {
  if (!old_value || !new_value || old_value == new_value) return false;
  const Value& from = value(old_value);
  const Value& to = value(new_value);
  if (is_fixed(old_value) || is_fixed(new_value) || !inside(from.graph, to.graph)) return false;
  for (UseId u = from.first_use; u; u = next_use(u)) {
    const NodeId n = user(u);
    if (policy_ && !policy_->may_read(*this, u, new_value)) return false;
    if (!is_return(n)) continue;
    // An output keeps its name, so the new value must take that name. Only a result of a node of the same
    // graph that is no output yet can do so. (ONNX Runtime also refuses a subgraph output that comes from an
    // outer scope.)
    if (to.graph != node(n).graph || !to.def || to.is_input || to.is_initializer) return false;
    if (is_graph_output(new_value)) return false;
    // A Constant node counts as an initializer in a subgraph, and everywhere before IR version 4: files of
    // version 3 have no initializers beside inputs and write Constant nodes instead.
    if ((to.graph != main() || ir_version < 4) && kind(to.def) == OpKind::Constant) return false;
    if (uses_of_return(n, old_value) != 1) return false;
  }
  return true;
}

std::size_t Model::uses_of_return(NodeId ret, ValueId v) const {
  std::size_t count = 0;
  for (UseId u = first_use(v); u; u = next_use(u)) count += user(u) == ret;
  return count;
}

void Model::replace_all_uses(ValueId old_value, ValueId new_value) {
  assert(can_replace(old_value, new_value));
  if (is_graph_output(old_value)) {
    // The interface name and the declared type belong to the output: the new value takes both.
    Value& from = edit(old_value);
    Value& to = edit(new_value);
    std::swap(from.name, to.name);
    std::swap(from.info, to.info);
    std::swap(from.declared, to.declared);
    std::swap(from.info_stale, to.info_stale);
    for (const ValueId v : {old_value, new_value}) touch_around(v);
  }
  while (const UseId u = values_[old_value.index()].first_use) {
    const NodeId n = uses_[u.index()].user;
    const std::uint32_t at = slot(u);
    unlink_use(u, at);
    link_use(u, new_value, at);
    touch(n);
    tell([n](Listener& l) { l.node_changed(n); });
  }
  tell([&](Listener& l) {
    l.uses_changed(old_value);
    l.uses_changed(new_value);
    l.value_replaced(old_value, new_value);
  });
}

// A value's name is written in its definition and in every user.
void Model::touch_around(ValueId v) {
  const Value& val = values_[v.index()];
  if (val.def) touch(val.def);
  mark_dirty(val.graph);
  for (UseId u = val.first_use; u; u = next_use(u)) touch(user(u));
}

void Model::rename(ValueId v, NameId name) {
  edit(v).name = name;
  touch_around(v);
}

void Model::rename(NodeId n, NameId name) {
  edit(n).name = name;
  touch(n);
}

void Model::retype(ValueId v, NameId name) {
  Value& val = edit(v);
  val.info = {};
  val.declared = {};
  val.info_stale = true;
  rename(v, name);
  tell([&](Listener& l) { l.uses_changed(v); });
}

void Model::make_constant(ValueId v, TensorId t) {
  Value& val = edit(v);
  const NodeId n = val.def;
  assert(n && can_become_constant(v));
  if (n) {
    edit_slot(nodes_[n.index()].first_output + val.def_slot) = {};
    touch(n);
  }
  val.def = {};
  val.def_slot = 0;
  // The tensor states the type. A declaration without its dims would be believed before it, by onnx's own
  // inference.
  if (!is_graph_output(v)) val.info_stale = true;
  mark_initializer(v, t);
  tell([&](Listener& l) {
    if (n) l.node_changed(n);
    l.value_became_constant(v);
  });
}

void Model::erase_initializer(ValueId v) {
  Value& val = edit(v);
  assert(val.alive && val.is_initializer && !val.is_input && val.use_count == 0);
  val.alive = false;
  mark_dirty(val.graph);
}

void Model::erase(NodeId root) {
  assert(alive(root) && !is_return(root) &&
         std::ranges::all_of(outputs(root), [this](ValueId v) { return !v || use_count(v) == 0; }));
  // Nodes whose subgraphs are to be erased, on an explicit stack: nesting may be deep.
  std::vector<NodeId> todo{root};
  while (!todo.empty()) {
    const NodeId n = todo.back();
    todo.pop_back();
    for (const Attr& a : attrs(n))
      for (const GraphId g : a.graphs) {
        if (!graphs_[g.index()].alive) continue;
        Graph& graph = edit(g);
        graph.alive = false;
        for (NodeId inner = graph.first; inner; inner = nodes_[inner.index()].next) todo.push_back(inner);
        todo.push_back(graph.ret);
        for (const ValueId v : graph.inputs) edit(v).alive = false;
        for (const ValueId v : graph.initializers) edit(v).alive = false;
      }
    Node& node = edit(n);
    if (!node.is_return) {
      mark_dirty(node.graph);
      unlink_node(n);
    }
    node.alive = false;
    std::vector<ValueId> operands;
    for (std::uint32_t i = 0; i < node.input_count; ++i) {
      const UseId u{node.first_use.index() + i};
      if (uses_[u.index()].value) operands.push_back(uses_[u.index()].value);
      unlink_use(u, i);
    }
    for (const ValueId v : outputs(n))
      if (v) edit(v).alive = false;
    if (node.is_return) continue;
    tell([&](Listener& l) {
      l.node_erased(n);
      for (const ValueId v : operands) l.uses_changed(v);
    });
  }
}

NameId Model::fresh_name(std::string_view base) {
  if (base.empty()) base = "v";
  if (const NameId fresh = names.intern_new(base)) return fresh;
  const NameId stem = names.find(base);
  std::uint32_t& next = suffixes_[stem];
  NameId fresh;
  while (!fresh) fresh = names.intern_new(std::string(base) + "_" + std::to_string(++next));
  return fresh;
}

}  // namespace graphopt
