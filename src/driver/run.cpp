// A run, as a list of named phases. After each the model is valid: a run that stops there can save it.
//
//   load      the IR holds the file's content; names resolve, sizes are correct, no path leaves its folder
//   infer     every value has a type that holds in all runs; wrong claims of the file are known
//   clean-up  the passes have reached a fixed point; the verifier accepts the result
//   regions   the regions of the main graph are known and written as requested
//   check     the result computes what the original computes, on all inputs that were tried
//   save      OUT is the new model, durably; nothing is written before this phase
#include "driver/run.h"

#include <algorithm>
#include <new>
#include <utility>

#include "driver/explain.h"
#include "driver/figures.h"
#include "driver/original.h"
#include "driver/shapes.h"
#include "graphopt/version.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "onnx/reader.h"

namespace graphopt {

Run::Run(const Options& options, Observer& observer)
    : options_(options), observer_(observer), start_(Clock::now()) {
  if (options.timeout > 0) {
    deadline_ =
        start_ + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options.timeout));
  }
}

Run::~Run() {
  if (options_.process_ends) (void)work_.release();  // freeing 10^6 nodes one by one is wasted time here
}

Result<Report> Run::all() {
  report_.version = version();
  report_.input = options_.input;
  report_.output = options_.output;
  const Phase phases[] = {
      {"load", &Run::load, true},
      {"infer", &Run::infer, wants_inference()},
      {"clean-up", &Run::clean_up, wants_passes()},
      {"regions", &Run::regions, wants_regions()},
      {"check", &Run::check, wants_check()},
      {"save", &Run::save, !options_.output.empty()},
  };
  for (const Phase& phase : phases) {
    if (!phase.wanted) continue;
    if (out_of_time()) return stopped();
    if (Status done = run_phase(phase); !done) return done.errors();
  }
  report_.seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  return std::move(report_);
}

Status Run::run_phase(const Phase& phase) {
  observer_.phase(phase.name);
  const Clock::time_point begin = Clock::now();
  Status done = (this->*phase.run)();
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  report_.phases.push_back({phase.name, seconds});
  if (observer_.wants(LogLevel::Debug)) {
    observer_.log(LogLevel::Debug, std::string(phase.name) + ": " + std::to_string(seconds) + " s");
  }
  return done;
}

bool Run::wants_passes() const {
  return options_.stop_after >= Stage::CleanUp && (options_.level > 0 || !options_.passes.empty());
}

bool Run::wants_inference() const {
  return wants_passes() || wants_regions() || wants_check() || options_.infer ||
         options_.stop_after == Stage::Infer || !options_.shapes.empty() || !options_.dims.empty();
}

// --- load --------------------------------------------------------------------------------------------------

Status Run::load() {
  std::vector<Warning> warnings;
  auto work = std::make_unique<Work>();
  if (wants_check()) {
    auto original = OriginalModel::open(options_, warnings);
    if (!original) return original.errors();
    original_ = *std::move(original);
  }
  Result<Model> model = original_ ? original_->load(warnings)
                                  : load_model({options_.input, options_.external_root, 0,
                                                options_.dim_names == DimNames::Expressions},
                                               warnings);
  if (!model) return model.errors();
  work->model = *std::move(model);
  work->file_values = work->model.value_count();
  work_ = std::move(work);
  for (const Warning& w : warnings) {
    warn(to_string(w.place) + ": " + w.what + (w.remedy.empty() ? "" : " (" + w.remedy + ")"));
  }
  if (auto broken = verify(work_->model)) return *broken;
  report_.before = report_.after = count_model(work_->model);
  report_.before.bytes = work_->model.file_bytes;
  drop_old_regions(*work_);
  return Done{};
}

// --- infer -------------------------------------------------------------------------------------------------

Status Run::start_inference(Work& work) {
  Result<InferOptions> shapes = bind(work.model, bindings_of(options_));
  if (!shapes) return shapes.errors();
  work.inference.emplace(work.model, *std::move(shapes));
  work.inference->run();
  return Done{};
}

Status Run::infer() {
  if (Status started = start_inference(*work_); !started) return started.errors();
  report_.inference =
      Report::InferenceFigures{};  // emplace() is refused by clang 16: its members have initializers
  report_.inference->inferred = work_->inference->inferred();
  for (std::size_t v = 0; v < work_->model.value_count(); ++v) {
    if (work_->model.alive(ValueId{v})) ++report_.inference->values;
  }
  report_claims();
  if (original_)
    original_->plan = plan_inputs(work_->model, *work_->inference);  // passes may remove what it reads
  return Done{};
}

void Run::report_claims() {
  const Model& m = work_->model;
  for (const FalseClaim& claim : work_->inference->false_claims()) {
    report_.false_claims.push_back(
        {std::string(m.text(m.value(claim.value).name)), claim.declared, claim.inferred});
  }
  if (report_.false_claims.empty()) return;
  const Report::WrongClaim& first = report_.false_claims.front();
  const std::size_t others = report_.false_claims.size() - 1;
  warn(m.file + ": value_info of '" + first.value + "' says " + first.declared + ", which cannot be: it is " +
       first.inferred + (others > 0 ? " (and " + std::to_string(others) + " more such claims)" : "") +
       "; not trusted");
}

// --- clean-up ----------------------------------------------------------------------------------------------

