// lower: nodes that no accelerator supports are written in operators that one does, or in int32. It comes
// after the passes, which have removed what need not be lowered, and before names and metadata are written.
#include "driver/json.h"
#include "driver/lowering.h"
#include "driver/run.h"
#include "driver/stages/stage.h"
#include "ir/figures.h"
#include "ir/made_names.h"
#include "ir/verify.h"

namespace graphopt {
namespace {

// With buckets OUT serves every size, and is not lowered; their models are, one by one (specialize).
bool wants_lower(const Options& options) {
  return lowers(options) && is_wanted(Stage::Partition, options) && !is_wanted(Stage::Specialize, options);
}

Status run_lower(Run& run) {
  LowerStage::Report& report = run.report.lower.emplace();
  Work& work = *run.work;
  if (Status done = lower_model(
          run.options, work, [&run] { return run.out_of_time(); }, false, report);
      !done)
    return done;
  if (work.pipeline.stopped == StopReason::Stopped) return run.stopped();
  name_made(work.model, work.file_names, work.file_nodes);
  for (CleanUpStage::Refused& refused : explain_lowering(run.options, work))
    run.report.clean_up.explain.push_back(std::move(refused));
  if (auto broken = verify(work.model)) return *broken;
  run.report.after = count_model(work.model);
  return Done{};
}

Status repeat_lower(Run& run, Work& work) {
  LowerStage::Report untold;
  return lower_model(run.options, work, [&run] { return run.out_of_time(); }, false, untold);
}

void lower_json(const Report& r, Json& out) {
  out["lowered"] = r.lower ? lowered_json(r.lower->lowered) : Json(nullptr);
  Json& narrowed = out["narrowed"] = nullptr;
  if (!r.lower) return;
  narrowed = Json::array();
  for (const LowerStage::Narrowed& d : r.lower->narrowed)
    narrowed.push_back({{"device", d.device}, {"nodes", d.nodes}, {"values", d.values}, {"casts", d.casts}});
}

}  // namespace

Json lowered_json(std::span<const LowerStage::Lowered> lowered) {
  Json out = Json::array();
  for (const LowerStage::Lowered& l : lowered)
    out.push_back({{"device", l.device},
                   {"operator", l.op},
                   {"expansion", l.expansion},
                   {"nodes", l.nodes},
                   {"written", l.written}});
  return out;
}

extern constinit const StageEntry lower_stage = {.stage = Stage::Lower,
                                                 .name = "lower",
                                                 .needs_types = true,
                                                 .edits_nodes = true,
                                                 .wanted = wants_lower,
                                                 .run = run_lower,
                                                 .repeat = repeat_lower,
                                                 .to_json = lower_json};

}  // namespace graphopt
