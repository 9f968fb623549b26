// A pass that consists only of rules: they are applied wherever they match, until none does.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <tuple>

#include "ops/node_facts.h"
#include "passes/pass.h"
#include "rewrite/engine.h"

namespace graphopt {

// A rule of which matches replace the root's first result by a value upstream of it; a match may also leave
// source_ empty and edit the graph in another way.
//
// Where the value cannot take the name of an output (an input of the graph, another output), the root becomes
// an Identity of it, if a node goes thereby that computes another operand.
class ReplaceRule : public Rule {
 public:
  bool hands_output_over(const Model& m, NodeId n) const override {
    return source_ && !copies_ && m.is_graph_output(m.output(n, 0));
  }
  void apply(PassContext& c, NodeId n) override {
    Model& m = c.model;
    if (!copies_) return m.replace_all_uses(m.output(n, 0), source_);
    while (!m.attrs(n).empty()) m.remove_attr(n, m.attrs(n).front().name);
    const std::array<ValueId, 1> operands{source_};
    m.set_op(n, standard_op(m, OpKind::Identity));
    m.set_operands(n, operands);
  }

 protected:
  // Promises to replace the result by `source`, or refuses with the reason.
  bool replaces(const MatchContext& c, NodeId n, ValueId source, std::string_view reason) {
    copies_ = !c.model.can_replace(c.model.output(n, 0), source);
    if (copies_ && !frees_a_node(c.model, n, source)) return c.no(n, reason);
    source_ = source;
    return true;
  }

  ValueId source_;

 private:
  static bool frees_a_node(const Model& m, NodeId n, ValueId source) {
    const ValueId y = m.output(n, 0);
    if (!source || m.output_count(n) != 1 || !m.is_graph_output(y) || m.is_fixed(y) || m.is_fixed(source))
      return false;
    for (std::size_t i = 0; i < m.input_count(n); ++i) {
      const ValueId v = m.input(n, i);
      if (v && v != source && m.value(v).def && m.single_user(v) == n && !m.constant_of(v)) return true;
    }
    return false;
  }

  bool copies_ = false;
};

// A rule that removes a node: users of its first result read its first operand. match() must end in may_skip.
class SkipRule : public ReplaceRule {
 protected:
  // Without a use there is nothing to do; a further result that the operator does not have may keep the node.
  static bool has_readers(const Model& m, NodeId n) {
    const ValueId result = m.output(n, 0);
    return result && m.use_count(result) > 0;
  }
  bool may_skip(const MatchContext& c, NodeId n) {
    return has_readers(c.model, n) &&
           replaces(c, n, c.model.input(n, 0), "the operand cannot take the place of the result");
  }
};

// What a rule keeps from match to match, its `Run`, and nothing where it has none.
template <class R> struct RunOf {
  struct Type {};
};
template <class R>
  requires requires { typename R::Run; }
struct RunOf<R> {
  using Type = typename R::Run;
};

// A rule that is constructed anew for each match: apply() finds in its members what the match before it
// found, and nothing that an earlier one left there, whatever match() forgets to reset. What is to last for a
// run, as a count that is costly or a limit, is in a struct Run of the rule, which its constructor takes. A
// rule with kIsCostlyToMake is constructed anew only where it matches, and then has to match once more.
template <class Renewed> class FreshRule final : public Rule {
 public:
  FreshRule() { renew(); }
  std::string_view name() const override { return rule_->name(); }
  std::span<const OpKind> roots() const override { return rule_->roots(); }
  bool match(const MatchContext& c, NodeId n) override {
    if constexpr (requires { Renewed::kIsCostlyToMake; })
      if (!rule_->match(c, n)) return false;
    return renew().match(c, n);
  }
  void apply(PassContext& c, NodeId n) override { rule_->apply(c, n); }
  bool hands_output_over(const Model& m, NodeId n) const override { return rule_->hands_output_over(m, n); }
  bool may_be_undone() const override {
    return !requires { typename Renewed::Run; };
  }

 private:
  Renewed& renew() {
    if constexpr (requires { typename Renewed::Run; }) return rule_.emplace(run_);
    else return rule_.emplace();
  }

  typename RunOf<Renewed>::Type run_;
  std::optional<Renewed> rule_;
};

// Each rule is a FreshRule and has `static constexpr Counter kCounter`, the counter of its
// rewrites.
template <class... Rules> class RulePass final : public Pass {
 public:
  bool run(PassContext& c) override {
    std::tuple<FreshRule<Rules>...> made;
    std::array<Rule*, sizeof...(Rules)> rules =
        std::apply([](auto&... r) { return std::array<Rule*, sizeof...(Rules)>{&r...}; }, made);
    const bool changed = apply_rules(c, rules) > 0;
    for (std::size_t i = 0; i < rules.size(); ++i) counters_[i].value += rules[i]->applied;
    return changed;
  }
  std::span<const Counter> counters() const override { return counters_; }

 private:
  std::array<Counter, sizeof...(Rules)> counters_{{Rules::kCounter...}};
};

}  // namespace graphopt
