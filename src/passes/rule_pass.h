// A pass that is nothing but rules: they are applied wherever they match, until none does.
#pragma once

#include <array>
#include <tuple>

#include "passes/pass.h"
#include "rewrite/engine.h"

namespace graphopt {

// Each rule is made anew for a run and names what its rewrites count as: static constexpr Counter kCounter.
template <class... Rules>
class RulePass final : public Pass {
 public:
  bool run(PassContext& c) override {
    std::tuple<Rules...> made;
    std::array<Rule*, sizeof...(Rules)> rules = std::apply([](auto&... r) { return std::array<Rule*, sizeof...(Rules)>{&r...}; }, made);
    const bool changed = apply_rules(c, rules) > 0;
    for (std::size_t i = 0; i < rules.size(); ++i) counters_[i].value += rules[i]->applied;
    return changed;
  }
  std::span<const Counter> counters() const override { return counters_; }

 private:
  std::array<Counter, sizeof...(Rules)> counters_{{Rules::kCounter...}};
};

}  // namespace graphopt
