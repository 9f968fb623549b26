// The rewrite engine with rules made for the purpose: what it offers, in which order, when it stops.

#include "rewrite/engine.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "infer_case.h"
#include "ir/verify.h"
#include "onnx/reader.h"
#include "ops/node_facts.h"

namespace graphopt {
namespace {

std::string name_of(const Model& m, NodeId n) { return std::string(m.text(m.value(m.output(n, 0)).name)); }

class TestRule final : public Rule {
 public:
  using Match = std::function<bool(const MatchContext&, NodeId)>;
  using Apply = std::function<void(PassContext&, NodeId)>;

  TestRule(std::vector<OpKind> roots, Match match, Apply apply)
      : roots_(std::move(roots)), match_(std::move(match)), apply_(std::move(apply)) {}
  std::string_view name() const override { return "test"; }
  std::span<const OpKind> roots() const override { return roots_; }
  bool match(const MatchContext& c, NodeId n) override {
    offered.push_back(name_of(c.model, n));
    return match_(c, n);
  }
  void apply(PassContext& c, NodeId n) override {
    applied_to.push_back(name_of(c.model, n));
    apply_(c, n);
  }
  bool hands_output_over(const Model& m, NodeId n) const override { return hands_over && hands_over(m, n); }

  std::function<bool(const Model&, NodeId)> hands_over;
  std::vector<std::string> offered, applied_to;

 private:
  std::vector<OpKind> roots_;
  Match match_;
  Apply apply_;
};

struct Bench {
  explicit Bench(const std::string& text, std::uint64_t budget = Journal::kNoLimit)
      : given(text), journal(budget), context{*given.model, *given.facts, journal, options} {
    journal.begin_pass("test");
  }
  // What --explain finds, as "value: reason".
  std::vector<std::string> refusals() const {
    std::vector<std::string> out;
    for (const RefusedCandidate& r : log.refused) out.push_back(r.value + ": " + r.reason);
    return out;
  }
  void explain(const std::string& pass) {
    log.explain = {pass};
    context.refusals = &log;
  }
  std::uint64_t run(TestRule& rule) {
    Rule* const rules[] = {&rule};
    const std::uint64_t count = apply_rules(context, rules);
    const auto broken = verify(*given.model);
    EXPECT_FALSE(broken) << broken->what;
    return count;
  }
  InferCase given;
  Journal journal;
  PassOptions options;
  PassContext context;
  RefusalLog log;
};

// Lets the users of a node's result read its first operand.
void bypass(PassContext& c, NodeId n) { c.model.replace_all_uses(c.model.output(n, 0), c.model.input(n, 0)); }
bool always(const MatchContext&, NodeId) { return true; }
bool never(const MatchContext&, NodeId) { return false; }
bool can_bypass(const MatchContext& c, NodeId n) {
  return c.model.can_replace(c.model.output(n, 0), c.model.input(n, 0));
}

using Names = std::vector<std::string>;

TEST(Engine, OffersEachRootOnceInTopologicalOrder) {
  Bench b(R"(g (float[2] x) => (float[2] y) {
    a = Abs (x)
    c = Neg (a)
    d = Abs (c)
    y = Exp (d)
  })");
  TestRule abs({OpKind::Abs}, never, bypass);
  EXPECT_EQ(b.run(abs), 0u);
  EXPECT_EQ(abs.offered, (Names{"a", "d"}));
  TestRule all({}, never, bypass);
  EXPECT_EQ(b.run(all), 0u);
  EXPECT_EQ(all.offered, (Names{"a", "c", "d", "y"}));
  EXPECT_EQ(b.journal.count(), 0u);
}

TEST(Engine, OffersNodesOfBodies) {
  Bench b(R"(g (float[2] x, bool c) => (float[2] y) {
    y = If (c) <then_branch = t () => (float[2] p) { p = Abs (x) },
                else_branch = e () => (float[2] q) { q = Neg (x) }>
  })");
  TestRule rule({OpKind::Abs}, never, bypass);
  b.run(rule);
  EXPECT_EQ(rule.offered, Names{"p"});
}

