// At most log2(rewrites) + 2 models are built and compared.
#include "runtime/bisect.h"

#include <fmt/format.h>

#include <utility>

namespace graphopt {

Result<BisectReport> bisect(const std::function<Result<BisectStep>(std::uint64_t budget)>& make,
                            const std::function<CheckReport(const ModelSource&)>& check) {
  using Outcome = BisectReport::Outcome;
  BisectReport report;

  auto whole = make(Journal::kNoLimit);
  if (!whole) return std::move(whole.errors());
  ++report.steps;
  report.rewrites = whole->rewrites;
  report.check = check(whole->model);
  if (report.check.verdict != CheckVerdict::Different) {
    report.outcome = report.check.verdict == CheckVerdict::Same ? Outcome::Clean : Outcome::NotRun;
    return report;
  }
  report.culprit = whole->last;
  if (report.rewrites == 0) {
    report.outcome = Outcome::Saving;
    return report;
  }

  // Invariant: with `fails` rewrites the model fails; with `passes` rewrites it passes (checked, except for
  // 0, which is checked below).
  std::uint64_t passes = 0, fails = report.rewrites;
  bool passes_known = false;
  while (fails - passes > 1 || !passes_known) {
    const std::uint64_t middle = fails - passes > 1 ? passes + (fails - passes) / 2 : passes;
    auto step = make(middle);
    if (!step) return std::move(step.errors());
    ++report.steps;
    CheckReport c = check(step->model);
    if (c.verdict == CheckVerdict::NotChecked) {
      report.outcome = Outcome::NotRun;
      report.check = std::move(c);
      return report;
    }
    if (c.verdict == CheckVerdict::Same) {
      passes = middle;
      passes_known = true;
      continue;
    }
    report.check = std::move(c);
    report.culprit = step->last;
    if (middle == 0) {
      report.outcome = Outcome::Saving;
      return report;
    }
    fails = middle;
  }
  report.culprit.number = fails;
  if (fails == report.rewrites && report.culprit.pass.empty()) {
    // The run without a budget does not record its last rewrite: run again with a budget.
    auto step = make(fails);
    if (!step) return std::move(step.errors());
    ++report.steps;
    report.culprit = step->last;
    report.culprit.number = fails;
  }
  report.outcome = Outcome::Found;
  return report;
}

std::string to_string(const BisectReport& report) {
  switch (report.outcome) {
    case BisectReport::Outcome::Clean:
      return fmt::format("all {} rewrites keep the results", report.rewrites);
    case BisectReport::Outcome::NotRun: return "not bisected: " + report.check.why;
    case BisectReport::Outcome::Saving:
      return "the model differs before the first rewrite: loading and saving it changes what it computes";
    case BisectReport::Outcome::Found: break;
  }
  const RewriteRecord& r = report.culprit;
  std::string text = fmt::format("pass '{}', rewrite {} of {}", r.pass, r.number, report.rewrites);
  if (!r.rule.empty()) text += fmt::format(" (rule '{}')", r.rule);
  if (const std::string place = to_string(r.place); !place.empty()) text += ", at " + place;
  return text;
}

}  // namespace graphopt
