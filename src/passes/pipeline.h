// The pass manager: runs the clean-up passes until none changes anything, with verification, timing and
// counters.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "hoist/move_log.h"
#include "passes/pass.h"

namespace graphopt {

// A pass of the caller's, which needs what no pass of the list may know. It runs before the first search, is
// chosen by its `exact` as the others are, and is wanted beside those of --passes, too.
struct AddedPass {
  const PassInfo* info = nullptr;  // none: there is no such pass; its `make` is not used
  Pass* pass = nullptr;
};

struct PipelineOptions {
  std::vector<std::string>
      passes;  // --passes: exactly these, in this order, to a fixed point; empty: by level
  std::vector<std::string> disabled;  // --disable-pass
  AddedPass added;
  PassOptions pass;                   // its strictness chooses the passes
  RefusalLog* refusals = nullptr;     // filled when given
  MoveLog* moves = nullptr;           // the same
  const UsePolicy* policy = nullptr;  // asked beside the one that keeps bits
  SupportPolicy* support = nullptr;   // what accelerators of the run support; none: nobody asks
  bool verify_each = false;
  std::uint64_t rewrite_budget = Journal::kNoLimit;
  // Called between passes; returning true stops the run (--timeout, --max-memory, interrupts). The model is
  // then valid.
  std::function<bool()> should_stop;
  // Called when no pass has anything to do any more; returns whether it changed the model, about which
  // inference is up to date then: the passes start again.
  std::function<Result<bool>()> at_rest;
  // Called after each pass run (--print-after, progress).
  std::function<void(std::string_view pass, const Model&, bool changed)> after_pass;
};

struct PassReport {
  std::string name;
  std::uint64_t runs = 0, changes = 0;  // changes: its rewrites
  double seconds = 0;
  std::vector<std::pair<std::string, std::uint64_t>> counters;
};

enum class StopReason : std::uint8_t { FixedPoint, Rounds, Stopped, Budget };

struct PipelineReport {
  std::vector<PassReport> passes;
  std::uint64_t rounds = 0, rewrites = 0;
  StopReason stopped = StopReason::FixedPoint;
  RewriteRecord last_rewrite;  // when a budget was set
  FunctionId hidden_operator;  // passes were left out since this function has the name of an operator
};

// Errors: ErrorKind::Usage with the nearest names for unknown passes; ErrorKind::Internal, naming the pass,
// for a pass that breaks an invariant (verify_each).
Result<PipelineReport> run_pipeline(Model& model, Inference& infer, const PipelineOptions& options);

}  // namespace graphopt
