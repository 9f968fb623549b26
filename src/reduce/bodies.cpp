// Bodies of If, Loop and Scan, and functions.
//
// Problem: what fails may be inside a body or a function, or only because it is inside. Method: a call is
// replaced by the body of its function; a node with a body is replaced by the nodes of the body, whose inputs
// become inputs of the model; where the body has to stay, nodes in it are cut out like those of the main
// graph: what they made is captured from a new input of the model. A body has to return results of its own
// nodes: one that is cut out becomes an Identity of such an input.
// Lowers: nodes. Left alone: a function whose body imports other versions than the model, or hands
// attributes on to bodies inside it.

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "ir/bodies.h"
#include "ir/copy.h"
#include "ops/node_facts.h"
#include "reduce/chunks.h"
#include "reduce/strategies.h"
#include "shapes/map_dims.h"

namespace graphopt {
namespace {

std::vector<NodeId> calls_of(const Model& m) {
  std::vector<NodeId> out;
  for (NodeId n = m.first_node(m.main()); n; n = m.next_node(n))
    if (m.kind(n) == OpKind::FunctionCall) out.push_back(n);
  return out;
}

// The nodes with bodies, of the main graph.
std::vector<NodeId> owners_of(const Model& m) {
  std::vector<NodeId> out;
  for (NodeId n = m.first_node(m.main()); n; n = m.next_node(n))
    if (has_bodies(m, n)) out.push_back(n);
  return out;
}

bool is_body(const Model& m, GraphId g) {
  if (!m.graph(g).alive || !m.graph(g).owner) return false;
  GraphId root = g;
  while (m.graph(root).parent) root = m.graph(root).parent;
  return root == m.main();
}

bool same_imports(const Model& m, GraphId body) {
  const OpsetTable& have = m.opset_tables[0];
  return std::ranges::all_of(m.opset_tables[m.graph(body).opsets], [&](const OpsetImport& o) {
    return std::ranges::any_of(
        have, [&](const OpsetImport& x) { return x.domain == o.domain && x.version == o.version; });
  });
}

// Whether a node of the body, not one further inside, takes an attribute from the call.
bool hands_on_inside(const Model& m, GraphId body) {
  std::vector<GraphId> inner;
  const auto add = [&](GraphId g) {
    for (NodeId n = m.first_node(g); n; n = m.next_node(n))
      for (const Attr& a : m.attrs(n)) inner.insert(inner.end(), a.graphs.begin(), a.graphs.end());
  };
  add(body);
  while (!inner.empty()) {
    const GraphId g = inner.back();
    inner.pop_back();
    for (NodeId n = m.first_node(g); n; n = m.next_node(n))
      for (const Attr& a : m.attrs(n))
        if (a.ref) return true;
    add(g);
  }
  return false;
}

// Gives a node that came from a function the attributes of the call, or the function's defaults.
void resolve_attributes(Model& m, NodeId n, const std::vector<Attr>& given, const Function& f) {
  const std::vector<Attr> attrs(m.attrs(n).begin(), m.attrs(n).end());
  for (const Attr& a : attrs) {
    if (!a.ref) continue;
    std::optional<Attr> value;
    for (const Attr& x : f.defaults)
      if (x.name == a.ref) value = x;
    for (const Attr& x : given)
      if (x.name == a.ref) value = x;
    m.remove_attr(n, a.name);
    if (!value) continue;
    value->name = a.name;
    value->proto = {};
    m.set_attr(n, *value);
  }
}

bool inline_call(Model& m, NodeId call) {
  const FunctionId id = m.op(call).function;
  const Function f = m.function(id);
  if (!f.body || !m.graph(f.body).alive || !same_imports(m, f.body) || hands_on_inside(m, f.body))
    return false;
  const std::vector<Attr> given(m.attrs(call).begin(), m.attrs(call).end());
  const std::vector<ValueId> inputs(m.graph_inputs(f.body).begin(), m.graph_inputs(f.body).end());
  Copier copy(m, m);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (const ValueId v = m.input(call, i)) copy.map(inputs[i], v);
    else return false;  // an operand that is left out: nodes that read it would have to go without it, too
  for (std::size_t i = 0; i < m.graph_output_count(f.body); ++i) {
    const ValueId result = m.graph_output(f.body, i);
    if (!result || !m.value(result).def || copy.find(result)) return false;
    if (i < m.output_count(call) && m.output(call, i)) copy.map(result, m.detach_output(call, i));
  }
  const NodeId before = m.prev_node(call);
  copy.nodes(f.body, m.main(), call);
  for (NodeId n = before ? m.next_node(before) : m.first_node(m.main()); n != call; n = m.next_node(n))
    resolve_attributes(m, n, given, f);
  m.erase(call);
  return true;
}

// A new input of the model with the type of `v`, or none where that cannot be declared.
ValueId new_input(Edit& e, const Inference& types, ValueId v) {
  Model& m = e.model;
  if (!can_declare(types.type_of(v))) return {};
  const std::string name(m.text(m.value(v).name));
  const TypeId type = without_made_names(m, types.type(v));
  const ValueId input = m.add_input(m.main(), m.fresh_name(name));
  e.types.push_back({input, type, false});
  return input;
}

// Puts the nodes of a body in the place of the node that owns it.
bool unfold(Edit& e, const Inference& types, NodeId owner, GraphId body) {
  Model& m = e.model;
  Copier copy(m, m);
  const std::vector<ValueId> inputs(m.graph_inputs(body).begin(), m.graph_inputs(body).end());
  for (const ValueId v : inputs) {
    if (m.use_count(v) == 0) continue;
    const ValueId input = new_input(e, types, v);
    if (!input) return false;
    copy.map(v, input);
  }
  copy.nodes(body, m.main(), owner);
  for (NodeId n = m.first_node(body); n; n = m.next_node(n))
    for (const ValueId v : m.outputs(n))
      if (const ValueId to = v ? copy.find(v) : ValueId{}) e.known.push_back({to, types.type(v), false});
  e.leaves_are_outputs = true;
  e.cut.resize(m.node_count(), false);
  e.idle.resize(m.node_count(), false);
  e.cut[owner.index()] = true;
  for (std::size_t i = 0; i < m.graph_output_count(body); ++i) {
    const ValueId from = m.graph_output(body, i);
    const ValueId to = from ? copy.find(from) : ValueId{};
    if (to && m.value(to).def && can_declare(types.type_of(from))) e.outputs.push_back(to);
  }
  return true;
}

// Cuts nodes out of bodies; all or nothing.
bool cut_from_body(Edit& e, const Inference& types, const std::vector<NodeId>& nodes) {
  Model& m = e.model;
  for (std::size_t i = nodes.size(); i-- > 0;) {  // from the end: what is only read by others that go, goes
    const NodeId n = nodes[i];
    if (!m.alive(n)) continue;
    const GraphId g = m.node(n).graph;
    const std::vector<ValueId> results(m.outputs(n).begin(), m.outputs(n).end());
    for (std::size_t slot = 0; slot < results.size(); ++slot) {
      const ValueId v = results[slot];
      if (!v || m.use_count(v) == 0) continue;
      if (m.is_fixed(v)) return false;
      const ValueId input = new_input(e, types, v);
      if (!input) return false;
      std::vector<std::pair<NodeId, std::size_t>> readers;
      bool returned = false;
      for (UseId u = m.first_use(v); u; u = m.next_use(u)) {
        if (m.is_return(m.user(u))) returned = true;
        else readers.emplace_back(m.user(u), m.slot(u));
      }
      for (const auto& [user, at] : readers) m.set_operand(user, at, input);
      if (!returned) continue;
      const ValueId out[] = {m.detach_output(n, slot)};
      m.add_node(g, standard_op(m, OpKind::Identity), std::span(&input, 1), out, n);
    }
    m.erase(n);
  }
  return true;
}

}  // namespace

void inline_functions(Session& s) {
  remove_chunks(
      s, [&] { return calls_of(s.model()).size(); },
      [&](std::size_t begin, std::size_t end) {
        Edit e = s.edit();
        const std::vector<NodeId> calls = calls_of(s.model());
        for (std::size_t i = begin; i < end; ++i)
          if (!inline_call(e.model, calls[i])) return;
        s.attempt(std::move(e));
      });
}

void unfold_bodies(Session& s) {
  for (std::size_t place = owners_of(s.model()).size(); place-- > 0 && !s.ended();) {
    const std::vector<NodeId> owners = owners_of(s.model());
    if (place >= owners.size()) continue;
    std::vector<GraphId> bodies;
    for (const Attr& a : s.model().attrs(owners[place]))
      bodies.insert(bodies.end(), a.graphs.begin(), a.graphs.end());
    for (const GraphId body : bodies) {
      Edit e = s.edit();
      if (unfold(e, s.inference(), owners[place], body) && s.attempt(std::move(e))) break;
    }
  }
}

void cut_bodies(Session& s) {
  const auto nodes = [&] {
    const Model& m = s.model();
    std::vector<NodeId> out;
    for (std::size_t g = 0; g < m.graph_count(); ++g)
      if (is_body(m, GraphId{g}))
        for (NodeId n = m.first_node(GraphId{g}); n; n = m.next_node(n)) out.push_back(n);
    return out;
  };
  remove_chunks(
      s, [&] { return nodes().size(); },
      [&](std::size_t begin, std::size_t end) {
        Edit e = s.edit();
        const std::vector<NodeId> all = nodes();
        if (cut_from_body(e, s.inference(),
                          {all.begin() + static_cast<std::ptrdiff_t>(begin),
                           all.begin() + static_cast<std::ptrdiff_t>(end)}))
          s.attempt(std::move(e));
      });
}

void drop_branch_results(Session& s) {
  struct Unread {
    NodeId node;
    std::size_t slot;
  };
  const auto unread = [&] {
    const Model& m = s.model();
    std::vector<Unread> out;
    for (std::size_t i = 0; i < m.node_count(); ++i) {
      const NodeId n{i};
      if (!m.alive(n) || m.kind(n) != OpKind::If) continue;
      for (std::size_t slot = 0; slot < m.output_count(n) && m.output_count(n) > 1; ++slot)
        if (!m.output(n, slot) || m.use_count(m.output(n, slot)) == 0) out.push_back({n, slot});
    }
    return out;
  };
  remove_chunks(
      s, [&] { return unread().size(); },
      [&](std::size_t begin, std::size_t end) {
        Edit e = s.edit();
        Model& m = e.model;
        const std::vector<Unread> all = unread();
        for (std::size_t i = end; i-- > begin;) {  // later slots first: the others keep their numbers
          const auto [n, slot] = all[i];
          std::vector<ValueId> results;
          for (std::size_t k = 0; k < m.output_count(n); ++k)
            if (k != slot) results.push_back(m.output(n, k));
          for (const Attr& a : m.attrs(n))
            for (const GraphId g : a.graphs) {
              std::vector<ValueId> returned;
              for (std::size_t k = 0; k < m.graph_output_count(g); ++k)
                if (k != slot) returned.push_back(m.graph_output(g, k));
              m.set_graph_outputs(g, returned);
            }
          // The results move up by one slot.
          for (std::size_t k = 0; k < m.output_count(n); ++k)
            if (k == slot) m.drop_output(n, k);
            else m.detach_output(n, k);
          for (std::size_t k = 0; k < results.size(); ++k)
            if (results[k]) m.attach_output(n, k, results[k]);
          m.truncate_outputs(n);
        }
        s.attempt(std::move(e));
      });
}

}  // namespace graphopt
