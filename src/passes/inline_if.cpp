// inline-if: replaces an If by one of its branches, where the condition is a constant, the branches are
// equal, or the result of the other branch has a rank that no reader takes.
//
// Problem: exporters write an If for what they could not decide, such as a Squeeze of a dim that may be 1;
// once shapes are known, the condition is a constant. The other branch costs more than its bytes: with the
// known shapes it may be ill-typed, and then ONNX Runtime refuses the model, although the branch never runs.
// Method: three reasons to take a branch. The condition is a constant. Or both branches compute the same:
// they differed before folding, or by an option that was not used. Or inference cannot tell whether a dim is
// 1, but a reader of the result can: a recurrence that gets the squeezed operand or the whole one refuses the
// whole one, for its rank. Branches are equal if their results are, node by node: the same operator and
// attributes, operands that are one value from outside, equal constants or results of equal nodes. A branch
// cannot be taken if the ranks that its result may have are none of those that the readers of the If's result
// take (passes/branch_ranks.h): recurrences take 3, Conv that of its weights. The nodes and initializers of
// the taken branch move directly before the If; users of the If's
// results read the branch's results, or, where these cannot take the name of an output, an Identity of them.
// Exact: a constant condition takes the same branch in every run, equal branches compute the same, and a
// branch has no state of its own. A reader that refuses a rank is in the graph of the If, and an output
// depends on it, so a run that takes the other branch fails in the original. A
// runtime packs constant weights of a node's own graph and of the graph around it, not those further out
// (rewrite/constancy.h): where every bit is promised, a node that comes nearer to such a weight reads an
// Identity of it, which is no constant.
// Lowers: launches (the If). Ends: each rewrite removes an If and makes none.
// Left alone: a condition that may differ between runs, an overridable one; equal branches with nodes that
// have bodies, draw or are unknown; a rank that only a reader in a body refuses, which may not run, or one
// that both branches can give; a branch that returns fewer
// results, or has a node whose kernel overwrites an operand unless its result is an output of the graph;
// where every bit is promised, a branch that reads a parameter of the function, or a constant of the graph
// around it, at an operand by which a kernel is chosen in ways that are not known.
//
//   y = If (c) <then_branch = t () => (p) { p = Relu (x) }, else_branch = ...>      =>      y = Relu (x)
//   with c = true

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ops/constants.h"
#include "ops/node_facts.h"
#include "ops/same_attributes.h"
#include "passes/branch_ranks.h"
#include "passes/rule_pass.h"
#include "rewrite/build.h"
#include "rewrite/constancy.h"
#include "support/known_names.h"

namespace graphopt {
namespace {

GraphId branch_of(const Model& m, NodeId n, NameId name) {
  const Attr* branch = m.find_attr(n, name);
  return branch == nullptr || branch->graphs.size() != 1 ? GraphId{} : branch->graphs[0];
}

// A rule that replaces an If by its branch taken_.
class InlineBranch : public Rule {
 public:
  struct Run {
    NameHolders names;  // in use, counted once
  };
  explicit InlineBranch(Run& run) : run_(run) {}
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::If>; }

  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    if (!choose(c, n)) return false;
    if (!m.graph_inputs(taken_).empty()) return c.no(n, "the branch has inputs");
    if (m.graph_output_count(taken_) < m.output_count(n)) return c.no(n, "the branch returns fewer results");
    for (NodeId inner = m.first_node(taken_); inner; inner = m.next_node(inner))
      if (m.node(inner).overwrites != 0) return c.no(inner, "overwrites an operand");
    return !keeps_bits(c.options.strictness) || find_nearer(c);
  }

