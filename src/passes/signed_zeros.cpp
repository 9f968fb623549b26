// signed-zeros: removes operators that change nothing but, perhaps, the sign of a zero.
//
// Problem: exporters write sums with 0, and Wheres that choose one value everywhere. On floats the first
// makes +0 of -0, and ONNX Runtime's Where may do so as well.
// Method: peephole, the rules of neutral-elements for which this is the only obstacle.
//   zero   x + (+0), x - (-0)
//   where  a condition that is the same everywhere, branches that are one value; Where of Not, whose branches
//          change places
// Rounds: a zero may get the other sign, nothing else: x + (+0) is x for all other x, and Where copies. What
// follows sees another zero, so that x / y can become the other infinity.
// Lowers: nodes. Ends: each rewrite removes a node or moves a Where to one Not less.
// Left alone: results whose name an operand cannot take, constants that a caller may override.
//
//   s = Add (x, zero)          with <float zero = {0}>
//   y = Relu (s)                                          =>      y = Relu (x)

#include "passes/drop_rules.h"

namespace graphopt {
namespace {

class DropZero final : public DropRule {
 public:
  static constexpr Counter kCounter{"zero", "sums of floats with a zero"};
  std::string_view name() const override { return "zero"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::Add, OpKind::Sub>; }

  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    const ValueId a = m.input(n, 0), b = m.input(n, 1);
    if (!is_float(c.infer.dtype(a))) return c.no(n, "its elements are no floats");
    const bool adds = m.kind(n) == OpKind::Add;
    if (holds(m, m.constant_of(b), adds ? 0.0 : -0.0)) return drops(c, n, a);
    if (adds && holds(m, m.constant_of(a), 0.0)) return drops(c, n, b);
    return c.no(n, "no operand is a constant of zeros");
  }
};

}  // namespace

extern constinit const PassInfo signed_zeros = {
    .name = "signed-zeros",
    .summary = "remove what changes at most the sign of a zero: x + 0 on floats ...",
    .exact = Exact::No,
    .level = 2,
    .make = make_pass<RulePass<DropZero, DropWhere<true>, SwapWhere<true>>>};

}  // namespace graphopt