// After a rewrite the users of the result and the producers of the operands are offered again: the rule
// matches them only then.
TEST(Engine, OffersTheNeighboursOfARewriteAgain) {
  Bench b(R"(g (float[2] x) => (float[2] y) {
    a = Abs (x)
    c = Neg (a)
    d = Exp (c)
    y = Sqrt (d)
  })");
  TestRule rule({}, [](const MatchContext& c, NodeId n) { return c.model.kind(n) == OpKind::Neg; }, bypass);
  EXPECT_EQ(b.run(rule), 1u);
  EXPECT_EQ(rule.applied_to, Names{"c"});
  const Names again(rule.offered.begin() + 4, rule.offered.end());
  EXPECT_EQ(std::ranges::count(again, "d"), 1) << "the reader of the result";
  EXPECT_EQ(std::ranges::count(again, "a"), 1) << "the producer of the operand";
  EXPECT_EQ(std::ranges::count(again, "c"), 0) << "the node is gone";
}

// A rewrite leaves a node without uses: it is erased before the next match, so the value that it read has
// one use then.
TEST(Engine, ErasesWhatIsDeadBeforeTheNextMatch) {
  Bench b(R"(g (float[2] x) => (float[2] y, float[2] z) {
    a = Abs (x)
    c = Neg (a)
    d = Exp (c)
    y = Relu (d)
    z = Sqrt (a)
  })");
  std::vector<std::uint32_t> uses;
  const ValueId d = b.given.value("d");
  TestRule rule(
      {OpKind::Relu, OpKind::Sqrt},
      [&, d](const MatchContext& c, NodeId n) {
        if (c.model.kind(n) == OpKind::Sqrt) uses.push_back(c.model.use_count(c.model.input(n, 0)));
        return c.model.kind(n) == OpKind::Relu && c.model.input(n, 0) == d;
      },
      [&](PassContext& c, NodeId n) { c.model.set_operand(n, 0, b.given.value("x")); });
  EXPECT_EQ(b.run(rule), 1u);
  ASSERT_FALSE(uses.empty());
  EXPECT_EQ(uses.front(), 1u) << "Neg and Exp are dead when Sqrt is offered";
}

TEST(Engine, AppliesAgainWhileARuleMatches) {
  Bench b(R"(g (float[2] x) => (float[2] y) {
    a = Abs (x)
    c = Abs (a)
    d = Abs (c)
    y = Neg (d)
  })");
  const auto reads_abs = [](const MatchContext& c, NodeId n) {
    const NodeId p = c.model.value(c.model.input(n, 0)).def;
    return p && c.model.kind(p) == OpKind::Abs;
  };
  TestRule rule({OpKind::Neg}, reads_abs, [](PassContext& c, NodeId n) {
    c.model.set_operand(n, 0, c.model.input(c.model.value(c.model.input(n, 0)).def, 0));
  });
  EXPECT_EQ(b.run(rule), 3u);
  EXPECT_EQ(rule.applied, 3u);
  EXPECT_EQ(b.journal.count(), 3u);
}

TEST(Engine, TriesRulesInTheGivenOrder) {
  Bench b("g (float[2] x) => (float[2] y) { a = Abs (x)\n y = Neg (a) }");
  TestRule first({OpKind::Abs}, can_bypass, bypass), second({}, can_bypass, bypass);
  Rule* const rules[] = {&first, &second};
  apply_rules(b.context, rules);
  EXPECT_EQ(first.applied_to, Names{"a"});
  EXPECT_EQ(std::ranges::count(second.applied_to, "a"), 0);
}

// A value can take one output's name only: matches that hand an output's name over wait for all others, and
// are applied in the order of the outputs, not in that of the file.
TEST(Engine, MatchesThatHandAnOutputOverWaitAndKeepTheOrderOfTheOutputs) {
  Bench b(R"(g (float[2] x) => (float[2] y, float[2] z) {
    h = Exp (x)
    z = Abs (h)
    y = Abs (h)
    i = Abs (h)
    k = Neg (i)
    l = Sqrt (k)
  })");
  TestRule rule({OpKind::Abs}, can_bypass, bypass);
  rule.hands_over = [](const Model& m, NodeId n) { return m.is_graph_output(m.output(n, 0)); };
  b.run(rule);
  EXPECT_EQ(rule.applied_to, (Names{"i", "y"})) << "h takes the name of y; z keeps its node";
}

