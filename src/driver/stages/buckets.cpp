// buckets: it is known whether the model may run on padded inputs, how these are padded and outputs cut. A
// model that may not ends the run here, before the passes.
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "deploy/bucket_report.h"
#include "deploy/make_buckets.h"
#include "driver/json.h"
#include "driver/shapes.h"
#include "driver/specialized.h"
#include "driver/stages/stage.h"
#include "shapes/bind.h"

namespace graphopt {
namespace {

Status open_buckets(Run& run) {
  const BucketsStage::Options& options = run.options.buckets;
  Result<BucketMarks> marks = read_marks(options.marks, options.file, "--buckets");
  if (!marks) return marks.errors();
  run.specialized = std::make_unique<Specialized>();
  run.specialized->marks = *std::move(marks);
  if (run.options.partition.devices.empty()) open_host(run);
  return Done{};
}

// The model may not be padded, and no repair was asked for or helps.
Error refused(const Model& m, const BucketDecision& d, const deploy::Buckets::Refusal& why) {
  Place place = d.refusal->node ? place_of(m, d.refusal->node) : Place{m.file, {}, {}, {}, {}};
  std::string what = "padded inputs would change the results: " + why.reason;
  if (!why.unrepaired.empty()) what += "; not repaired: " + why.unrepaired;
  return {ErrorKind::Input, std::move(place), std::move(what), why.remedy};
}

// One warning for each text: layers of a model assume the same.
void warn_of_assumptions(Run& run, const std::string& file,
                         std::span<const deploy::Buckets::Assumption> assumptions) {
  std::map<std::string_view, std::size_t> count;
  for (const deploy::Buckets::Assumption& a : assumptions) ++count[a.text];
  for (const deploy::Buckets::Assumption& a : assumptions) {
    const std::size_t n = std::exchange(count[a.text], 0);
    if (n == 0) continue;
    const std::string more = n > 1 ? " and " + std::to_string(n - 1) + " more" : std::string();
    run.warn(file + ": node '" + a.node + '\'' + more + ": padding is harmless as long as " + a.text);
  }
}

Status judge(Run& run, const BucketDecision& d, const deploy::Buckets& section) {
  const Model& m = run.specialized->prepared->model;
  const BucketRequire require = required(run);
  if (section.refused) {
    const Error error = refused(m, d, *section.refused);
    if (require != BucketRequire::Force) return error;
    if (run.options.buckets.single)
      return Error{ErrorKind::Usage, error.place,
                   "--bucket-single pads and cuts as was proved, and --bucket-require force leaves nothing "
                   "proved: " +
                       section.refused->reason,
                   "leave out --bucket-single: force then writes a model for each bucket"};
    run.warn(to_string(error.place) + ": --bucket-require force: " + error.what);
  }
  if (d.verdict != BucketVerdict::Assumed) return Done{};
  if (require == BucketRequire::Proved && !section.assumptions.empty()) {
    const deploy::Buckets::Assumption& a = section.assumptions.front();
    return Error{ErrorKind::Input,
                 {m.file, {}, a.node, {}, {}},
                 "--bucket-require proved: this is assumed and not proved: " + a.text,
                 a.kind == BucketAssumption::IndicesNotNegative
                     ? "say between which values the input's elements lie: 'values' in the file of --buckets"
                     : "--bucket-require assumed takes it, with a warning"};
  }
  warn_of_assumptions(run, m.file, section.assumptions);
  return Done{};
}

Status run_buckets(Run& run) {
  Specialized& s = *run.specialized;
  Model model = run.work->model.clone();
  model.dims.forget();  // what infer learned of --dim: symbols are to be found by their names
  const Result<InferOptions> bound = bind(model, bindings_of(run.options.infer));
  if (!bound) return bound.errors();
  Result<std::unique_ptr<PreparedModel>> prepared = prepare_buckets(std::move(model), s.marks, *bound);
  if (!prepared) return prepared.errors();
  s.prepared = *std::move(prepared);
  s.assigned = run.work->assigned;
  if (run.original) s.plan = plan_inputs(s.prepared->model, *s.prepared->inference);
  Result<Repaired> repaired = decide_or_repair(s.prepared->model, *s.prepared->inference, s.marks,
                                               required(run) == BucketRequire::Repair);
  if (!repaired) return repaired.errors();
  s.repaired = *std::move(repaired);
  s.section = deploy::make_buckets({s.prepared->model, *s.prepared->inference, s.repaired, s.marks,
                                    required(run) == BucketRequire::Force});
  run.report.buckets = report_of(s.section, s.buckets().size());
  return judge(run, s.repaired.decision, s.section);
}

}  // namespace

BucketRequire required(const Run& run) {
  if (run.options.buckets.require) return *run.options.buckets.require;
  return run.specialized->marks.require.value_or(BucketRequire::Assumed);
}

extern constinit const StageEntry buckets_stage = {
    .stage = Stage::Buckets,
    .name = "buckets",
    .needs_types = true,
    .wanted =
        [](const Options& options) {
          return options.stop_after >= Stage::CleanUp && options.buckets.asked();
        },
    .prepare = open_buckets,
    .run = run_buckets,
    .to_json =
        [](const Report& r, Json& out) {
          out["buckets"] = r.buckets ? Json(buckets_json(*r.buckets)) : Json(nullptr);
        }};

}  // namespace graphopt
