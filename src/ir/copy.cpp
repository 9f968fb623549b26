// Copies of nodes and graphs. See copy.h.
//
// A node that is copied keeps its NodeProto, so that fields which the IR does not know stay; where all its
// names stay, too, it counts as unchanged and is written with these bytes. Whether that holds for a node with
// bodies is known only when they are copied: settle() decides it, inner bodies first.
#include "ir/copy.h"

#include <algorithm>
#include <string>

namespace graphopt {

Copier::Copier(const Model& from, Model& to, CopiedNames names) : from_(from), to_(to), names_(names) {
  if (same_model()) return;
  to_.keep_alive.insert(to_.keep_alive.end(), from_.keep_alive.begin(), from_.keep_alive.end());
  to_.keep_alive.push_back(from_.arena_);
  to_.had_external_data = to_.had_external_data || from_.had_external_data;
}

ValueId Copier::find(ValueId from) const {
  const auto at = values_.find(from);
  return at == values_.end() ? ValueId{} : at->second;
}

ValueId Copier::operand(ValueId v) const {
  if (!v) return v;
  const ValueId known = find(v);
  return known || !same_model() ? known : v;
}

// --- what is looked up in the target -----------------------------------------------------------------------

NameId Copier::name(NameId n) {
  if (same_model() || !n) return n;
  return to_.names.intern(from_.text(n));
}

OpId Copier::op(OpId o) {
  if (same_model()) return o;
  const auto [at, added] = ops_.try_emplace(o);
  if (!added) return at->second;
  const Op& op = from_.op(o);
  const FunctionId f = op.function ? function(op.function) : FunctionId{};
  return ops_[o] =
             to_.intern_op(op.kind, from_.text(op.domain), from_.text(op.type), from_.text(op.overload), f);
}

DimId Copier::dim(DimId d) {
  if (same_model() || !d) return d;
  if (const auto v = from_.dims.value(d)) return to_.dims.constant(*v);
  if (!from_.dims.linked(d)) return {};
  for (const DimId s : from_.dims.symbols_of(d)) to_.dims.symbol(from_.dims.symbol_name(s));
  return from_.dims.is_symbol(d) ? to_.dims.find_symbol(from_.dims.symbol_name(d))
                                 : to_.dims.parse(from_.dims.print(d));
}

TypeId Copier::type(TypeId t) {
  if (same_model() || !t) return t;
  std::vector<TypeId> chain;  // a sequence of optionals of ...: types nest
  for (TypeId i = t; i && !types_.contains(i); i = from_.types[i].inner) chain.push_back(i);
  for (auto it = chain.rbegin(); it != chain.rend(); ++it) {
    const Type& old = from_.types[*it];
    std::vector<DimId> dims;
    for (const DimId d : old.dims) dims.push_back(dim(d));
    const TypeId inner = old.inner ? types_.at(old.inner) : TypeId{};
    TypeId made = to_.types.unknown();
    switch (old.kind) {
      case TypeKind::Unknown: break;
      case TypeKind::Tensor:
        made = old.has_rank ? to_.types.tensor(old.elem, dims) : to_.types.tensor(old.elem);
        break;
      case TypeKind::SparseTensor: made = to_.types.sparse(old.elem, old.has_rank, dims); break;
      case TypeKind::Sequence: made = to_.types.sequence(inner); break;
      case TypeKind::Optional: made = to_.types.optional(inner); break;
      case TypeKind::Map: made = to_.types.map(old.elem, inner); break;
      case TypeKind::Opaque: made = to_.types.opaque(); break;
    }
    types_.emplace(*it, made);
  }
  return types_.at(t);
}

TensorId Copier::tensor(TensorId t) {
  if (same_model() || !t) return t;
  const auto [at, added] = tensors_.try_emplace(t);
  if (added) {
    to_.tensors_.push_back(from_.tensors_[t.index()]);
    at->second = TensorId{to_.tensors_.size() - 1};
  }
  return at->second;
}

std::uint32_t Copier::opsets(std::uint32_t table) {
  if (same_model()) return table;
  const auto [at, added] = opsets_.try_emplace(table);
  if (added) {
    OpsetTable made = from_.opset_tables[table];
    for (OpsetImport& o : made) o.domain = name(o.domain);
    to_.opset_tables.push_back(std::move(made));
    at->second = static_cast<std::uint32_t>(to_.opset_tables.size() - 1);
  }
  return at->second;
}

// Returns the function in the target: the one of its name, or a copy, whose body waits in pending_.
FunctionId Copier::function(FunctionId f) {
  const auto [at, added] = functions_.try_emplace(f);
  if (!added) return at->second;
  const Function& old = from_.function(f);
  Function made;
  made.domain = name(old.domain);
  made.name = name(old.name);
  made.overload = name(old.overload);
  for (std::size_t i = 0; i < to_.function_count(); ++i) {
    const Function& there = to_.function(FunctionId{i});
    if (there.domain == made.domain && there.name == made.name && there.overload == made.overload)
      return at->second = FunctionId{i};
  }
  for (const NameId n : old.attributes) made.attributes.push_back(name(n));
  made.rest = old.rest;
  const FunctionId id = at->second = to_.add_function(made);
  if (!old.body) return id;
  const GraphId body = to_.add_graph({}, {}, opsets(from_.graph(old.body).opsets));
  to_.graphs_[body.index()].function = id;
  to_.functions_[id.index()].body = body;
  std::vector<Attr> defaults;
  for (const Attr& a : old.defaults) defaults.push_back(attribute(a, {}));
  to_.functions_[id.index()].defaults = std::move(defaults);
  pending_.push_back({old.body, body, CopiedNames::Keep});
  return id;
}

// --- values ------------------------------------------------------------------------------------------------

// Makes the value in graph g of the target; what the file states about it comes along.
ValueId Copier::value(ValueId v, GraphId g, CopiedNames names) {
  const Value old = from_.value(v);  // a copy: the array may grow below
  const bool keep = names == CopiedNames::Keep;
  const ValueId made = to_.add_value(g, keep ? name(old.name) : to_.fresh_name(from_.text(old.name)));
  Value& made_value = to_.values_[made.index()];
  made_value.declared = type(old.declared);
  if (old.def) made_value.tensor = tensor(old.tensor);  // of a Constant node
  made_value.info = old.info;
  // Names of dims in it hold in their graph only.
  made_value.info_stale = old.info_stale || (!keep && !old.info.empty());
  map(v, made);
  return made;
}

void Copier::initializers(const Body& b) {
  for (const ValueId v : from_.graph(b.from).initializers) {
    const Value old = from_.value(v);  // a copy, as above
    if (!old.alive || (!old.is_input && find(v))) continue;
    const ValueId made = old.is_input ? find(v) : value(v, b.to, b.names);
    to_.mark_initializer(made, tensor(old.tensor));
    to_.values_[made.index()].is_sparse = old.is_sparse;
    to_.values_[made.index()].sparse = old.sparse;
  }
}

// --- nodes -------------------------------------------------------------------------------------------------

// Bodies of the attribute become empty graphs of the copied node, which wait in pending_.
Attr Copier::attribute(const Attr& a, NodeId owner) {
  Attr made = a;
  made.name = name(a.name);
  made.ref = name(a.ref);
  made.tensor = tensor(a.tensor);
  if (a.graphs.empty()) return made;
  std::vector<GraphId> graphs;
  for (const GraphId g : a.graphs) {
    const std::uint32_t table = to_.graph(to_.node(owner).graph).opsets;
    graphs.push_back(to_.add_graph(owner, made.name, table));
    pending_.push_back({g, graphs.back(), current_names_});
  }
  made.graphs = to_.keep(std::span<const GraphId>(graphs));
  return made;
}

NodeId Copier::shallow(NodeId n, GraphId g, NodeId before, CopiedNames names) {
  current_names_ = names;
  bool plain = !from_.node(n).dirty && names == CopiedNames::Keep;
  const auto same_name = [this](ValueId a, ValueId b) {
    return a.valid() == b.valid() && (!a || from_.text(from_.value(a).name) == to_.text(to_.value(b).name));
  };
  std::vector<ValueId> in, out;
  for (std::size_t i = 0; i < from_.input_count(n); ++i) {
    in.push_back(operand(from_.input(n, i)));
    plain = plain && same_name(from_.input(n, i), in.back());
  }
  for (std::size_t i = 0; i < from_.output_count(n); ++i) {
    const ValueId v = from_.output(n, i);
    const ValueId known = v ? find(v) : ValueId{};
    out.push_back(known || !v ? known : value(v, g, names));
    plain = plain && same_name(v, out.back());
  }
  const std::string_view old_name = from_.text(from_.node(n).name);
  const bool fresh = names == CopiedNames::Fresh && !old_name.empty();
  const NodeId made = to_.add_node(g, op(from_.node(n).op), in, out, before,
                                   fresh ? to_.text(to_.fresh_name(old_name)) : old_name);
  std::vector<Attr> attrs;
  for (const Attr& a : std::vector<Attr>(from_.attrs(n).begin(), from_.attrs(n).end()))
    attrs.push_back(attribute(a, made));
  to_.set_attrs(made, attrs);
  to_.nodes_[made.index()].proto = from_.node(n).proto;
  to_.nodes_[made.index()].file_index = from_.node(n).file_index;
  if (from_.node(n).overwrites) to_.set_overwrites(made, from_.node(n).overwrites);
  copied_.push_back({made, plain});
  return made;
}

NodeId Copier::node(NodeId n, GraphId g, NodeId before) {
  const NodeId made = shallow(n, g, before, names_);
  bodies();
  return made;
}

void Copier::nodes(GraphId from, GraphId g, NodeId before) {
  initializers({from, g, names_});
  for (NodeId n = from_.first_node(from); n; n = from_.next_node(n)) shallow(n, g, before, names_);
  bodies();
}

// --- bodies ------------------------------------------------------------------------------------------------

void Copier::bodies() {
  std::vector<GraphId> made;
  while (!pending_.empty()) {
    const Body b = pending_.back();
    pending_.pop_back();
    body(b);
    made.push_back(b.to);
  }
  settle(made);
}

void Copier::body(const Body& b) {
  to_.graphs_[b.to.index()].name = name(from_.graph(b.from).name);
  to_.graphs_[b.to.index()].rest = from_.graph(b.from).rest;
  for (const ValueId v : from_.graph(b.from).inputs) {
    const ValueId made = value(v, b.to, b.names);
    to_.values_[made.index()].is_input = true;
    to_.graphs_[b.to.index()].inputs.push_back(made);
  }
  initializers(b);
  for (NodeId n = from_.first_node(b.from); n; n = from_.next_node(n)) shallow(n, b.to, {}, b.names);
  std::vector<ValueId> outputs;
  for (std::size_t i = 0; i < from_.graph_output_count(b.from); ++i)
    outputs.push_back(operand(from_.graph_output(b.from, i)));
  to_.set_graph_outputs(b.to, outputs);
  if (from_.graph(b.from).dirty || b.names != CopiedNames::Keep) changed_.push_back(b.to);
}

// Takes the marks back that building has set: of nodes that are as in the file, and of bodies that hold only
// such nodes. `bodies`: those that were made, each after the graph around it.
void Copier::settle(const std::vector<GraphId>& bodies) {
  for (const auto& [n, plain] : copied_) to_.nodes_[n.index()].dirty = !plain;
  for (const GraphId g : bodies) to_.graphs_[g.index()].dirty = false;
  for (const GraphId g : changed_) to_.graphs_[g.index()].dirty = true;
  for (auto it = bodies.rbegin(); it != bodies.rend(); ++it) {
    Graph& graph = to_.graphs_[it->index()];
    for (NodeId n = graph.first; n && !graph.dirty; n = to_.next_node(n)) graph.dirty = to_.node(n).dirty;
    if (graph.dirty && graph.owner) to_.nodes_[graph.owner.index()].dirty = true;
  }
  copied_.clear();
  changed_.clear();
}

}  // namespace graphopt
