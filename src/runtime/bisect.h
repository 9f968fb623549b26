// --bisect: finds the rewrite that breaks a model.
//
// Rewrites are numbered in the order of the run (rewrite/journal.h), and a run with budget n does the first n
// of them, so the models of budgets 0, 1, 2 ... lead from the original to the result. Binary search finds an
// n whose model fails while that of n - 1 passes. It does so even where the verdict changes more than once,
// since the search keeps a passing budget below a failing one at every step.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "graphopt/error.h"
#include "rewrite/journal.h"
#include "runtime/check.h"

namespace graphopt {

struct BisectStep {
  ModelSource model;           // the result of the pipeline with this budget; valid until the next call
  std::uint64_t rewrites = 0;  // rewrites done: less than the budget when there were no more
  RewriteRecord last;          // the last of them
};

struct BisectReport {
  enum class Outcome : std::uint8_t {
    Found,   // `culprit` is the rewrite, `check` the comparison with it in place
    Clean,   // the whole pipeline's result passes
    Saving,  // differs before the first rewrite: loading and saving broke it
    NotRun,  // check.why says why nothing could be compared
  };
  Outcome outcome = Outcome::NotRun;
  RewriteRecord culprit;
  CheckReport check;
  std::uint64_t rewrites = 0;  // of the whole run
  int steps = 0;               // models that were built and compared
};

// `make` runs the pipeline on a fresh copy of the model with a budget; `check` compares (Checker::check).
// Their errors end the search.
Result<BisectReport> bisect(const std::function<Result<BisectStep>(std::uint64_t budget)>& make,
                            const std::function<CheckReport(const ModelSource&)>& check);

// "pass 'fold-constants', rewrite 17 of 40 (rule 'fold'), at node 'n' (Op)": the line that the tool prints.
std::string to_string(const BisectReport& report);

}  // namespace graphopt
