// constants-to-initializers: turns Constant nodes into initializers of their graph.
//
// Problem: a constant may be a node or an initializer; passes and runtimes are simpler with one form, and a
// node costs more bytes than an initializer.
// Method: the result of a Constant node whose value the reader could decode becomes an initializer of the
// same name.
// Exact: the same tensor under the same name. Lowers: nodes. Ends: each rewrite removes a node.
// Left alone: function bodies (they have no initializers) and models of IR version 3 or older (their
// initializers must be inputs, which would change the interface); outputs of subgraphs; values with a
// reference attribute or a sparse tensor; nodes whose result has no use (dead-code removes them).
//
//   c = Constant <value = float[1] {2}> ()      =>      <float[1] c = {2}>
//   y = Mul (x, c)                                      y = Mul (x, c)

#include "ir/bodies.h"
#include "passes/rule_pass.h"

namespace graphopt {
namespace {

class ToInitializer final : public Rule {
 public:
  static constexpr Counter kCounter{"moved", "Constant nodes that became initializers"};
  std::string_view name() const override { return "to-initializer"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::Constant>; }

  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    const ValueId v = m.output(n, 0);
    if (!m.value(v).tensor) return c.no(n, "its value is no dense tensor, or the caller's");
    if (m.ir_version < 4) return c.no(n, "before IR version 4 an initializer must be an input");
    if (is_in_function(m, m.node(n).graph)) return c.no(n, "a function has no initializers");
    return m.node(n).graph == m.main() || !m.is_graph_output(v) || c.no(n, "a body returns it");
  }

  void apply(PassContext& c, NodeId n) override {
    const ValueId v = c.model.output(n, 0);
    c.model.make_constant(v, c.model.value(v).tensor);
  }
};

}  // namespace

extern constinit const PassInfo constants_to_initializers = {
    .name = "constants-to-initializers",
    .summary = "turn Constant nodes into initializers",
    .exact = Exact::Yes,
    .level = 1,
    .make = make_pass<RulePass<ToInitializer>>,
    .new_operators = NewOperators::Never};

}  // namespace graphopt