  void apply(PassContext& c, NodeId n) override {
    Model& m = c.model;
    std::vector<ValueId> results;
    for (std::size_t i = 0; i < m.graph_output_count(taken_); ++i)
      results.push_back(m.graph_output(taken_, i));
    if (run_.names.values.empty()) run_.names = m.count_names();
    m.inline_subgraph(taken_, run_.names);
    m.set_graph_outputs(taken_, {});  // the branch's outputs are no longer outputs of a graph
    std::ranges::stable_sort(nearer_, {}, &Nearer::value);
    ValueId copied, copy;
    for (const Nearer& use : nearer_) {
      if (use.value != copied) {
        copied = use.value;
        const std::string base = std::string(m.text(m.value(copied).name)) + "_copy";
        const NodeId before = m.ancestor_in(m.node(n).graph, use.node);
        const Site at{m, m.node(n).graph, before, base};
        copy = m.output(add_operator(at, OpKind::Identity, {&copied, 1}), 0);
      }
      m.set_operand(use.node, use.slot, copy);
    }
    for (std::size_t i = 0; i < m.output_count(n); ++i) {
      const ValueId v = m.output(n, i);
      if (!v || (m.use_count(v) == 0 && !m.value(v).pinned)) continue;
      if (m.can_replace(v, results[i])) {
        m.replace_all_uses(v, results[i]);
      } else {
        const ValueId out[] = {m.detach_output(n, i)};
        add_operator({m, m.node(n).graph, n, {}, out}, OpKind::Identity, {&results[i], 1});
      }
    }
    m.erase(n);
  }

 protected:
  // Sets taken_, or says why there is none.
  virtual bool choose(const MatchContext& c, NodeId n) = 0;

  GraphId taken_;

 private:
  // An operand that is computed now and would be a packed constant when its node is one graph further out.
  struct Nearer {
    NodeId node;
    std::uint32_t slot;
    ValueId value;
  };

  // Finds these operands in the branch and in the bodies of its nodes; further inside nothing comes within
  // sight. Returns false if an Identity would not keep the bits of one.
  bool find_nearer(const MatchContext& c) {
    nearer_.clear();
    const Model& m = c.model;
    for (NodeId n = m.first_node(taken_); n; n = m.next_node(n)) {
      if (!find_nearer(c, n)) return false;
      for (const Attr& a : m.attrs(n))
        for (const GraphId body : a.graphs)
          for (NodeId inner = m.first_node(body); inner; inner = m.next_node(inner))
            if (!find_nearer(c, inner)) return false;
    }
    return true;
  }

  bool find_nearer(const MatchContext& c, NodeId n) {
    const Model& m = c.model;
    if (!packs_operands(facts_of(m, n).kind)) return true;
    for (std::uint32_t slot = 0; slot < m.input_count(n); ++slot) {
      const ValueId v = m.input(n, slot);
      const Packing packing = packing_of(m, c.infer, n, slot);
      if (packing == Packing::None || m.inside(m.value(v).graph, taken_)) continue;
      const Constancy before = constancy_of(m, v, m.node(n).graph);
      // One graph less lies between the two; that of the node's parent, seen from outside, is the same.
      const Constancy after = constancy_of(m, v, m.graph(m.node(n).graph).parent);
      if (same_packing(packing, before, after)) continue;
      if (before != Constancy{}) return c.no(n, "its kernel may choose by an operand that comes nearer");
      nearer_.push_back({n, slot, v});
    }
    return true;
  }

  std::vector<Nearer> nearer_;
  Run& run_;
};

class ConstantCondition final : public InlineBranch {
 public:
  using InlineBranch::InlineBranch;
  static constexpr Counter kCounter{"inlined", "If nodes replaced by the branch they take"};
  std::string_view name() const override { return "constant-condition"; }

 private:
  bool choose(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    const TensorId t = m.constant_of(m.input(n, 0));
    const auto condition = int_scalar(m, t);
    if (!condition || m.tensor(t).dtype != DType::Bool)
      return c.no(n, "the condition is not the same in every run");
    taken_ = branch_of(m, n, *condition != 0 ? names::then_branch : names::else_branch);
    return taken_ || c.no(n, "it does not have the branch");
  }
};

class EqualBranches final : public InlineBranch {
 public:
  using InlineBranch::InlineBranch;
  static constexpr Counter kCounter{"equal", "If nodes with two equal branches"};
  std::string_view name() const override { return "equal-branches"; }

