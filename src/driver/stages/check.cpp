// check: original and result run in ONNX Runtime and are compared; --bisect traces a difference to a rewrite.
#include "runtime/check.h"
#include "driver/check_figures.h"
#include "driver/json.h"
#include "driver/lowering.h"
#include "driver/original.h"
#include "driver/run.h"
#include "driver/saving.h"
#include "driver/shapes.h"
#include "driver/specialized.h"
#include "driver/stages/stage.h"
#include "folding/runtime_folding.h"
#include "passes/pass.h"
#include "runtime/bisect.h"
#include "runtime/saved_for_runtime.h"

namespace graphopt {
namespace {

// Returns whether the pass has rules that round, and runs them with these options.
bool may_round(const CleanUpStage::Options& options, std::string_view name) {
  const PassInfo* pass = find_pass(name);
  if (pass == nullptr)
    return name == kRuntimeFolding.name ||
           (name == kLowerPass && !keeps_bits(strictness_of(options.level, options.exact)));
  const int from = pass->exact == Exact::No ? pass->level : pass->rounds_from;
  return from > 0 && !keeps_bits(strictness_of(options.level, options.exact)) &&
         (pass->exact == Exact::No || options.level >= from);
}

Status find_culprit(Run& run, Checker& checker) {
  std::unique_ptr<Work> work;
  SavedForRuntime saved(room_for_runtime(run.options.output));
  std::uint64_t steps = 0;
  const auto make = [&](std::uint64_t budget) -> Result<BisectStep> {
    if (run.out_of_time()) return run.stopped();
    run.observer.step("bisect", ++steps, 0);
    work = std::make_unique<Work>();
    work->rewrite_budget = budget;
    for (const StageEntry* stage : all_stages()) {
      if (!stage->repeat || !stage->wanted(run.options)) continue;
      if (Status done = stage->repeat(run, *work); !done) return done.errors();
    }
    if (Status done = saved.save(work->model, saved_types(run.options, *work), run.original->folder); !done)
      return done.errors();
    return BisectStep{saved.source(), work->pipeline.rewrites, work->pipeline.last_rewrite};
  };
  Result<BisectReport> found =
      bisect(make, [&checker](const ModelSource& model) { return checker.check(model); });
  if (!found) return found.errors();
  const Place place{run.options.input, {}, {}, {}, {}};
  switch (found->outcome) {
    case BisectReport::Outcome::Found:
      if (may_round(run.options.clean_up, found->culprit.pass))
        return Error{
            ErrorKind::CheckFailed, place,
            "the results begin to differ with " + to_string(*found) + ": " + found->check.why,
            "nothing was written; this pass rounds, and docs/rounding.md has its bound: --exact leaves "
            "such rewrites out, --check-tolerance allows more; please report a difference above the bound"};
      if (found->check.half)
        return Error{ErrorKind::CheckFailed, place,
                     "the results begin to differ with " + to_string(*found) + ": " + found->check.why,
                     "nothing was written; it need not be a defect of the pass: " +
                         std::string(kHalfDiffers) + "; --check-tolerance allows more"};
      return Error{ErrorKind::CheckFailed, place, "broken by " + to_string(*found) + ": " + found->check.why,
                   "nothing was written; " +
                       (found->culprit.pass == kLowerPass
                            ? std::string("--lower never leaves it out")
                            : "--disable-pass " + found->culprit.pass + " leaves the pass out") +
                       "; please report it"};
    case BisectReport::Outcome::Saving:
      return Error{ErrorKind::CheckFailed, place, "differs before the first rewrite: " + found->check.why,
                   "nothing was written; please report the model: loading and saving broke it"};
    case BisectReport::Outcome::Clean:
      return Error{ErrorKind::CheckFailed, place,
                   "the results differed once and agreed when the passes ran again",
                   "nothing was written; run --check again: the model may not be deterministic"};
    case BisectReport::Outcome::NotRun: break;
  }
  return *to_error(found->check, run.options.input);
}

// What --bisect can search is the rewrites of a model without buckets: OUT's, or those of its sizes alone.
std::string bucket_remedy(const Run& run) {
  std::string dims;
  for (const deploy::Buckets::Symbol& s : run.specialized->section.symbols)
    dims += "--dim '" + s.name + '=' + std::to_string(s.sizes.front()) + "' ";
  return "nothing was written; OUT computes the same, so that it is padding or a rewrite for fixed sizes" +
         std::string(run.options.check.bisect ? ", which --bisect does not search here" : "") + ": '" + dims +
         "--bisect' in place of the buckets searches the rewrites of one size";
}

// Writes a model that does not compute the same where the user wants it.
Status keep_bad(Run& run, const Model& model, std::span<const TypeOverride> types) {
  if (run.options.check.keep_bad.empty()) return Done{};
  SaveOptions o = save_options(run.options.save);
  o.path = run.options.check.keep_bad;
  o.data_name.clear();  // that file belongs to OUT
  o.types = types;
  const Result<SavedFiles> saved = save_model(model, o);
  if (!saved) return saved.errors();
  report_files(*saved, run.report);
  run.observer.log(LogLevel::Warning, "--keep-bad: the wrong model is in " + o.path);
  return Done{};
}

// The models of the buckets together: one model that chooses, pads and cuts, on shapes that were promised.
// NaN, infinities and negative indices are outside of what padding was proved for.
Status check_buckets(Run& run) {
  const OriginalModel& original = *run.original;
  std::optional<Result<Model>> made;
  if (!run.specialized->single) {
    made.emplace(single_model(run, *run.specialized));
    if (!*made) {
      run.warn(run.options.input +
               ": --check: the models of the buckets are not checked: " + made->error().what);
      return Done{};
    }
  }
  CheckOptions promised = check_options(run.options.check, original.given);
  promised.special_values = false;
  Checker checker(original.source(), run.specialized->plan, std::move(promised));
  const Model& model = made ? **made : *run.specialized->single;
  SavedForRuntime result(room_for_runtime(run.options.output));
  if (Status saved = result.save(model, {}, original.folder); !saved) return saved.errors();
  const CheckReport report = checker.check(result.source());
  CheckStage::Report figures = check_figures(report);
  if (report.verdict == CheckVerdict::Same) {
    run.report.check->bucket_runs = figures.runs;
    return Done{};
  }
  run.report.check = std::move(figures);
  Error e = *to_error(report, run.options.input);
  if (report.verdict == CheckVerdict::NotChecked) {
    e.what = "the models of the buckets: " + e.what;
    return e;
  }
  if (Status kept = keep_bad(run, model, {}); !kept) return kept;
  e.what = "the models of the buckets do not compute the same: " + report.why;
  e.remedy = bucket_remedy(run);
  return e;
}

// A check that cannot run ends the run as well: the user who requested it must learn of it.
Status run_check(Run& run) {
  const CheckStage::Options& options = run.options.check;
  const OriginalModel& original = *run.original;
  Checker checker(original.source(), original.plan, check_options(options, original.given));
  const std::vector<TypeOverride> types = saved_types(run.options, *run.work);
  SavedForRuntime result(room_for_runtime(run.options.output));
  if (Status saved = result.save(run.work->model, types, original.folder); !saved) return saved.errors();
  const CheckReport report = checker.check(result.source());
  run.report.check = check_figures(report);
  if (report.verdict == CheckVerdict::Same) return run.specialized ? check_buckets(run) : Status(Done{});
  if (report.verdict == CheckVerdict::NotChecked) return *to_error(report, run.options.input);
  if (Status kept = keep_bad(run, run.work->model, types); !kept) return kept;
  if (!options.bisect) return *to_error(report, run.options.input);
  run.observer.log(LogLevel::Info, "the results differ: " + report.why + "; looking for the rewrite");
  return find_culprit(run, checker);
}

void check_json(const Report& r, Json& out) {
  out["check"] = nullptr;
  if (!r.check) return;
  Json outputs = Json::array();
  for (const CheckStage::Difference& d : r.check->outputs) {
    outputs.push_back({{"output", d.output},
                       {"max_abs", json_number(d.max_abs)},
                       {"max_rel", json_number(d.max_rel)},
                       {"noise", json_number(d.noise)},
                       {"unsteady", d.unsteady},
                       {"random", d.random},
                       {"ok", d.ok},
                       {"problem", d.problem}});
  }
  out["check"] = {
      {"verdict", word(r.check->verdict)}, {"runtime", r.check->runtime},         {"runs", r.check->runs},
      {"skipped", r.check->skipped},       {"bucket_runs", r.check->bucket_runs}, {"outputs", outputs}};
}

}  // namespace

extern constinit const StageEntry check_stage = {
    .stage = Stage::Check,
    .name = "check",
    .needs_types = true,
    .wanted = [](const Options& options) { return options.check.seeds > 0 || options.check.bisect; },
    .run = run_check,
    .to_json = check_json};

}  // namespace graphopt
