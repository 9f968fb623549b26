// loop-invariants: computes outside of a Loop or Scan what is the same in each iteration.
//
// Problem: exporters write a whole module into the body of a loop, with nodes that read nothing of the
// iteration.
// Method: peephole, from a node of a body. All its operands come from outside of the body or are constants:
// the node moves directly before the loop, with a copy of such constants.
// Exact: the node computes the same. Where the body may never run, only nodes move that cannot fail: what
// only reads dims, elementwise operators on one tensor, or on operands of proven equal shape, without
// division, and Transposes of data of known rank that the perm fits, or without a perm. Where there is an
// iteration in each run, any pure node moves: the first iteration would have run it. Where every bit is
// promised, no operand by which a kernel is chosen, or that is packed, may become a constant or cease to be
// one (rewrite/constancy.h).
// Lowers: nodes that are executed once for each iteration. Ends: each rewrite moves a
// node out of a body. Left alone: nodes with bodies, what a body returns (it may return nothing from
// outside), constants (they cost nothing where they are), draws and unknown operators, nodes that overwrite
// an operand.
//
//   y = Loop (n, "", x) <body = b (i, c, a) => (c, r) {          e = Exp (w)
//     e = Exp (w)  r = Add (a, e) }>                      =>     y = Loop (n, "", x) <body = b (i, c, a) =>
//                                                                  (c, r) { r = Add (a, e) }>

#include <algorithm>
#include <string>
#include <vector>

#include "ir/copy.h"
#include "ops/attributes.h"
#include "ops/node_facts.h"
#include "passes/loop_form.h"
#include "passes/rule_pass.h"
#include "rewrite/constancy.h"

namespace graphopt {
namespace {

class MoveOut final : public Rule {
 public:
  static constexpr Counter kCounter{"moved", "nodes that moved out of a loop"};
  std::string_view name() const override { return "invariant-node"; }
  std::span<const OpKind> roots() const override { return {}; }

  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    const GraphId body = m.node(n).graph;
    const NodeId loop = m.graph(body).owner;
    if (!loop || (m.kind(loop) != OpKind::Loop && m.kind(loop) != OpKind::Scan)) return false;
    if (m.kind(n) == OpKind::Constant || m.kind(n) == OpKind::Identity) return false;
    if (facts_of(m, n).purity != Purity::Pure || m.node(n).overwrites != 0 || !attributes_known(m, n) ||
        m.input_count(n) == 0)
      return c.no(n, "it is not known to be a function of its operands");
    for (std::size_t i = 0; i < m.input_count(n); ++i)
      if (const ValueId v = m.input(n, i); v && !is_outer(m, v, body))
        return c.no(n, "an operand may differ between iterations");
    const NodeId ret = m.graph(body).ret;
    for (const ValueId v : m.outputs(n)) {
      if (!v) continue;
      if (m.is_fixed(v)) return c.no(n, "its result is named from outside, or overwritten");
      for (UseId u = m.first_use(v); u; u = m.next_use(u))
        if (m.user(u) == ret) return c.no(n, "the body returns its result");
    }
    if (!runs(c, loop) && !cannot_fail(c, n))
      return c.no(n, "the loop may have no iteration, and the node may fail");
    return !keeps_bits(c.options.strictness) || keeps_constancy(c, n);
  }

  void apply(PassContext& c, NodeId n) override {
    Model& m = c.model;
    const GraphId body = m.node(n).graph, graph = m.graph(body).parent;
    const NodeId loop = m.graph(body).owner;
    Copier copy(m, m);
    for (std::size_t i = 0; i < m.input_count(n); ++i) {
      const ValueId v = m.input(n, i);
      if (!v || m.value(v).graph != body || copy.find(v)) continue;
      copy.map(v, m.add_initializer(graph, m.text(m.value(v).name), m.constant_of(v)));
    }
    const NodeId made = copy.node(n, graph, loop);
    for (std::size_t i = 0; i < m.output_count(n); ++i) {
      const ValueId v = m.output(n, i);
      while (const UseId u = v ? m.first_use(v) : UseId{})
        m.set_operand(m.user(u), m.slot(u), m.output(made, i));
    }
    m.erase(n);
  }

 private:
  // From outside of the body, or a constant that the graph around it can hold: one that stays in the body for
  // other readers only if it is small.
  static bool is_outer(const Model& m, ValueId v, GraphId body) {
    if (m.value(v).graph != body) return true;
    const TensorId t = m.constant_of(v);
    return t && m.can_hold_constant(m.graph(body).parent, m.tensor(t).dtype) &&
           (m.use_count(v) == 1 || m.tensor(t).dims.empty());
  }

  // Returns whether each execution of the loop has an iteration.
  static bool runs(const MatchContext& c, NodeId loop) {
    const Model& m = c.model;
    if (m.kind(loop) == OpKind::Scan) return false;
    if (const ValueId condition = m.input(loop, 1)) {
      const SymbolicTensor* t = c.infer.symbolic(condition);
      if (t == nullptr || t->elements.size() != 1 || !c.dims.is_constant(t->elements[0], 1)) return false;
    }
    const ValueId count = m.input(loop, 0);
    if (!count) return true;
    const SymbolicTensor* t = c.infer.symbolic(count);
    return t != nullptr && t->elements.size() == 1 && c.dims.range(t->elements[0]).low >= 1;
  }

  static bool cannot_fail(const MatchContext& c, NodeId n) {
    const Model& m = c.model;
    const OpKind kind = m.kind(n);
    if (kind == OpKind::Shape || kind == OpKind::Size) return true;
    // A perm fails on data of another rank: then inference does not state the rank of the result.
    if (kind == OpKind::Transpose)
      return !has_attr(m, n, names::perm) ||
             (c.infer.has_rank(m.input(n, 0)) && c.infer.has_rank(m.output(n, 0)));
    const DType type = c.infer.dtype(m.input(n, 0));
    if (type == DType::Undefined || type == DType::String) return false;
    const OpFacts& row = facts_of(m, n);
    if (row.cls == OpClass::Unary && m.input_count(n) == 1)
      return kind != OpKind::Cast || c.infer.dtype(m.output(n, 0)) != DType::String;
    if (row.cls != OpClass::Nary || row.broadcast != Broadcast::Multi || kind == OpKind::Div ||
        kind == OpKind::Mod || kind == OpKind::Pow)
      return false;
    for (std::size_t i = 1; i < m.input_count(n); ++i)
      if (!m.input(n, i) || !c.infer.same_shape(m.input(n, 0), m.input(n, i))) return false;
    return true;
  }

  static bool keeps_constancy(const MatchContext& c, NodeId n) {
    const Model& m = c.model;
    for (std::uint32_t slot = 0; slot < m.input_count(n); ++slot) {
      const ValueId v = m.input(n, slot);
      const Packing packing = packing_of(m, c.infer, n, slot);
      if (packing == Packing::None || m.value(v).graph == m.node(n).graph) continue;
      const Constancy before = constancy_of(m, v, m.node(n).graph);
      const Constancy after = constancy_of(m, v, m.graph(m.node(n).graph).parent);
      if (!same_packing(packing, before, after))
        return c.no(n, "its kernel may choose by an operand that comes nearer");
    }
    return true;
  }
};

}  // namespace

extern constinit const PassInfo loop_invariants = {
    .name = "loop-invariants",
    .summary = "compute once what is the same in each iteration of a loop",
    .exact = Exact::Yes,
    .level = 1,
    .make = make_pass<RulePass<MoveOut>>};

}  // namespace graphopt
