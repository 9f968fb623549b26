// infer: every value has a type that holds in all runs, for the sizes that --shape and --dim give; wrong
// claims of the file are known.
#include "driver/json.h"
#include "driver/load_check.h"
#include "driver/original.h"
#include "driver/reading.h"
#include "driver/regions.h"
#include "driver/run.h"
#include "driver/shapes.h"
#include "driver/stages/stage.h"
#include "ir/made_names.h"

namespace graphopt {
namespace {

bool wants_infer(const Options& options) {
  return any_wanted(options, &StageEntry::needs_types) || options.infer.write_types ||
         options.stop_after == Stage::Infer || !options.infer.shapes.empty() || !options.infer.dims.empty();
}

Status start_inference(Run& run, Work& work) {
  Result<InferOptions> bound = bind(work.model, bindings_of(run.options.infer));
  if (!bound) return bound.errors();
  work.inference.emplace(work.model, *std::move(bound));
  work.inference->run();
  return Done{};
}

// Returns true if types may be written that the file does not state, where no pass ran.
bool states_types(const Options& options) {
  return options.infer.write_types || options.strip.names || writes_region_functions(options);
}

// Where passes run, they end with that.
Status keep_loading_without_passes(const Options& options, Work& work) {
  if (is_wanted(Stage::CleanUp, options)) return Done{};
  const bool bound = specializes(bindings_of(options.infer));
  if (!bound && (!states_types(options) || !loads_as_it_stands(work))) return Done{};
  plan_loading(work);
  if (!bound && work.left_alone) return Done{};
  bool changed = false;
  return keep_loading(options, work, false, changed);
}

Status start_again(Run& run, Work& work) {
  if (Status started = start_inference(run, work); !started) return started;
  return keep_loading_without_passes(run.options, work);
}

void report_claims(Run& run) {
  const Model& m = run.work->model;
  std::vector<InferStage::WrongClaim>& claims = run.report.infer->false_claims;
  for (const FalseClaim& claim : run.work->inference->false_claims()) {
    claims.push_back({std::string(m.text(m.value(claim.value).name)), claim.declared, claim.inferred});
  }
  if (claims.empty()) return;
  const std::size_t others = claims.size() - 1;
  run.warn(m.file + ": " + claim_text(m, run.work->inference->false_claims().front()) +
           (others > 0 ? " (and " + std::to_string(others) + " more such types)" : "") +
           "; what the file says is not used");
}

Status run_infer(Run& run) {
  Work& work = *run.work;
  if (Status started = start_inference(run, work); !started) return started;
  InferStage::Report& report = run.report.infer.emplace();
  report.inferred = work.inference->inferred();
  for (std::size_t v = 0; v < work.model.value_count(); ++v) {
    if (work.model.alive(ValueId{v})) ++report.values;
  }
  report_claims(run);
  for (std::string& warning : empty_sizes(run.options.infer)) run.warn(std::move(warning));
  if (Status loads = keep_loading_without_passes(run.options, work); !loads) return loads;
  if (!is_wanted(Stage::CleanUp, run.options)) name_made(work.model, work.file_names, work.file_nodes);
  if (work.left_alone) run.warn(std::string(kLeftAlone));
  if (!run.original) return Done{};
  run.original->plan = plan_inputs(work.model, *work.inference);  // passes may remove what it reads
  return fits(run.original->plan, run.original->given);
}

void infer_json(const Report& r, Json& out) {
  out["inference"] = nullptr;
  Json& claims = out["false_claims"] = Json::array();
  if (!r.infer) return;
  out["inference"] = {{"values", r.infer->values},
                      {"inferred", r.infer->inferred},
                      {"again", r.infer->again},
                      {"again_per_rewrite", r.infer->again_per_rewrite}};
  for (const InferStage::WrongClaim& c : r.infer->false_claims) {
    claims.push_back({{"value", c.value}, {"declared", c.declared}, {"inferred", c.inferred}});
  }
}

}  // namespace

extern constinit const StageEntry infer_stage = {.stage = Stage::Infer,
                                                 .name = "infer",
                                                 .wanted = wants_infer,
                                                 .run = run_infer,
                                                 .repeat = start_again,
                                                 .to_json = infer_json};

}  // namespace graphopt