 private:
  bool choose(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    taken_ = branch_of(m, n, names::then_branch);
    other_ = branch_of(m, n, names::else_branch);
    if (!taken_ || !other_ || m.graph_output_count(taken_) != m.graph_output_count(other_))
      return c.no(n, "its branches are not known");
    // Nodes that no result needs have no effect, either.
    for (const GraphId branch : {taken_, other_})
      for (NodeId inner = m.first_node(branch); inner; inner = m.next_node(inner))
        if (facts_of(m, inner).purity != Purity::Pure) return c.no(inner, "is no function of its operands");
    return are_equal(m) || c.no(n, "its branches differ");
  }

  bool are_equal(const Model& m) {
    pairs_.clear();
    todo_.clear();
    for (std::size_t i = 0; i < m.graph_output_count(taken_); ++i)
      todo_.emplace_back(m.graph_output(taken_, i), m.graph_output(other_, i));
    while (!todo_.empty()) {
      const auto [a, b] = todo_.back();
      todo_.pop_back();
      if (a == b || (a && b && equal_constants(m, m.constant_of(a), m.constant_of(b)))) continue;
      if (!a || !b || m.value(a).graph != taken_ || m.value(b).graph != other_) return false;
      const NodeId x = m.value(a).def, y = m.value(b).def;
      if (!x || !y || m.value(a).def_slot != m.value(b).def_slot) return false;
      const auto [known, added] = pairs_.try_emplace(y, x);
      if (known->second != x) return false;
      if (added && !equal_nodes(m, x, y)) return false;
    }
    return true;
  }

  // Operands are left to be compared.
  bool equal_nodes(const Model& m, NodeId x, NodeId y) {
    if (m.node(x).op != m.node(y).op || m.input_count(x) != m.input_count(y) ||
        m.output_count(x) != m.output_count(y) || !same_attributes(m, x, y))
      return false;
    for (std::size_t i = 0; i < m.input_count(x); ++i) todo_.emplace_back(m.input(x, i), m.input(y, i));
    return true;
  }

  GraphId other_;
  std::unordered_map<NodeId, NodeId> pairs_;  // of other_ and taken_
  std::vector<std::pair<ValueId, ValueId>> todo_;
};

class RequiredRank final : public InlineBranch {
 public:
  using InlineBranch::InlineBranch;
  static constexpr Counter kCounter{"ranks", "If nodes with one branch whose result has a rank that is read"};
  std::string_view name() const override { return "required-rank"; }

 private:
  bool choose(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    const GraphId then_branch = branch_of(m, n, names::then_branch);
    const GraphId else_branch = branch_of(m, n, names::else_branch);
    if (!then_branch || !else_branch) return c.no(n, "its branches are not known");
    std::string_view reason = "its readers take a result of any rank";
    for (std::size_t i = 0; i < m.output_count(n); ++i) {
      const ValueId y = m.output(n, i);
      const Ranks taken = y ? required_ranks(c, y) : kAnyRank;
      if (taken == kAnyRank) continue;
      const bool may_then = (ranks_of(c, then_branch, i) & taken) != 0;
      const bool may_else = (ranks_of(c, else_branch, i) & taken) != 0;
      reason =
          may_then ? "both branches may give the rank that is read" : "no branch gives the rank that is read";
      if (may_then == may_else) continue;
      const auto known = c.infer.integers(m.input(n, 0));
      if (known && known->size() == 1 && (known->front() != 0) != may_then)
        return c.no(n, "its readers refuse the branch that its condition takes");
      taken_ = may_then ? then_branch : else_branch;
      return true;
    }
    return c.no(n, reason);
  }

  static Ranks ranks_of(const MatchContext& c, GraphId branch, std::size_t slot) {
    return slot < c.model.graph_output_count(branch) ? possible_ranks(c, c.model.graph_output(branch, slot))
                                                     : kAnyRank;
  }
};

}  // namespace

extern constinit const PassInfo inline_if = {
    .name = "inline-if",
    .summary = "replace an If by a branch that it must take or that equals the other",
    .exact = Exact::Yes,
    .level = 1,
    .make = make_pass<RulePass<ConstantCondition, EqualBranches, RequiredRank>>};

}  // namespace graphopt
