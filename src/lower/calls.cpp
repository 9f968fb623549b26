// Expansions of calls of the model's own functions.
//
// call   a copy of the function's body, as inline-functions makes it
// Exact: ONNX Runtime does the same when it loads a model. A device supports no call, whatever its body
// holds. Left alone: what inline-functions leaves alone; bodies of more than kMostCallNodes nodes, which a
// search would copy again and again. The search erases functions that are called no more, after all trials.
//
//   h = local.Heads (x)    =>    r = Reshape (x, s)    h = Transpose <perm = [0, 2, 1, 3]> (r)
#include "lower/expansion.h"
#include "passes/inline_functions.h"

namespace graphopt {
namespace {

constexpr std::size_t kMostCallNodes = 64;

class Call final : public ExpansionRule {
 public:
  std::string_view name() const override { return "call"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::FunctionCall>; }
  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    // Constants of the body become initializers.
    if (m.ir_version < 4 || m.node(n).graph != m.main()) return false;
    return m.graph(m.function(m.op(n).function).body).node_count <= kMostCallNodes &&
           why_not_inlined(m, n).empty();
  }
  void apply(PassContext& c, NodeId n) override {
    Model& m = c.model;
    const NodeId before = m.prev_node(n), after = m.next_node(n);
    inline_call(m, n);
    NodeId made = before ? m.next_node(before) : m.first_node(m.main());
    while (made != after) {
      const NodeId next = m.next_node(made);
      const ValueId v = m.kind(made) == OpKind::Constant ? m.output(made, 0) : ValueId{};
      if (v && m.value(v).tensor && m.can_become_constant(v)) m.make_constant(v, m.value(v).tensor);
      made = next;
    }
  }
};

constexpr Expansion kCallExpansions[] = {expansion<Call, Exact::Yes>()};

}  // namespace

std::span<const Expansion> call_expansions() { return kCallExpansions; }

}  // namespace graphopt
