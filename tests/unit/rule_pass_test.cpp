// A pass of rules applies what the match of the node found, and nothing that an earlier match left behind.
#include "passes/rule_pass.h"

#include <gtest/gtest.h>

#include "infer_case.h"
#include "onnx/reader.h"

namespace graphopt {
namespace {

// Replaces the Abs of an Exp by the Exp, and makes a Neg of any other; forgets what it found for the first.
class ForgetfulRule : public ReplaceRule {
 public:
  static constexpr Counter kCounter{"rewrites", "of the test"};
  std::string_view name() const override { return "forgetful"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::Abs>; }
  bool match(const MatchContext& c, NodeId n) override {
    const ValueId x = c.model.input(n, 0);
    const NodeId def = c.model.value(x).def;
    return !def || c.model.kind(def) != OpKind::Exp || replaces(c, n, x, "no");
  }
  void apply(PassContext& c, NodeId n) override {
    if (source_) return ReplaceRule::apply(c, n);
    c.model.set_op(n, standard_op(c.model, OpKind::Neg));
  }
};

class Cheap final : public ForgetfulRule {};
class Costly final : public ForgetfulRule {
 public:
  static constexpr bool kIsCostlyToMake = true;
};

// Makes a Neg of the second Abs that it is offered.
class CountingRule final : public Rule {
 public:
  static constexpr Counter kCounter{"rewrites", "of the test"};
  struct Run {
    int offered = 0;
  };
  explicit CountingRule(Run& run) : run_(run) {}
  std::string_view name() const override { return "counting"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::Abs>; }
  bool match(const MatchContext&, NodeId) override { return run_.offered++ == 1; }
  void apply(PassContext& c, NodeId n) override { c.model.set_op(n, standard_op(c.model, OpKind::Neg)); }

 private:
  Run& run_;
};

struct Bench {
  Bench() { journal.begin_pass("test"); }
  OpKind kind_of_operand(std::size_t slot) const {
    const Model& m = *given.model;
    const NodeId sum = m.value(given.value("y")).def;
    return m.kind(m.value(m.input(sum, slot)).def);
  }

  InferCase given{R"(g (float[2] x, float[2] z) => (float[2] y) {
    p = Exp (x)
    a = Abs (p)
    b = Abs (z)
    y = Add (a, b)
  })"};
  Journal journal{Journal::kNoLimit};
  PassOptions options;
  PassContext context{*given.model, *given.facts, journal, options};
};

template <class R> void expect_own_findings() {
  Bench b;
  RulePass<R> pass;
  EXPECT_TRUE(pass.run(b.context));
  EXPECT_EQ(b.kind_of_operand(0), OpKind::Exp);
  EXPECT_EQ(b.kind_of_operand(1), OpKind::Neg);
}

TEST(RulePass, AppliesNothingThatAnEarlierMatchFound) {
  expect_own_findings<Cheap>();
  expect_own_findings<Costly>();
}

TEST(RulePass, KeepsWhatIsToLastForARun) {
  Bench b;
  RulePass<CountingRule> pass;
  EXPECT_TRUE(pass.run(b.context));
  EXPECT_EQ(b.kind_of_operand(0), OpKind::Abs);
  EXPECT_EQ(b.kind_of_operand(1), OpKind::Neg);
}

}  // namespace
}  // namespace graphopt
