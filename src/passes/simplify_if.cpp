// simplify-if: removes results of an If that are the same in both branches, and those that nothing reads.
//
// Problem: both branches of an exported If return a value that neither changes, or more results than are
// read.
// Method: one rule per finding, from the node.
//   same-result  both branches return a copy of one value from outside, or equal constants: readers of the
//                result read that.
//   unread       a result that nothing reads is returned by neither branch any more; what only it needed
//                becomes dead.
// Exact: no element is computed otherwise. Lowers: results. Ends: each rewrite removes a result, or the
// readers of one.
// Left alone: the last result; branches that are not known or return another number of results; a value that
// cannot take the place of the result, such as an input of the graph that of an output.
//
//   y, z = If (c) <then_branch = t () => (p, q) { p = Relu (x)  q = Identity (x) },      =>  y = If (c) <...>
//                  else_branch = e () => (r, s) { r = Neg (x)   s = Identity (x) }>          w = Exp (x)
//   w = Exp (z)

#include <array>
#include <optional>
#include <vector>

#include "ops/attributes.h"
#include "ops/constants.h"
#include "passes/rule_pass.h"
#include "support/known_names.h"

namespace graphopt {
namespace {

using Branches = std::array<GraphId, 2>;

// Nothing where the branches do not fit the node.
std::optional<Branches> branches_of(const Model& m, NodeId n) {
  if (!attributes_known(m, n)) return {};
  Branches both;
  for (std::size_t i = 0; i < 2; ++i) {
    const Attr* a = m.find_attr(n, i == 0 ? names::then_branch : names::else_branch);
    if (a == nullptr || a->graphs.size() != 1) return {};
    both[i] = a->graphs[0];
    if (!m.graph_inputs(both[i]).empty() || m.graph_output_count(both[i]) != m.output_count(n)) return {};
  }
  return both;
}

class SameResult final : public Rule {
 public:
  static constexpr Counter kCounter{"same", "results that are the same in both branches"};
  std::string_view name() const override { return "same-result"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::If>; }

  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    const auto both = branches_of(m, n);
    if (!both) return c.no(n, "its branches are not known");
    for (slot_ = 0; slot_ < m.output_count(n); ++slot_)
      if (is_same(c, n, *both)) return true;
    return false;
  }

  void apply(PassContext& c, NodeId n) override {
    Model& m = c.model;
    const ValueId result = m.output(n, slot_);
    if (constant_) m.make_constant(result, constant_);
    else m.replace_all_uses(result, outer_);
  }

  bool hands_output_over(const Model& m, NodeId n) const override {
    return m.is_graph_output(m.output(n, slot_));
  }

 private:
  bool is_same(const MatchContext& c, NodeId n, const Branches& both) {
    const Model& m = c.model;
    const ValueId result = m.output(n, slot_);
    if (!result || m.use_count(result) == 0) return false;
    std::array<ValueId, 2> sources;
    for (std::size_t i = 0; i < 2; ++i) sources[i] = source(m, both[i], m.graph_output(both[i], slot_));
    constant_ = {};
    outer_ = sources[0];
    if (outer_ == sources[1])  // what both branches see is from outside
      return m.can_replace(result, outer_) ||
             c.no(n, "the value of both branches cannot take the place of the result");
    constant_ = m.constant_of(outer_);
    if (!equal_constants(m, constant_, m.constant_of(sources[1]))) return false;
    return (!m.is_graph_output(result) && !m.is_fixed(result) && m.can_become_constant(result) &&
            m.can_hold_constant(m.node(n).graph, m.tensor(constant_).dtype)) ||
           c.no(n, "the result cannot be a constant");
  }

  // What the value is a copy of; it ends outside of the branch.
  static ValueId source(const Model& m, GraphId branch, ValueId v) {
    while (m.value(v).graph == branch && !m.is_fixed(v)) {
      const NodeId def = m.value(v).def;
      if (!def || m.kind(def) != OpKind::Identity || !m.input(def, 0)) break;
      v = m.input(def, 0);
    }
    return v;
  }

  std::size_t slot_ = 0;
  ValueId outer_;
  TensorId constant_;  // none: the value outer_
};

class UnreadResult final : public Rule {
 public:
  static constexpr Counter kCounter{"unread", "results that nothing read"};
  std::string_view name() const override { return "unread"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::If>; }

  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    const auto both = branches_of(m, n);
    if (!both) return false;
    both_ = *both;
    unread_.clear();
    for (std::size_t i = 0; i < m.output_count(n); ++i) {
      const ValueId v = m.output(n, i);
      if (!v || (m.use_count(v) == 0 && !m.value(v).pinned)) unread_.push_back(i);
    }
    return !unread_.empty() && unread_.size() < m.output_count(n);  // all: dead-code asks whether it may go
  }

  void apply(PassContext& c, NodeId n) override {
    Model& m = c.model;
    for (const GraphId branch : both_) {
      std::vector<ValueId> kept;
      std::size_t next = 0;
      for (std::size_t i = 0; i < m.graph_output_count(branch); ++i) {
        if (next < unread_.size() && unread_[next] == i) ++next;
        else kept.push_back(m.graph_output(branch, i));
      }
      m.set_graph_outputs(branch, kept);
    }
    for (auto it = unread_.rbegin(); it != unread_.rend(); ++it) m.remove_output(n, *it);
  }

 private:
  Branches both_;
  std::vector<std::size_t> unread_;  // sorted
};

}  // namespace

extern constinit const PassInfo simplify_if = {
    .name = "simplify-if",
    .summary = "remove results of If that both branches share or that nothing reads",
    .exact = Exact::Yes,
    .level = 1,
    .make = make_pass<RulePass<SameResult, UnreadResult>>};

}  // namespace graphopt
