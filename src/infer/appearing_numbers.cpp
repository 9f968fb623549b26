#include "infer/appearing_numbers.h"

#include <algorithm>

#include "ir/bodies.h"
#include "ops/node_facts.h"

namespace graphopt {
namespace {

class AppearingNumbers {
 public:
  AppearingNumbers(const Model& m, const Inference& infer)
      : m_(m),
        infer_(infer),
        constant_(m.value_count(), false),
        opens_(m.value_count(), false),
        found_(m.graph_count(), false),
        impure_(m.graph_count(), false) {
    find_impure();
    for (std::size_t i = 0; i < m.value_count(); ++i) constant_[i] = m.constant_of(ValueId{i}).valid();
    visit_graphs(false);
    // A function may be called with any of what was found.
    passed_ = std::ranges::find(found_, true) != found_.end();
    visit_graphs(true);
  }

  std::vector<bool> take_found() { return std::move(found_); }

 private:
  void visit_graphs(bool of_functions) {
    for (std::size_t i = 0; i < m_.graph_count(); ++i) {  // outer graphs have smaller numbers
      const GraphId g{i};
      if (!m_.graph(g).alive || is_in_function(m_, g) != of_functions) continue;
      const bool passed = of_functions ? passed_ : reads_some(m_.graph(g).owner);
      if (passed)
        for (const ValueId v : m_.graph_inputs(g)) opens_[v.index()] = true;
      for (NodeId n = m_.first_node(g); n; n = m_.next_node(n)) visit(g, n);
    }
  }

  void visit(GraphId g, NodeId n) {
    const bool constant = computes_constants(n);
    const bool found = reads_some(n);
    if (found) found_[g.index()] = true;
    for (const ValueId v : m_.outputs(n)) {
      if (!v) continue;
      constant_[v.index()] = constant;
      opens_[v.index()] = found && !has_known_dims(v);
    }
  }

  // Passes replace calls and branches that are known by their nodes, equal branches by what both return, and
  // loops by their iterations.
  bool computes_constants(NodeId n) const {
    const OpKind kind = m_.kind(n);
    if (kind == OpKind::FunctionCall) {
      if (impure_[m_.function(m_.op(n).function).body.index()]) return false;
    } else if (facts_of(m_, n).purity == Purity::ControlFlow) {
      if (!has_pure_bodies(n) || !captures_constants(n)) return false;
      if (kind == OpKind::If) return true;  // whatever the condition
    } else if (facts_of(m_, n).purity != Purity::Pure) {
      return false;
    }
    for (std::size_t i = 0; i < m_.input_count(n); ++i)
      if (const ValueId v = m_.input(n, i); v && !constant_[v.index()]) return false;
    return true;
  }

  // A graph is impure by a node of its own, by a body of one of its nodes, or by a function that it calls.
  // From graphs of the first kind that spreads to owners and callers: calls may be nested deeper than a stack
  // is.
  void find_impure() {
    std::vector<std::vector<GraphId>> callers(m_.function_count());
    std::vector<GraphId> spreads;
    const auto mark = [&](GraphId g) {
      if (impure_[g.index()]) return;
      impure_[g.index()] = true;
      spreads.push_back(g);
    };
    for (std::size_t i = 0; i < m_.graph_count(); ++i) {
      const GraphId g{i};
      if (!m_.graph(g).alive) continue;
      for (NodeId n = m_.first_node(g); n; n = m_.next_node(n)) {
        const Purity purity = facts_of(m_, n).purity;
        if (m_.kind(n) == OpKind::FunctionCall) callers[m_.op(n).function.index()].push_back(g);
        else if (purity != Purity::Pure && purity != Purity::ControlFlow) mark(g);
      }
    }
    while (!spreads.empty()) {
      const Graph& graph = m_.graph(spreads.back());
      spreads.pop_back();
      if (graph.parent) mark(graph.parent);
      if (graph.function)
        for (const GraphId caller : callers[graph.function.index()]) mark(caller);
    }
  }

  bool has_pure_bodies(NodeId n) const {
    return std::ranges::all_of(m_.attrs(n), [this](const Attr& a) {
      return std::ranges::none_of(a.graphs, [this](GraphId g) { return impure_[g.index()]; });
    });
  }

  bool captures_constants(NodeId n) const {
    const GraphId outside = m_.node(n).graph;
    bool all = true;
    const auto look = [&](ValueId v) {
      all = all && (!v || constant_[v.index()] || !m_.inside(outside, m_.value(v).graph));
    };
    for_each_body(m_, n, [&](GraphId g) {
      for (std::size_t i = 0; i < m_.graph_output_count(g); ++i) look(m_.graph_output(g, i));
      for (NodeId inner = m_.first_node(g); inner; inner = m_.next_node(inner))
        for (std::size_t i = 0; i < m_.input_count(inner); ++i) look(m_.input(inner, i));
    });
    return all;
  }

  bool reads_some(NodeId n) const {
    for (std::size_t i = 0; n && i < m_.input_count(n); ++i)
      if (const ValueId v = m_.input(n, i); v && may_appear(v)) return true;
    return false;
  }

  bool may_appear(ValueId v) const { return opens_[v.index()] || (constant_[v.index()] && !is_known(v)); }

  // Dims are read from lists and scalars.
  bool is_known(ValueId v) const {
    if (m_.constant_of(v)) return true;
    if (infer_.has_rank(v) && infer_.dims(v).size() > 1) return has_known_dims(v);
    const SymbolicTensor* t = infer_.symbolic(v);
    return t && std::ranges::all_of(t->elements, [this](DimId d) { return d && m_.dims.value(d); });
  }

  bool has_known_dims(ValueId v) const {
    return infer_.has_rank(v) &&
           std::ranges::all_of(infer_.dims(v), [this](DimId d) { return d && m_.dims.value(d); });
  }

  const Model& m_;
  const Inference& infer_;
  std::vector<bool> constant_;  // by value: it is computed from constants alone
  std::vector<bool> opens_;     // by value: its dims may become known
  std::vector<bool> found_;     // by graph
  std::vector<bool> impure_;    // by graph: a node of it is not pure, at any depth
  bool passed_ = false;         // calls may pass what appears or opens
};

}  // namespace

std::vector<bool> graphs_where_numbers_may_appear(const Model& m, const Inference& infer) {
  return AppearingNumbers(m, infer).take_found();
}

}  // namespace graphopt