TEST(Engine, StopsWhenTheBudgetIsUsedUp) {
  Bench b(R"(g (float[2] x) => (float[2] y) {
    a = Abs (x)
    c = Abs (a)
    d = Abs (c)
    y = Neg (d)
  })",
          2);
  TestRule rule({OpKind::Abs}, can_bypass, bypass);
  EXPECT_EQ(b.run(rule), 2u);
  EXPECT_EQ(rule.applied_to, (Names{"a", "c"}));
  EXPECT_TRUE(b.journal.exhausted());
  EXPECT_EQ(b.journal.last().number, 2u);
  EXPECT_EQ(b.journal.last().rule, "test");
}

// Of a rule at a node the last reason counts; nodes that are gone, and those to which the rule has nothing to
// say, are not listed.
TEST(Engine, RecordsTheLastRefusalOfEachNodeThatIsLeft) {
  Bench b(R"(g (float[2] x) => (float[2] y, float[2] z) {
    a = Abs (x)
    c = Neg (a)
    d = Exp (c)
    y = Sqrt (d)
    z = Neg (x)
  })");
  b.explain("test");
  int asked = 0;
  const auto match = [&](const MatchContext& c, NodeId n) {
    if (c.model.kind(n) == OpKind::Sqrt) return false;
    if (c.model.kind(n) == OpKind::Exp) return c.no(n, ++asked == 1 ? "is asked first" : "is asked again");
    return can_bypass(c, n) || c.no(c.model.value(c.model.output(n, 0)).def, "its operand is an input");
  };
  TestRule rule({OpKind::Neg, OpKind::Exp, OpKind::Sqrt}, match, bypass);
  EXPECT_EQ(b.run(rule), 1u);
  EXPECT_EQ(b.refusals(), (Names{"d: is asked again", "z: its operand is an input"}));
  EXPECT_EQ(b.log.refused[0].pass, "test");
  EXPECT_EQ(b.log.refused[0].kind, "test");
  EXPECT_EQ(b.log.refused[0].place.op, "Exp");
  b.run(rule);
  EXPECT_EQ(b.log.refused.size(), 2u) << "the run before is forgotten";
}

TEST(Engine, AReasonAtAnotherNodeNamesIt) {
  Bench b("g (float[2] x) => (float[2] y) { a = Abs (x)\n y = Neg (a) }");
  b.explain("test");
  const auto match = [](const MatchContext& c, NodeId n) {
    return c.no(c.model.prev_node(n), "is in the way");
  };
  TestRule rule({OpKind::Neg}, match, bypass);
  b.run(rule);
  EXPECT_EQ(b.refusals(), Names{"y: 'a' (Abs): is in the way"});
}

TEST(Engine, AsksForReasonsOnlyWhereThePassIsNamed) {
  Bench b("g (float[2] x) => (float[2] y) { y = Neg (x) }");
  const auto unasked = [](const MatchContext& c, NodeId n) {
    EXPECT_EQ(c.why, nullptr);
    return c.no(n, "is never heard");
  };
  TestRule rule({OpKind::Neg}, unasked, bypass);
  b.run(rule);
  b.explain("another");
  b.run(rule);
  EXPECT_TRUE(b.log.refused.empty());
}

// A rule that always matches is a defect; the engine must come back all the same.
TEST(Engine, ARuleThatNeverEndsIsCutOff) {
  Bench b("g (float[2] x) => (float[2] y) { y = Abs (x) }");
  TestRule rule({OpKind::Abs}, always, [](PassContext&, NodeId) {});
  EXPECT_GT(b.run(rule), 1u);
}

// Facts are those of before the round; from the next round on they are those of the changed model.
TEST(Engine, UpdatesFactsBetweenRounds) {
  Bench b(R"(g (float[2] x, float[3] w) => (float[n] y) {
    a = Abs (x)
    y = Neg (a)
  })");
  std::vector<std::string> seen;
  bool done = false;
  TestRule rule(
      {OpKind::Neg},
      [&](const MatchContext&, NodeId) {
        seen.push_back(b.given.type("y"));
        return !std::exchange(done, true);
      },
      [&](PassContext& c, NodeId n) { c.model.set_operand(n, 0, b.given.value("w")); });
  b.run(rule);
  ASSERT_GE(seen.size(), 2u);
  EXPECT_EQ(seen.front(), "float[2]");
  EXPECT_EQ(seen.back(), "float[3]");
}