Result<PipelineReport> Run::run_passes(Work& work, std::uint64_t rewrite_budget, MoveLog* moves) {
  PipelineOptions o;
  o.passes = options_.passes;
  o.disabled = options_.disabled;
  o.pass = {.fold_limit = options_.fold_limit, .strictness = strictness_of(options_.level, options_.exact)};
  o.verify_each = options_.verify_each;
  o.rewrite_budget = rewrite_budget;
  o.should_stop = [this] { return out_of_time(); };
  std::uint64_t steps = 0;
  o.moves = moves;
  if (moves) {
    o.after_pass = [this, &steps](std::string_view pass, const Model& model, bool changed) {
      observer_.step(pass, ++steps, 0);
      if (observer_.wants(LogLevel::Debug)) {
        observer_.log(LogLevel::Debug,
                      std::string(pass) + (changed ? ": changed the model" : ": nothing to do"));
      }
      for (const std::string& name : options_.print_after) {
        if (name == pass) observer_.text(pass, print(model));
      }
    };
  }
  Result<PipelineReport> done = run_pipeline(work.model, *work.inference, o);
  if (!done) return done.errors();
  if (done->stopped == StopReason::Stopped) return stopped();
  return done;
}

Status Run::clean_up() {
  const std::uint64_t inferred_before = work_->inference->inferred();
  MoveLog moves{.explain = explained_passes(options_), .kept = {}, .refused = {}, .costs = {}, .limits = {}};
  Result<PipelineReport> done = run_passes(*work_, Journal::kNoLimit, &moves);
  if (!done) return done.errors();
  report_moves(moves);
  report_passes(*done);
  Report::InferenceFigures& inference = *report_.inference;
  inference.inferred = work_->inference->inferred();
  inference.again = inference.inferred - inferred_before;
  if (done->rewrites > 0)
    inference.again_per_rewrite = static_cast<double>(inference.again) / static_cast<double>(done->rewrites);
  if (auto broken = verify(work_->model)) return *broken;
  report_.after = count_model(work_->model);
  return Done{};
}

void Run::report_moves(const MoveLog& log) {
  const auto cost = [](const MoveCost& c) { return Report::Cost{c.compute, c.free, c.deform}; };
  for (const KeptMove& m : log.kept)
    report_.moves.push_back({std::string(m.pass), std::string(m.kind),
                             to_string(place_of(work_->model, m.place)), cost(m.before), cost(m.after)});
  for (const GraphCost& c : log.costs) report_.costs.push_back({c.name, cost(c.before), cost(c.after)});
  report_.explain = asked_refusals(log, work_->model, options_);
  for (const LimitCount& l : log.limits) report_limit(l.name, l.times);
}

void Run::report_limit(std::string_view name, std::uint64_t times) {
  const auto known = std::ranges::find(report_.limits, name, &Report::Limit::name);
  if (known != report_.limits.end()) known->times += times;
  else report_.limits.push_back({std::string(name), times});
}

void Run::report_passes(const PipelineReport& pipeline) {
  for (const PassReport& p : pipeline.passes) {
    report_.passes.push_back({p.name, p.runs, p.changes, p.seconds, p.counters});
  }
  report_.rounds = pipeline.rounds;
  report_.rewrites = pipeline.rewrites;
  report_.stopped = pipeline.stopped == StopReason::Rounds ? "limit of rounds" : "fixed point";
  if (pipeline.stopped == StopReason::Rounds) {
    warn("the passes still found something to do after " + std::to_string(pipeline.rounds) +
         " rounds; the result is correct, but please report this model");
  }
}

// --- check: run_check.cpp ----------------------------------------------------------------------------------

// --- save --------------------------------------------------------------------------------------------------

std::vector<TypeOverride> Run::types_of(Work& work) const {
  if (!work.inference) return {};
  return written_types(work.model, *work.inference,
                       {.specialized = specializes(bindings_of(options_)),
                        .all = options_.infer,
                        .passes_ran = wants_passes(),
                        .file_values = work.file_values});
}

Status Run::save() {
  const std::vector<TypeOverride> types = types_of(*work_);
  SaveOptions o;
  o.path = options_.output;
  switch (options_.external_data) {
    case ExternalData::Auto: o.external = SaveOptions::External::Auto; break;
    case ExternalData::Always: o.external = SaveOptions::External::Always; break;
    case ExternalData::Never: o.external = SaveOptions::External::Never; break;
  }
  o.external_threshold = options_.external_threshold;
  o.force = options_.force;
  o.types = types;
  const Result<SavedFiles> saved = save_model(work_->model, o);
  if (!saved) return saved.errors();
  report_.after.bytes = saved->bytes + saved->data_bytes;
  report_.files.push_back({saved->path, saved->bytes});
  if (!saved->data_path.empty()) report_.files.push_back({saved->data_path, saved->data_bytes});
  return Done{};
}

// --- everywhere --------------------------------------------------------------------------------------------

void Run::warn(std::string text) {
  observer_.log(LogLevel::Warning, text);
  report_.warnings.push_back(std::move(text));
}

bool Run::out_of_time() const {
  return observer_.stop_requested() || (deadline_ && Clock::now() >= *deadline_);
}

Error Run::stopped() const {
  const Place place{options_.input, {}, {}, {}, {}};
  if (!deadline_ || Clock::now() < *deadline_)
    return {ErrorKind::Limit, place, "the run was stopped; nothing was written", "run it again"};
  return {ErrorKind::Limit, place, "--timeout: the time is over; nothing was written",
          "give it more time, or fewer passes (-O1, --passes)"};
}

Result<Report> optimize(const Options& options, Observer& observer) {
  try {
    return Run(options, observer).all();
  } catch (const std::bad_alloc&) {
    return Error{ErrorKind::Limit,
                 {options.input, {}, {}, {}, {}},
                 "there is not enough memory; nothing was written",
                 "give --max-memory more, or a machine with more"};
  }
}

}  // namespace graphopt
