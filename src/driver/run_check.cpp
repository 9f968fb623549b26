// The check phase: original and result run in ONNX Runtime and are compared; --bisect traces a difference to
// a rewrite.
#include "driver/original.h"
#include "driver/run.h"
#include "driver/saving.h"
#include "runtime/bisect.h"
#include "runtime/check.h"

namespace graphopt {
namespace {

Report::Check figures_of(const CheckReport& check) {
  Report::Check out;
  out.verdict = "same";
  out.runtime = check.runtime;
  for (const CheckRun& run : check.runs) ++(run.skipped.empty() ? out.runs : out.skipped);
  for (const OutputDifference& d : check.worst) {
    out.outputs.push_back({d.output, d.max_abs, d.max_rel, d.noise, d.random, d.ok, d.problem});
  }
  return out;
}

}  // namespace

Status Run::check() {
  // A check that cannot run counts as failed: the user who requested it must learn of it.
  Checker checker(original_->source(), original_->plan,
                  {.seeds = std::max(1, options_.check_seeds),
                   .tolerance = options_.check_tolerance,
                   .ort = options_.ort});
  SavedInMemory result;
  if (Status saved = result.save(work_->model, types_of(*work_), original_->folder); !saved)
    return saved.errors();
  const CheckReport report = checker.check(result.source());
  if (report.verdict == CheckReport::Verdict::Same) {
    report_.check = figures_of(report);
    return Done{};
  }
  if (report.verdict == CheckReport::Verdict::NotRun || !options_.bisect)
    return *to_error(report, options_.input);
  observer_.log(LogLevel::Info, "the results differ: " + report.why + "; looking for the rewrite");
  return find_culprit(checker);
}

Status Run::find_culprit(Checker& checker) {
  std::unique_ptr<Work> work;
  SavedInMemory saved;
  std::uint64_t steps = 0;
  const auto make = [&](std::uint64_t budget) -> Result<BisectStep> {
    if (out_of_time()) return stopped();
    observer_.step("bisect", ++steps, 0);
    std::vector<Warning> warnings;  // already reported
    Result<Model> model = original_->load(warnings);
    if (!model) return model.errors();
    work = std::make_unique<Work>();
    work->model = *std::move(model);
    work->file_values = work->model.value_count();
    drop_old_regions(*work);
    if (Status started = start_inference(*work); !started) return started.errors();
    BisectStep step;
    if (wants_passes()) {
      Result<PipelineReport> done = run_passes(*work, budget, nullptr);
      if (!done) return done.errors();
      step.rewrites = done->rewrites;
      step.last = done->last_rewrite;
    }
    if (wants_regions())
      write_regions(*work, list_regions(work->model, *work->inference, work->model.main()));
    if (Status done = saved.save(work->model, types_of(*work), original_->folder); !done)
      return done.errors();
    step.model = saved.source();
    return step;
  };
  Result<BisectReport> found =
      bisect(make, [&checker](const ModelSource& model) { return checker.check(model); });
  if (!found) return found.errors();
  const Place place{options_.input, {}, {}, {}, {}};
  switch (found->outcome) {
    case BisectReport::Outcome::Found:
      return Error{ErrorKind::CheckFailed, place, "broken by " + to_string(*found) + ": " + found->check.why,
                   "nothing was written; --disable-pass " + found->culprit.pass +
                       " leaves the pass out; please report it"};
    case BisectReport::Outcome::Saving:
      return Error{ErrorKind::CheckFailed, place, "differs before the first rewrite: " + found->check.why,
                   "nothing was written; please report the model: loading and saving broke it"};
    case BisectReport::Outcome::Clean:
      return Error{ErrorKind::CheckFailed, place,
                   "the results differed once and agreed when the passes ran again",
                   "nothing was written; run --check again: the model may not be deterministic"};
    case BisectReport::Outcome::NotRun: break;
  }
  return *to_error(found->check, options_.input);
}

}  // namespace graphopt
