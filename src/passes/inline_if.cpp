// inline-if: replaces an If with a constant condition by the branch that is taken.
//
// Problem: exporters emit an If for what they could not decide (a Squeeze of a dim that may be 1); once
// shapes are known the condition folds to a constant. The other branch is not only dead weight: with the
// sharper shapes it may be ill-typed, and ONNX Runtime refuses a model with an ill-typed branch even if it is
// never taken.
// Method: the nodes and initializers of the taken branch move directly before the If; users of the If's
// results read the branch's results, or, where these cannot take the name of an output, an Identity of them.
// Exact: a constant condition takes the same branch in every run, and a branch has no state of its own.
// Lowers: launches (the If). Ends: each rewrite removes an If and makes none.
// Left alone: a condition that may differ between runs, an overridable one, a branch that returns fewer
// results.
//
//   y = If (c) <then_branch = t () => (p) { p = Relu (x) }, else_branch = ...>      =>      y = Relu (x)
//   with c = true

#include <vector>

#include "ops/node_facts.h"
#include "passes/rule_pass.h"
#include "support/known_names.h"

namespace graphopt {
namespace {

constexpr OpKind kIf[] = {OpKind::If};

class InlineIf final : public Rule {
 public:
  static constexpr Counter kCounter{"inlined", "If nodes replaced by the branch they take"};
  std::string_view name() const override { return "constant-condition"; }
  std::span<const OpKind> roots() const override { return kIf; }

  bool match(const PassContext& c, NodeId n) override {
    const Model& m = c.model;
    const ValueId condition = m.input(n, 0);
    const TensorId t = condition ? m.constant_of(condition) : TensorId{};
    if (!t || m.tensor(t).dtype != DType::Bool || m.tensor(t).elements != 1) return false;
    const auto raw = m.raw(t);
    const Attr* branch = raw && raw->size() == 1
                             ? m.find_attr(n, (*raw)[0] ? names::then_branch : names::else_branch)
                             : nullptr;
    if (branch == nullptr || branch->ref || branch->graphs.size() != 1) return false;
    taken_ = branch->graphs[0];
    if (!m.graph_inputs(taken_).empty() || m.graph_output_count(taken_) < m.output_count(n)) return false;
    for (std::size_t i = 0; i < m.graph_output_count(taken_); ++i)
      if (!m.graph_output(taken_, i)) return false;
    return true;
  }

  void apply(PassContext& c, NodeId n) override {
    Model& m = c.model;
    std::vector<ValueId> results;
    for (std::size_t i = 0; i < m.graph_output_count(taken_); ++i)
      results.push_back(m.graph_output(taken_, i));
    if (holders_.values.empty()) holders_ = m.count_names();
    m.inline_subgraph(taken_, holders_);
    m.set_graph_outputs(taken_, {});  // the branch's outputs are no longer outputs of a graph
    const OpId identity = standard_op(m, OpKind::Identity);
    for (std::size_t i = 0; i < m.output_count(n); ++i) {
      const ValueId v = m.output(n, i);
      if (!v || m.use_count(v) == 0) continue;
      if (m.can_replace(v, results[i])) {
        m.replace_all_uses(v, results[i]);
      } else {
        const ValueId out[] = {m.detach_output(n, i)};
        m.add_node(m.node(n).graph, identity, std::span(&results[i], 1), out, n);
      }
    }
    m.erase(n);
  }

 private:
  GraphId taken_;
  NameHolders holders_;  // names in use, counted once
};

}  // namespace

extern constinit const PassInfo inline_if = {
    .name = "inline-if",
    .summary = "replace an If with a constant condition by its branch",
    .exact = Exact::Yes,
    .level = 1,
    .make = make_pass<RulePass<InlineIf>>};

}  // namespace graphopt
