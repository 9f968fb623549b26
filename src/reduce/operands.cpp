// Shorter ways from value to value, and nodes with less in them.
//
// Problem: what is left after the cuts are nodes that must be connected; between them are nodes that only
// pass values on, and each has operands and attributes that play no part.
// Method: the users of a node's result read one of its operands of the same type instead (bypass), runs of
// nodes at a time; an operand is replaced by a value further up, however far and whatever its extents
// (rewire); inputs of one type become one input; attributes, optional operands and unread results go.
// Lowers: nodes, inputs, details.

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ir/bodies.h"
#include "reduce/chunks.h"
#include "reduce/replace.h"
#include "reduce/strategies.h"

namespace graphopt {
namespace {

// Returns the node's only result that is read; none when there are several.
ValueId only_result(const Model& m, NodeId n) {
  ValueId found;
  for (const ValueId v : m.outputs(n)) {
    if (!v || m.use_count(v) == 0) continue;
    if (found) return {};
    found = v;
  }
  return found;
}

// A body returns results of its own nodes, each of them once.
bool may_replace(const Model& m, ValueId from, ValueId to) {
  for (UseId u = m.first_use(from); u; u = m.next_use(u)) {
    const NodeId user = m.user(u);
    if (!m.is_return(user) || m.node(user).graph == m.main()) continue;
    if (m.value(to).graph != m.node(user).graph || !m.value(to).def || m.is_graph_output(to)) return false;
  }
  return true;
}

// Types in functions are not known; there any operand is tried.
void bypass(Model& m, const Inference& types, NodeId n) {
  const ValueId result = only_result(m, n);
  if (!result || m.is_fixed(result)) return;
  const bool any = is_in_function(m, m.node(n).graph);
  for (std::size_t i = 0; i < m.input_count(n); ++i) {
    const ValueId v = m.input(n, i);
    if (!v || !(any || alike(m, types.type_of(v), types.type_of(result), false))) continue;
    if (!may_replace(m, result, v)) continue;
    replace_uses(m, result, v);
    if (m.node(n).graph != m.main()) m.erase(n);
    return;
  }
}

std::vector<NodeId> all_nodes(const Model& m) {
  std::vector<NodeId> out;
  for (std::size_t g = 0; g < m.graph_count(); ++g)
    if (m.graph(GraphId{g}).alive)
      for (NodeId n = m.first_node(GraphId{g}); n; n = m.next_node(n)) out.push_back(n);
  return out;
}

// Returns values from which `v` is computed and which could stand in its place, those that are furthest up
// first, at most `most` of them.
std::vector<ValueId> stand_ins(const Session& s, ValueId v, std::size_t most) {
  const Model& m = s.model();
  std::vector<ValueId> todo{v}, found;
  std::unordered_set<ValueId> seen{v};
  for (std::size_t i = 0; i < todo.size(); ++i) {
    const NodeId def = m.value(todo[i]).def;
    if (!def) continue;
    for (std::size_t k = 0; k < m.input_count(def); ++k) {
      const ValueId w = m.input(def, k);
      if (!w || m.value(w).graph != m.main() || !seen.insert(w).second) continue;
      todo.push_back(w);
      if (alike(m, s.inference().type_of(w), s.inference().type_of(v), true)) found.push_back(w);
    }
  }
  const auto place = [&](ValueId w) {
    const NodeId def = m.value(w).def;
    return def ? m.node(def).order : 0;
  };
  std::ranges::stable_sort(found, {}, place);
  if (found.size() <= most) return found;
  std::vector<ValueId> some;
  for (std::size_t i = 0; i < most; ++i) some.push_back(found[i * found.size() / most]);
  return some;
}

// Returns true if an operand was replaced; ids are others then.
bool rewire_node(Session& s, NodeId n) {
  constexpr std::size_t kMost = 6;
  for (std::size_t slot = 0; slot < s.model().input_count(n); ++slot) {
    const ValueId v = s.model().input(n, slot);
    if (!v || !s.model().value(v).def || s.model().value(v).graph != s.model().main()) continue;
    for (const ValueId w : stand_ins(s, v, kMost)) {
      Edit e = s.edit();
      e.model.set_operand(n, slot, w);
      if (s.attempt(std::move(e))) return true;
    }
  }
  return false;
}

}  // namespace

void bypass_nodes(Session& s) {
  const auto count = [&] { return all_nodes(s.model()).size(); };
  remove_chunks(s, count, [&](std::size_t begin, std::size_t end) {
    Edit e = s.edit();
    const std::vector<NodeId> nodes = all_nodes(s.model());
    for (std::size_t i = begin; i < end; ++i)
      if (e.model.alive(nodes[i])) bypass(e.model, s.inference(), nodes[i]);
    s.attempt(std::move(e));
  });
}

void rewire_operands(Session& s) {
  constexpr std::size_t kMostNodes = 60;  // each operand is a few attempts
  const auto count = [&] { return std::size_t{s.model().graph(s.model().main()).node_count}; };
  if (count() > kMostNodes) return;
  for (std::size_t place = count(); place > 0 && !s.ended(); place = std::min(place - 1, count())) {
    NodeId n = s.model().first_node(s.model().main());
    for (std::size_t i = 1; i < place; ++i) n = s.model().next_node(n);
    rewire_node(s, n);
  }
}

void merge_inputs(Session& s) {
  // Units are pairs of an input and an earlier one of its type; the later one goes.
  const auto pairs = [&] {
    const Model& m = s.model();
    std::vector<std::pair<ValueId, ValueId>> out;
    const auto inputs = m.graph_inputs(m.main());
    for (std::size_t i = 1; i < inputs.size(); ++i)
      for (std::size_t k = 0; k < i; ++k)
        if (alike(m, m.types[m.value(inputs[i]).declared], m.types[m.value(inputs[k]).declared], false)) {
          out.emplace_back(inputs[k], inputs[i]);
          break;
        }
    return out;
  };
  remove_chunks(
      s, [&] { return pairs().size(); },
      [&](std::size_t begin, std::size_t end) {
        Edit e = s.edit();
        const auto all = pairs();
        for (std::size_t i = begin; i < end; ++i) replace_uses(e.model, all[i].second, all[i].first);
        s.attempt(std::move(e));
      });
}

namespace {

// Something of a node that may go.
struct Detail {
  enum class Kind { Attribute, Operand, Result } kind;
  NodeId node;
  std::size_t index;
};

std::vector<Detail> details_of(const Model& m) {
  std::vector<Detail> out;
  for (const NodeId n : all_nodes(m)) {
    for (std::size_t i = 0; i < m.attrs(n).size(); ++i)
      if (m.attrs(n)[i].graphs.empty()) out.push_back({Detail::Kind::Attribute, n, i});
    for (std::size_t i = 1; i < m.input_count(n); ++i)
      if (m.input(n, i)) out.push_back({Detail::Kind::Operand, n, i});
    for (std::size_t i = 1; i < m.output_count(n); ++i)
      if (const ValueId v = m.output(n, i); v && m.use_count(v) == 0 && !m.is_fixed(v))
        out.push_back({Detail::Kind::Result, n, i});
  }
  return out;
}

void drop(Model& m, const Model& before, const Detail& d) {
  switch (d.kind) {
    case Detail::Kind::Attribute: m.remove_attr(d.node, before.attrs(d.node)[d.index].name); return;
    case Detail::Kind::Operand: m.set_operand(d.node, d.index, {}); return;
    case Detail::Kind::Result: m.drop_output(d.node, d.index); return;
  }
}

// Operators that take any number of operands of one kind: none of them is left out by an empty name.
bool takes_any_number(OpKind kind) {
  switch (kind) {
    case OpKind::Concat:
    case OpKind::Sum:
    case OpKind::Max:
    case OpKind::Min:
    case OpKind::Mean:
    case OpKind::Einsum: return true;
    default: return false;
  }
}

void trim(Model& m, NodeId n) {
  m.truncate_outputs(n);
  std::vector<ValueId> operands;
  for (std::size_t i = 0; i < m.input_count(n); ++i)
    if (m.input(n, i) || !takes_any_number(m.kind(n))) operands.push_back(m.input(n, i));
  while (!operands.empty() && !operands.back()) operands.pop_back();
  if (operands.size() < m.input_count(n)) m.set_operands(n, operands);
}

}  // namespace

void drop_details(Session& s) {
  remove_chunks(
      s, [&] { return details_of(s.model()).size(); },
      [&](std::size_t begin, std::size_t end) {
        Edit e = s.edit();
        const std::vector<Detail> all = details_of(s.model());
        for (std::size_t i = begin; i < end; ++i) drop(e.model, s.model(), all[i]);
        for (std::size_t i = begin; i < end; ++i) trim(e.model, all[i].node);
        s.attempt(std::move(e));
      });
}

}  // namespace graphopt
