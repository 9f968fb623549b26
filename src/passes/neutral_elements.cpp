// neutral-elements: removes operators that return one of their operands unchanged.
//
// Problem: exporters write scales of 1, shifts of 0, masks of true, and apply twice what changes nothing the
// second time.
// Method: peephole, four rules.
//   neutral     x * 1, x / 1, x - 0, x + -0, x ^ 1, x and true, x or false, x xor false
//   inverse     Not of Not, Neg of Neg
//   idempotent  Relu of Relu, Abs of Abs, Sign of Sign; Floor, Ceil or Round of one of these three
//   where       a condition that is the same everywhere, branches that are one value; Where of Not (its
//               branches change places)
// Exact: the result has the operand's bits (NaNs being equal) and, proven for all sizes, its dims and type.
//   x * 1, x / 1   IEEE: no rounding, -0 and infinities stay; integers anyway
//   x - 0, x + -0  -0 - (+0) and -0 + (-0) are -0, so that each x stays; x + (+0) would make +0 of -0, and is
//                  left alone, as is x - (-0). An integer has one zero
//   x ^ 1          of floats; of integers ONNX Runtime computes in doubles, which do not hold all
//   Relu of Relu   an element's position decides which zero comes of -0, and is the same for both
//   Floor of Ceil  what comes of Ceil is whole, infinite or NaN, and stays so
//   Where          on floats ONNX Runtime may lose the sign of a -0, by which operand it is; so not on floats
// Lowers: nodes. Ends: each rewrite removes a node or moves a Where to one Not less.
// Left alone: results whose name an operand cannot take, constants that a caller may override.
//
//   m = Mul (x, one)           with <float one = {1}>
//   y = Relu (m)                                          =>      y = Relu (x)

#include <array>
#include <optional>
#include <vector>

#include "ops/constants.h"
#include "ops/node_facts.h"
#include "passes/drop_rules.h"
#include "passes/rule_pass.h"
#include "rewrite/match.h"

namespace graphopt {
namespace {

constexpr OpKind kBinary[] = {OpKind::Mul, OpKind::Div, OpKind::Add, OpKind::Sub,
                              OpKind::Pow, OpKind::And, OpKind::Or,  OpKind::Xor};

class DropNeutral final : public DropRule {
 public:
  static constexpr Counter kCounter{"neutral", "operators with a neutral operand"};
  std::string_view name() const override { return "neutral"; }
  std::span<const OpKind> roots() const override { return kBinary; }

  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    if (!matches(c, n, pattern::op(m.kind(n)).and_more())) return false;
    const ValueId a = m.input(n, 0), b = m.input(n, 1);
    const std::optional<double> number = neutral(m.kind(n), c.infer.dtype(a));
    if (!number) return c.no(n, "no number is neutral for the element type");
    if (holds(m, m.constant_of(b), *number)) return drops(c, n, a);
    if (facts_of(m, n).commutative && holds(m, m.constant_of(a), *number)) return drops(c, n, b);
    return c.no(n, "no operand is a constant of neutral numbers");
  }

 private:
  // Returns the number that is neutral as the second operand.
  static std::optional<double> neutral(OpKind kind, DType type) {
    switch (kind) {
      case OpKind::Mul:
      case OpKind::Div: return 1.0;
      case OpKind::Add: return is_float(type) ? -0.0 : 0.0;
      case OpKind::Sub: return 0.0;
      case OpKind::Pow: return is_float(type) ? std::optional(1.0) : std::nullopt;
      case OpKind::And: return 1.0;
      default: return 0.0;  // Or, Xor
    }
  }
};

class DropInverse final : public DropRule {
 public:
  static constexpr Counter kCounter{"inverse", "operators that undo the one before"};
  std::string_view name() const override { return "inverse"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::Not, OpKind::Neg>; }

  bool match(const MatchContext& c, NodeId n) override {
    using namespace pattern;
    ValueId x;
    const OpKind kind = c.model.kind(n);
    if (!matches(c, n, op(kind, op(kind, any(x)).outer()))) return false;
    return drops(c, n, x);
  }
};

constexpr OpKind kIdempotent[] = {OpKind::Relu,  OpKind::Abs,  OpKind::Sign,
                                  OpKind::Floor, OpKind::Ceil, OpKind::Round};

class DropIdempotent final : public DropRule {
 public:
  static constexpr Counter kCounter{"idempotent", "operators on their own results"};
  std::string_view name() const override { return "idempotent"; }
  std::span<const OpKind> roots() const override { return kIdempotent; }

  bool match(const MatchContext& c, NodeId n) override {
    using namespace pattern;
    const OpKind kind = c.model.kind(n);
    const bool whole = kind == OpKind::Floor || kind == OpKind::Ceil || kind == OpKind::Round;
    const auto made_by = [](OpKind k) { return op(k, any()).outer(); };
    const bool found =
        whole
            ? matches(c, n,
                      op(kind, one_of(made_by(OpKind::Floor), made_by(OpKind::Ceil), made_by(OpKind::Round))))
            : matches(c, n, op(kind, made_by(kind)));
    return found && drops(c, n, c.model.input(n, 0));
  }
};

}  // namespace

extern constinit const PassInfo neutral_elements = {
    .name = "neutral-elements",
    .summary = "remove x * 1, x - 0, x and true, Not of Not, Relu of Relu ...",
    .exact = Exact::Yes,
    .level = 1,
    .make =
        make_pass<RulePass<DropNeutral, DropInverse, DropIdempotent, DropWhere<false>, SwapWhere<false>>>};

}  // namespace graphopt
