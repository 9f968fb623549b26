// clean-up: the passes have reached a fixed point; the verifier accepts the result.
#include "driver/clean_up.h"

#include <algorithm>

#include "driver/json.h"
#include "driver/load_check.h"
#include "driver/original.h"
#include "driver/run.h"
#include "driver/shapes.h"
#include "driver/stages/stage.h"
#include "ir/figures.h"
#include "ir/made_names.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "passes/explained.h"
#include "placement/device_policy.h"

namespace graphopt {
namespace {

// So many times the passes go on after a type was hidden. What hid it in a graph without sequences they see
// through.
constexpr std::size_t kMostKept = 4;

constexpr std::string_view kConstantsPass = "constants-to-initializers";

bool wants_clean_up(const Options& options) {
  return options.stop_after >= Stage::CleanUp &&
         (options.clean_up.level > 0 || !options.clean_up.passes.empty());
}

// Returns the pass that --fold ort asks for, or none. That the runtime is not there is an error whatever the
// model has: it was asked for by name, and the result would be another one.
Result<std::unique_ptr<RuntimeFolding>> runtime_folding(const Options& options) {
  if (options.clean_up.fold != FoldWith::Ort) return std::unique_ptr<RuntimeFolding>();
  Result<std::shared_ptr<Runtime>> runtime = Runtime::open(options.check.ort);
  if (runtime) return std::make_unique<RuntimeFolding>(*std::move(runtime), data_folder(options.input));
  Error e = runtime.errors().front();
  e.place.file = options.input;
  e.what = "--fold ort: " + e.what;
  return e;
}

void report_folding(Run& run, const RuntimeFolding& folding) {
  run.report.clean_up.fold = folding.report();
  if (const std::string& why = folding.report().refused; !why.empty())
    run.warn("--fold ort: the constant part stays computed, since ONNX Runtime does not run it: " + why);
}

// What the passes of the main run are recorded in.
struct Logs {
  RefusalLog refusals;
  MoveLog moves;
};

// Each model of a bucket has numbers for them.
std::vector<DimId> symbols_of_inputs(const Work& work) {
  std::vector<DimId> out;
  for (const ValueId v : work.model.graph_inputs(work.model.main()))
    for (const DimId d : work.inference->dims(v))
      for (const DimId symbol : work.model.dims.symbols_of(d)) out.push_back(symbol);
  return out;
}

// A run with logs is the main one: it reports to the observer, too.
Status run_passes(Run& run, Work& work, Logs* logs) {
  const CleanUpStage::Options& options = run.options.clean_up;
  std::uint64_t steps = 0;
  CleanUpHooks hooks;
  hooks.should_stop = [&run] { return run.out_of_time(); };
  if (logs != nullptr) {
    hooks.refusals = &logs->refusals;
    hooks.moves = &logs->moves;
    hooks.after_pass = [&](std::string_view pass, const Model& model, bool changed) {
      run.observer.step(pass, ++steps, 0);
      if (run.observer.wants(LogLevel::Debug)) {
        run.observer.log(LogLevel::Debug,
                         std::string(pass) + (changed ? ": changed the model" : ": nothing to do"));
      }
      for (const std::string& name : options.print_after) {
        if (name == pass) run.observer.text(pass, print(model));
      }
    };
    hooks.folded = [&run](const RuntimeFolding& folding) { report_folding(run, folding); };
  }
  if (Status done = clean_up(run.options, work, hooks); !done) return done;
  if (work.pipeline.stopped == StopReason::Stopped) return run.stopped();
  return Done{};
}

void report_moves(Run& run, const Logs& logs, const RenamedValues& renamed) {
  const MoveLog& log = logs.moves;
  CleanUpStage::Report& report = run.report.clean_up;
  const auto cost = [](const MoveCost& c) {
    return CleanUpStage::Cost{c.compute, c.free, c.deform, c.apart, c.nodes};
  };
  for (const KeptMove& m : log.kept)
    report.moves.push_back({std::string(m.pass), std::string(m.kind),
                            to_string(place_of(run.work->model, m.place)), cost(m.before), cost(m.after)});
  for (const GraphCost& c : log.costs) report.costs.push_back({c.name, cost(c.before), cost(c.after)});
  report.explain = asked_refusals(logs.refusals, run.work->model, renamed, run.options.clean_up);
  const auto names_lower = [](const std::string& item) { return explained_pass(item) == kLowerPass; };
  if (std::ranges::any_of(run.options.clean_up.explain, names_lower) && !is_wanted(Stage::Lower, run.options))
    run.warn("--explain: lower did not run: nodes are lowered with --devices, without --bucket, from -O1 on");
  // A partition names nodes that were lowered or had no name, and looks for them later.
  if (run.options.partition.devices.empty())
    for (const std::string& warning : explained_nowhere(run.work->model, run.options.clean_up))
      run.warn(warning);
  for (const LimitCount& l : log.limits) run.add_limit(l.limit, l.times);
}

void report_passes(Run& run, const PipelineReport& pipeline) {
  CleanUpStage::Report& report = run.report.clean_up;
  for (const PassReport& p : pipeline.passes) {
    report.passes.push_back({p.name, p.runs, p.changes, p.seconds, p.counters});
  }
  report.rounds = pipeline.rounds;
  report.rewrites = pipeline.rewrites;
  report.stopped = pipeline.stopped == StopReason::Rounds ? CleanUpEnd::Rounds : CleanUpEnd::FixedPoint;
  if (const FunctionId f = pipeline.hidden_operator) {
    const Model& m = run.work->model;
    run.warn("the function '" + std::string(m.text(m.function(f).name)) +
             "' of the model has the name of an operator: passes that write operators did not run");
  } else if (!run.work->left_alone) {
    std::vector<std::string> ran;
    for (const PassReport& p : pipeline.passes) ran.push_back(p.name);
    for (std::string& warning : named_but_left_out(run.options.clean_up, ran)) run.warn(std::move(warning));
  }
  if (run.work->left_alone) run.warn(std::string(kLeftAlone));
  if (pipeline.stopped == StopReason::Rounds) {
    run.warn("the passes still found something to do after " + std::to_string(pipeline.rounds) +
             " rounds; the result is correct, but please report this model");
  }
}

Status run_clean_up(Run& run) {
  Work& work = *run.work;
  const std::uint64_t inferred_before = work.inference->inferred();
  Logs logs;
  logs.refusals.explain = explained_passes(run.options.clean_up);
  if (Status done = run_passes(run, work, &logs); !done) return done;
  RenamedValues renamed;
  name_made(work.model, work.file_names, work.file_nodes,
            run.options.clean_up.explain.empty() ? nullptr : &renamed);
  report_moves(run, logs, renamed);
  report_passes(run, work.pipeline);
  InferStage::Report& inference = *run.report.infer;
  inference.inferred = work.inference->inferred();
  inference.again = inference.inferred - inferred_before;
  if (const std::uint64_t rewrites = work.pipeline.rewrites; rewrites > 0)
    inference.again_per_rewrite = static_cast<double>(inference.again) / static_cast<double>(rewrites);
  if (auto broken = verify(work.model)) return *broken;
  run.report.after = count_model(work.model);
  return Done{};
}

Json to_json(const CleanUpStage::PassFigures& p) {
  Json counters = Json::object();
  for (const auto& [name, n] : p.counters) counters[name] = n;
  return {{"name", p.name},
          {"runs", p.runs},
          {"rewrites", p.rewrites},
          {"seconds", p.seconds},
          {"counters", counters}};
}

void clean_up_json(const Report& report, Json& out) {
  const CleanUpStage::Report& r = report.clean_up;
  Json& passes = out["passes"] = Json::array();
  for (const CleanUpStage::PassFigures& p : r.passes) passes.push_back(to_json(p));
  const auto cost = [](const CleanUpStage::Cost& c) {
    return Json{{"compute", c.compute},
                {"free", c.free},
                {"deform", c.deform},
                {"apart", c.apart},
                {"nodes", c.nodes}};
  };
  Json& moves = out["moves"] = Json::array();
  for (const CleanUpStage::Move& m : r.moves) {
    moves.push_back({{"pass", m.pass},
                     {"kind", m.kind},
                     {"place", m.place},
                     {"before", cost(m.before)},
                     {"after", cost(m.after)}});
  }
  Json& costs = out["costs"] = Json::array();
  for (const CleanUpStage::GraphCost& c : r.costs)
    costs.push_back({{"graph", c.graph}, {"before", cost(c.before)}, {"after", cost(c.after)}});
  Json& explain = out["explain"] = Json::array();
  for (const CleanUpStage::Refused& e : r.explain) {
    explain.push_back({{"pass", e.pass},
                       {"kind", e.kind},
                       {"reason", e.reason},
                       {"place", e.place},
                       {"node", e.node},
                       {"op", e.op},
                       {"value", e.value}});
    if (e.limit) explain.back()["limit"] = word(*e.limit);
  }
  Json& fold = out["fold"] = nullptr;
  if (r.fold)
    fold = {{"runtime", r.fold->runtime},
            {"nodes", r.fold->nodes},
            {"constants", r.fold->constants},
            {"refused", r.fold->refused}};
  out["rounds"] = r.rounds;
  out["rewrites"] = r.rewrites;
  out["stopped"] = word(r.stopped);
}

}  // namespace

Status clean_up(const Options& options, Work& work, const CleanUpHooks& hooks) {
  PipelineOptions o;
  o.passes = options.clean_up.passes;
  o.disabled = options.clean_up.disabled;
  // Constants leave their nodes before the graph is cut, whatever the options say (partition.cpp). Passes
  // have to see them as a second run does.
  if (is_wanted(Stage::Partition, options)) {
    std::erase(o.disabled, kConstantsPass);
    if (!o.passes.empty() && std::ranges::find(o.passes, kConstantsPass) == o.passes.end())
      o.passes.emplace_back(kConstantsPass);
  }
  o.pass = {.fold_limit = options.clean_up.fold_limit,
            .strictness = strictness_of(options.clean_up.level, options.clean_up.exact)};
  const Result<std::unique_ptr<RuntimeFolding>> folding = runtime_folding(options);
  if (!folding) return folding.errors();
  if (*folding) o.added = {&kRuntimeFolding, folding->get()};
  o.verify_each = options.clean_up.verify_each;
  o.rewrite_budget = work.rewrite_budget;
  o.should_stop = hooks.should_stop;
  o.refusals = hooks.refusals;
  o.moves = hooks.moves;
  o.after_pass = hooks.after_pass;
  const bool bound = hooks.bound || specializes(bindings_of(options.infer));
  std::size_t kept = 0;
  const bool loads = bound || loads_as_it_stands(work);
  if (loads) plan_loading(work);
  if (work.left_alone) {
    work.pipeline = {};
    bool changed = false;
    return bound ? keep_loading(options, work, bound, changed) : Status(Done{});
  }
  if (loads)
    o.at_rest = [&]() -> Result<bool> {
      bool changed = false;
      if (Status loads = keep_loading(options, work, bound, changed); !loads) return loads.errors();
      return changed && ++kept <= kMostKept;
    };
  std::optional<DevicePolicy> support;
  if (std::ranges::any_of(work.devices, [](const Profile& d) { return !d.host; }))
    o.support = &support.emplace(
        work.devices, work.model, *work.inference,
        is_wanted(Stage::Specialize, options) ? symbols_of_inputs(work) : std::vector<DimId>{});
  std::optional<AssignmentBorders> borders;
  if (!work.assigned.empty()) {
    borders.emplace(work.model, work.assigned);
    work.inference->update();
    o.policy = &*borders;
  }
  Result<PipelineReport> done = run_pipeline(work.model, *work.inference, o);
  if (!done) return done.errors();
  if (borders) {
    borders->remove();
    work.inference->run();
  }
  work.pipeline = *std::move(done);
  if (*folding && hooks.folded && work.pipeline.stopped != StopReason::Stopped) hooks.folded(**folding);
  return Done{};
}

extern constinit const StageEntry clean_up_stage = {
    .stage = Stage::CleanUp,
    .name = "clean-up",
    .needs_types = true,
    .edits_nodes = true,
    .wanted = wants_clean_up,
    .run = run_clean_up,
    .repeat = [](Run& run, Work& work) { return run_passes(run, work, nullptr); },
    .to_json = clean_up_json};

}  // namespace graphopt
