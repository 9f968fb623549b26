// The rows of the fact table for the nodes of a model.
#pragma once

#include <vector>

#include "ir/model.h"
#include "ops/facts.h"

namespace graphopt {

// Returns the row of the node's operator at its opset.
inline const OpFacts& facts_of(const Model& m, NodeId n) {
  return facts(m.kind(n), static_cast<int>(m.opset(n)));
}

// Returns whether the table has the node's operator at its opset. Rules say nothing about others: an opset
// newer than the table may give an operator another meaning.
inline bool is_known(const Model& m, NodeId n) { return facts_of(m, n).kind == m.kind(n); }

// Returns whether `accepts` a node and all nodes that run in it: in its bodies, and in functions, once each.
template <class F> bool all_that_run_in(const Model& m, NodeId root, F accepts) {
  std::vector<NodeId> todo{root};
  std::vector<bool> seen(m.function_count());
  const auto push_body = [&](GraphId g) {
    for (NodeId n = m.first_node(g); n; n = m.next_node(n)) todo.push_back(n);
  };
  while (!todo.empty()) {
    const NodeId n = todo.back();
    todo.pop_back();
    if (!accepts(n)) return false;
    for (const Attr& a : m.attrs(n))
      for (const GraphId g : a.graphs) push_body(g);
    if (m.kind(n) != OpKind::FunctionCall) continue;
    const FunctionId f = m.op(n).function;
    if (seen[f.index()]) continue;
    seen[f.index()] = true;
    push_body(m.function(f).body);
  }
  return true;
}

// Returns the operands whose memory the node writes, a bit each (Writes).
inline std::uint64_t written_operands(const Model& m, NodeId n) {
  const Writes& writes = facts_of(m, n).writes;
  if (writes.operands == 0) return 0;
  for (const Attr& a : m.attrs(n))
    if (m.text(a.name) == writes.if_set && (a.ref || a.i != 0)) return writes.operands;
  return 0;
}

// Returns the operator of the table for a new node.
inline OpId standard_op(Model& m, OpKind kind) { return m.intern_op(kind, op_domain(kind), op_name(kind)); }

}  // namespace graphopt
