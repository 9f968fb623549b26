// drop-identity: removes Identity nodes, and Dropouts in inference mode: their readers read the operand.
//
// Problem: exporters leave Identity where a framework had a module without effect, and Dropout where training
// had one.
// Method: peephole. Identity(x) => x. Dropout(x) => x when its mask is unused and it is in inference mode:
// from opset 12 on training_mode absent or constant false; from 7 to 11 by definition; in opset 6 and 1
// is_test must not be 0.
// Exact: both copy their input. Lowers: nodes. Ends: each rewrite removes a node.
// Left alone: a result that is an output whose name the input cannot take (Model::can_replace), so input ->
// Identity -> output stays; also where the input has already taken the name of another output.
//
//   a = Identity (x)      =>      y = Relu (x)
//   y = Relu (a)

#include "ops/attributes.h"
#include "ops/constants.h"
#include "passes/rule_pass.h"

namespace graphopt {
namespace {

class DropIdentity final : public SkipRule {
 public:
  static constexpr Counter kCounter{"identity", "Identity nodes skipped"};
  std::string_view name() const override { return "identity"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::Identity>; }
  bool match(const MatchContext& c, NodeId n) override { return may_skip(c, n); }
};

class DropDropout final : public SkipRule {
 public:
  static constexpr Counter kCounter{"dropout", "inference Dropout nodes skipped"};
  std::string_view name() const override { return "dropout"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::Dropout>; }
  bool match(const MatchContext& c, NodeId n) override {
    const ValueId mask = c.model.output(n, 1);
    if (mask && c.model.use_count(mask) > 0) return c.no(n, "something reads the mask");
    return inference_mode(c, n) && may_skip(c, n);
  }

 private:
  static bool inference_mode(const MatchContext& c, NodeId n) {
    const Model& m = c.model;
    const std::int64_t opset = m.opset(n);
    if (opset >= 12)
      return !m.input(n, 2) || int_scalar(m, m.input(n, 2)) == 0 ||
             (m.input(n, 1) && real_scalar(m, m.input(n, 1)) == 0.0) ||
             c.no(n, "training_mode is no constant false, and ratio no constant 0");
    return opset >= 7 || int_attr(m, n, names::is_test).value_or(0) != 0 || c.no(n, "is_test is 0");
  }
};

}  // namespace

extern constinit const PassInfo drop_identity = {
    .name = "drop-identity",
    .summary = "remove Identity nodes and Dropout in inference mode",
    .exact = Exact::Yes,
    .level = 1,
    .make = make_pass<RulePass<DropIdentity, DropDropout>>};

}  // namespace graphopt