// Devices that support nodes by their operators.
class ByOperator final : public SupportPolicy {
 public:
  ByOperator(const Model& m, std::vector<std::vector<OpKind>> devices)
      : m_(m), devices_(std::move(devices)) {}
  DeviceSet all() const override { return (DeviceSet{1} << devices_.size()) - 1; }
  DeviceSet supporting(NodeId n) override {
    DeviceSet out = 0;
    for (std::size_t d = 0; d < devices_.size(); ++d)
      if (std::ranges::count(devices_[d], m_.kind(n)) > 0) out |= DeviceSet{1} << d;
    return out;
  }

 private:
  const Model& m_;
  std::vector<std::vector<OpKind>> devices_;
};

// Makes one Exp of an Abs and its Neg.
struct Raise {
  static bool match(const MatchContext& c, NodeId n) {
    const NodeId def = c.model.value(c.model.input(n, 0)).def;
    return def && c.model.kind(def) == OpKind::Abs;
  }
  static void apply(PassContext& c, NodeId n) {
    const NodeId def = c.model.value(c.model.input(n, 0)).def;
    const std::array<ValueId, 1> x{c.model.input(def, 0)};
    const NodeId exp = c.model.add_node_like(c.model.main(), standard_op(c.model, OpKind::Exp), x, 1, "e", n);
    c.model.replace_all_uses(c.model.output(n, 0), c.model.output(exp, 0));
  }
};

constexpr const char* kRaised = R"(g (float[2] x) => (float[2] y) {
  a = Abs (x)
  c = Neg (a)
  y = Sqrt (c)
})";

TEST(Engine, UndoesWhatNoDeviceOfTheOldNodesSupports) {
  struct Case {
    std::vector<std::vector<OpKind>> devices;
    std::uint64_t rewrites;
  };
  const Case cases[] = {
      {{{OpKind::Abs, OpKind::Neg}}, 0},
      {{{OpKind::Abs, OpKind::Neg, OpKind::Exp}}, 1},
      {{{OpKind::Abs}}, 1},  // no device supports all that goes
      {{{OpKind::Exp}}, 1},
      {{}, 1},
      {{{OpKind::Abs, OpKind::Neg}, {OpKind::Exp}}, 0},  // another one supports it: not these nodes
      {{{OpKind::Abs, OpKind::Neg}, {OpKind::Abs, OpKind::Neg, OpKind::Exp}}, 1},
  };
  for (const Case& test : cases) {
    Bench b(kRaised);
    ByOperator policy(*b.given.model, test.devices);
    b.context.support = &policy;
    b.explain("test");
    TestRule rule({OpKind::Neg}, Raise::match, Raise::apply);
    EXPECT_EQ(b.run(rule), test.rewrites);
    EXPECT_EQ(b.journal.count(), test.rewrites);
    EXPECT_EQ(b.given.model->live_node_count(), test.rewrites > 0 ? 2u : 3u);
    EXPECT_EQ(b.refusals(), test.rewrites > 0 ? Names{} : Names{"c: " + std::string(kNoDevice)});
  }
}

// A node that another rule of the pass may change is offered to that one after the first was undone.
TEST(Engine, AsksTheNextRuleAfterOneThatNoDeviceSuits) {
  Bench b(kRaised);
  ByOperator policy(*b.given.model, {{OpKind::Abs, OpKind::Neg, OpKind::Sqrt}});
  b.context.support = &policy;
  TestRule raise({OpKind::Neg}, Raise::match, Raise::apply);
  TestRule skip({OpKind::Neg}, can_bypass, bypass);
  Rule* const rules[] = {&raise, &skip};
  EXPECT_EQ(apply_rules(b.context, rules), 1u);
  EXPECT_FALSE(verify(*b.given.model));
  EXPECT_EQ(skip.applied_to, Names{"c"});
  EXPECT_EQ(b.given.model->live_node_count(OpKind::Exp), 0u);
}

}  // namespace
}  // namespace graphopt
