// drop-identity: rewires the users of an Identity to its input, and those of a Dropout in inference mode.
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
#include "passes/rule_pass.h"

namespace graphopt {
namespace {

constexpr OpKind kIdentity[] = {OpKind::Identity};
constexpr OpKind kDropout[] = {OpKind::Dropout};

// Without a use there is nothing to do; a further result that the operator does not have may keep the node.
bool can_skip(const Model& m, NodeId n) {
  const ValueId out = m.output(n, 0);
  return out && m.use_count(out) > 0 && m.can_replace(out, m.input(n, 0));
}

class DropIdentity final : public SkipRule {
 public:
  static constexpr Counter kCounter{"identity", "Identity nodes skipped"};
  std::string_view name() const override { return "identity"; }
  std::span<const OpKind> roots() const override { return kIdentity; }
  bool match(const PassContext& c, NodeId n) override { return can_skip(c.model, n); }
};

class DropDropout final : public SkipRule {
 public:
  static constexpr Counter kCounter{"dropout", "inference Dropout nodes skipped"};
  std::string_view name() const override { return "dropout"; }
  std::span<const OpKind> roots() const override { return kDropout; }
  bool match(const PassContext& c, NodeId n) override {
    const Model& m = c.model;
    const ValueId mask = m.output(n, 1);
    if (mask && m.use_count(mask) > 0) return false;
    return inference_mode(m, n) && can_skip(m, n);
  }

 private:
  static bool inference_mode(const Model& m, NodeId n) {
    const std::int64_t opset = m.opset(n);
    if (opset >= 12) {
      const ValueId training = m.input(n, 2);
      if (!training) return true;
      const TensorId t = m.constant_of(training);
      return t && m.raw(t) == Bytes("\0", 1);
    }
    if (opset >= 7) return true;
    return int_attr(m, n, names::is_test).value_or(0) != 0;
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
