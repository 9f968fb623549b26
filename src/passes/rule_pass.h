// A pass that consists only of rules: they are applied wherever they match, until none does.
#pragma once

#include <array>
#include <string_view>
#include <tuple>

#include "passes/pass.h"
#include "rewrite/engine.h"

namespace graphopt {

// A rule that removes a node: users of its first result read its first operand. match() must have checked
// may_skip.
class SkipRule : public Rule {
 public:
  bool hands_output_over(const Model& m, NodeId n) const override {
    return m.is_graph_output(m.output(n, 0));
  }
  void apply(PassContext& c, NodeId n) override {
    c.model.replace_all_uses(c.model.output(n, 0), c.model.input(n, 0));
  }

 protected:
  // Without a use there is nothing to do; a further result that the operator does not have may keep the node.
  static bool has_readers(const Model& m, NodeId n) {
    const ValueId result = m.output(n, 0);
    return result && m.use_count(result) > 0;
  }
  static bool may_skip(const MatchContext& c, NodeId n) {
    return has_readers(c.model, n) && (c.model.can_replace(c.model.output(n, 0), c.model.input(n, 0)) ||
                                       c.no(n, "the operand cannot take the place of the result"));
  }
};

// A rule of which matches replace the root's first result by a value upstream of it; a match may also leave
// source_ empty and edit the graph in another way.
class ReplaceRule : public Rule {
 public:
  bool hands_output_over(const Model& m, NodeId n) const override {
    return source_ && m.is_graph_output(m.output(n, 0));
  }
  void apply(PassContext& c, NodeId n) override { c.model.replace_all_uses(c.model.output(n, 0), source_); }

 protected:
  // Promises to replace the result by `source`, or refuses with the reason.
  bool replaces(const MatchContext& c, NodeId n, ValueId source, std::string_view reason) {
    if (!c.model.can_replace(c.model.output(n, 0), source)) return c.no(n, reason);
    source_ = source;
    return true;
  }

  ValueId source_;
};

// Each rule is constructed anew for a run and has `static constexpr Counter kCounter`, the counter of its
// rewrites.
template <class... Rules> class RulePass final : public Pass {
 public:
  bool run(PassContext& c) override {
    std::tuple<Rules...> made;
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
