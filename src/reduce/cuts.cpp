// Fewer outputs, and fewer nodes of the main graph.
//
// Problem: a failure needs a few nodes of thousands. Method: outputs first, with all that only they need,
// since what is left then is computed as it was. Then runs of nodes are cut out; what they made comes in from
// outside (edit.h).
// Where the nodes that are needed have to be connected, a cut takes their connection: there a run of nodes is
// bridged: who reads its results reads a value that goes into it, of the same element type and rank.
// Lowers: nodes, outputs. Left alone: what bodies hold.

#include <unordered_set>
#include <utility>
#include <vector>

#include "reduce/chunks.h"
#include "reduce/replace.h"
#include "reduce/strategies.h"

namespace graphopt {
namespace {

// Returns a value from which v is computed by the nodes that are cut, that could be read in its place: the
// last one that a node makes, or else an input; none where there is none.
ValueId way_in(const Edit& e, const Inference& types, ValueId v) {
  const Model& m = e.model;
  const auto is_cut = [&](ValueId x) { return m.value(x).def && e.cut[m.value(x).def.index()]; };
  const auto later = [&](ValueId x, ValueId than) {
    if (!than || !m.value(than).def) return !than || m.value(x).def.valid();
    return m.value(x).def && m.before(m.value(than).def, m.value(x).def);
  };
  std::vector<ValueId> todo{v};
  std::unordered_set<ValueId> seen{v};
  ValueId found;
  for (std::size_t i = 0; i < todo.size(); ++i) {
    const NodeId def = m.value(todo[i]).def;
    for (std::size_t k = 0; k < m.input_count(def); ++k) {
      const ValueId w = m.input(def, k);
      if (!w || m.value(w).graph != m.main() || !seen.insert(w).second) continue;
      if (is_cut(w)) todo.push_back(w);
      else if (!m.constant_of(w) && alike(m, types.type_of(w), types.type_of(v), true) && later(w, found))
        found = w;
    }
  }
  return found;
}

// Lets those who stay read the ways in to the nodes that are cut.
void bridge(Edit& e, const Inference& types, const std::vector<NodeId>& cut) {
  Model& m = e.model;
  const auto stays = [&](UseId u) {
    const NodeId user = m.ancestor_in(m.main(), m.user(u));
    return user && !e.cut[user.index()];
  };
  std::vector<std::pair<ValueId, ValueId>> ways;
  for (const NodeId n : cut)
    for (const ValueId v : m.outputs(n)) {
      bool read = false;
      for (UseId u = v ? m.first_use(v) : UseId{}; u && !read; u = m.next_use(u)) read = stays(u);
      const ValueId w = read && !m.is_fixed(v) ? way_in(e, types, v) : ValueId{};
      if (w) ways.emplace_back(v, w);
    }
  for (const auto& [v, w] : ways) {
    std::vector<std::pair<NodeId, std::size_t>> readers;
    for (UseId u = m.first_use(v); u; u = m.next_use(u)) {
      const bool from_body = m.is_return(m.user(u)) && m.node(m.user(u)).graph != m.main();
      if (stays(u) && !from_body) readers.emplace_back(m.user(u), m.slot(u));
    }
    for (const auto& [user, slot] : readers) m.set_operand(user, slot, w);
  }
}

}  // namespace

void drop_outputs(Session& s) {
  const auto count = [&] { return s.model().graph_output_count(s.model().main()); };
  if (count() < 2) return;
  remove_chunks(s, count, [&](std::size_t begin, std::size_t end) {
    Edit e = s.edit();
    Model& m = e.model;
    std::vector<ValueId> rest;
    for (std::size_t i = 0; i < m.graph_output_count(m.main()); ++i)
      if (i < begin || i >= end) rest.push_back(m.graph_output(m.main(), i));
    if (rest.empty()) return;
    m.set_graph_outputs(m.main(), rest);
    s.attempt(std::move(e));
  });
}

void cut_nodes(Session& s) {
  const auto count = [&] { return std::size_t{s.model().graph(s.model().main()).node_count}; };
  remove_chunks(s, count, [&](std::size_t begin, std::size_t end) {
    for (const bool bridged : {false, true}) {
      Edit e = s.edit();
      const Model& m = e.model;
      std::vector<NodeId> nodes;
      std::size_t i = 0;
      for (NodeId n = m.first_node(m.main()); n; n = m.next_node(n), ++i) {
        if (i < begin || i >= end) continue;
        e.cut[n.index()] = true;
        nodes.push_back(n);
      }
      if (bridged) bridge(e, s.inference(), nodes);
      e.leaves_are_outputs = !bridged;
      if (s.attempt(std::move(e))) return;
    }
  });
}

}  // namespace graphopt
