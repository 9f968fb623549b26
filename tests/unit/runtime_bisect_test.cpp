// The search for a rewrite, on pipelines that are a table: which budgets give a model that fails.
#include "runtime/bisect.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace graphopt {
namespace {

// A pipeline of `total` rewrites; budgets in `bad` fail. The model is the budget, as text.
struct Line {
  std::uint64_t total = 0;
  std::set<std::uint64_t> bad;
  std::set<std::uint64_t> unrunnable = {};
  std::string text = {};
  std::uint64_t made = 0;

  Result<BisectReport> search() {
    return bisect(
        [this](std::uint64_t budget) -> Result<BisectStep> {
          BisectStep step;
          step.rewrites = std::min(budget, total);
          text = std::to_string(step.rewrites);
          step.model.bytes = text;
          if (budget != Journal::kNoLimit && step.rewrites > 0) {
            step.last.number = step.rewrites;
            step.last.pass = "pass" + text;
            step.last.rule = "rule";
          }
          ++made;
          return step;
        },
        [this](const ModelSource& m) {
          const std::uint64_t n = std::stoull(std::string(m.bytes));
          CheckReport r;
          r.verdict = unrunnable.contains(n) ? CheckVerdict::NotChecked
                      : bad.contains(n)      ? CheckVerdict::Different
                                             : CheckVerdict::Same;
          r.why = "budget " + std::string(m.bytes);
          return r;
        });
  }
};

std::set<std::uint64_t> from(std::uint64_t first, std::uint64_t last) {
  std::set<std::uint64_t> s;
  for (; first <= last; ++first) s.insert(first);
  return s;
}

TEST(Bisect, FindsEveryRewriteOfALine) {
  for (std::uint64_t total = 1; total <= 12; ++total)
    for (std::uint64_t culprit = 1; culprit <= total; ++culprit) {
      Line line{total, from(culprit, total)};
      const auto r = line.search();
      ASSERT_TRUE(r.ok());
      ASSERT_EQ(r->outcome, BisectReport::Outcome::Found);
      ASSERT_EQ(r->culprit.number, culprit) << "of " << total;
      ASSERT_EQ(r->culprit.pass, "pass" + std::to_string(culprit));
      ASSERT_EQ(r->check.why, "budget " + std::to_string(culprit));
    }
}

TEST(Bisect, TakesLogarithmicallyManySteps) {
  Line line{1'000'000, {}};
  line.bad = from(123'456, 1'000'000);
  const auto r = line.search();
  ASSERT_TRUE(r.ok());
  EXPECT_EQ(r->culprit.number, 123'456u);
  EXPECT_LE(line.made, 24u);
}

TEST(Bisect, ALineThatChangesSidesStillGivesABorder) {
  // Rewrites 3 and 9 break, 6 repairs.
  Line line{12, {3, 4, 5, 9, 10, 11, 12}};
  const auto r = line.search();
  ASSERT_TRUE(r.ok());
  ASSERT_EQ(r->outcome, BisectReport::Outcome::Found);
  EXPECT_TRUE(r->culprit.number == 3 || r->culprit.number == 9) << r->culprit.number;
}

TEST(Bisect, NothingWrong) {
  Line line{5, {}};
  const auto r = line.search();
  ASSERT_TRUE(r.ok());
  EXPECT_EQ(r->outcome, BisectReport::Outcome::Clean);
  EXPECT_EQ(to_string(*r), "all 5 rewrites keep the results");
}

TEST(Bisect, WrongBeforeTheFirstRewrite) {
  Line with_rewrites{5, from(0, 5)}, without{0, {0}};
  for (Line* line : {&with_rewrites, &without}) {
    const auto r = line->search();
    ASSERT_TRUE(r.ok());
    EXPECT_EQ(r->outcome, BisectReport::Outcome::Saving);
  }
}

TEST(Bisect, ModelsThatDoNotRunEndTheSearch) {
  Line at_once{5, {}, {5}}, later{8, from(3, 8), {4}};
  EXPECT_EQ(at_once.search()->outcome, BisectReport::Outcome::NotRun);
  EXPECT_EQ(later.search()->outcome, BisectReport::Outcome::NotRun);
}

TEST(Bisect, SaysPassRuleAndPlace) {
  BisectReport r;
  r.outcome = BisectReport::Outcome::Found;
  r.rewrites = 40;
  r.culprit = {.number = 17, .pass = "fold-constants", .rule = "fold", .place = {}};
  r.culprit.place.node = "n";
  r.culprit.place.op = "Mul";
  EXPECT_EQ(to_string(r), "pass 'fold-constants', rewrite 17 of 40 (rule 'fold'), at node 'n' (Mul)");
}

TEST(Bisect, ErrorsOfThePipelineArePassedOn) {
  const auto r = bisect(
      [](std::uint64_t) -> Result<BisectStep> {
        return Error{ErrorKind::Output, {}, "disk full", "free some"};
      },
      [](const ModelSource&) { return CheckReport{}; });
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.error().what, "disk full");
}

}  // namespace
}  // namespace graphopt
