// Rules that remove an operator which gives one of its operands back; neutral-elements has those that keep
// every bit, signed-zeros those that may change the sign of a zero.
#pragma once

#include <array>

#include "ops/constants.h"
#include "passes/rule_pass.h"
#include "rewrite/match.h"

namespace graphopt {

// A rule that gives the readers of the root's result an operand that has the same dims and type.
class DropRule : public ReplaceRule {
 protected:
  bool drops(const MatchContext& c, NodeId n, ValueId source) {
    const ValueId y = c.model.output(n, 0);
    if (c.infer.dtype(source) != c.infer.dtype(y) || !c.infer.same_shape(source, y))
      return c.no(n, "its result may have other dims or another type than the operand");
    return replaces(c, n, source, "the operand cannot take its result's place");
  }
};

template <bool kFloats> class DropWhere final : public DropRule {
 public:
  static constexpr Counter kCounter{"where", "Wheres that choose one value everywhere"};
  std::string_view name() const override { return "where"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::Where>; }

  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    const ValueId condition = m.input(n, 0), x = m.input(n, 1), y = m.input(n, 2);
    if (is_float(c.infer.dtype(x)) != kFloats)
      return c.no(n,
                  kFloats ? "its elements are no floats" : "on floats Where may change the sign of a zero");
    if (x == y) return this->drops(c, n, x);
    const auto chosen = int_splat(m, condition);
    if (!chosen) return c.no(n, "the condition is no constant that is the same everywhere");
    return this->drops(c, n, *chosen != 0 ? x : y);
  }
};

template <bool kFloats> class SwapWhere final : public Rule {
 public:
  static constexpr Counter kCounter{"swapped", "Wheres of Not that lost the Not"};
  std::string_view name() const override { return "where-not"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::Where>; }

  bool match(const MatchContext& c, NodeId n) override {
    using namespace pattern;
    const DType type = c.infer.dtype(c.model.input(n, 1));
    if (is_float(type) != kFloats) return false;
    if (type == DType::Undefined) return c.no(n, "its type is not known");
    return matches(c, n, op(OpKind::Where, op(OpKind::Not, any(condition_)).single_use(), any(), any()));
  }

  void apply(PassContext& c, NodeId n) override {
    const std::array<ValueId, 3> operands{condition_, c.model.input(n, 2), c.model.input(n, 1)};
    c.model.set_operands(n, operands);
  }

 private:
  ValueId condition_;
};

}  // namespace graphopt
