// The original decides what is legal: a binding or a style of inputs that it refuses proves nothing, and
// another one is tried. Accepted ones are kept as the list of cases, with their results while these are
// small, so that further comparisons with the same original (--bisect) run only the new model.
#include "runtime/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "runtime/compare.h"
#include "runtime/ort.h"
#include "support/memory_limit.h"

namespace graphopt {
namespace {

constexpr double kNoiseLimit = 0.05, kNoiseFactor = 3;
constexpr std::size_t kWantedBindings = 3;  // the usual one, one without equal sizes, one of ones
constexpr std::size_t kEnoughBindings = 2;
constexpr std::size_t kPatience = 4;  // candidates after which kEnoughBindings suffices
constexpr std::uint64_t kMaxKeptResults = std::uint64_t{256} << 20;

struct Case {
  Binding binding;
  InputStyle style;
  std::vector<HostValue> results;  // of the original; empty when not kept
};

std::uint64_t bytes_of(const HostValue& v) {
  std::uint64_t bytes = v.raw.size();
  for (const std::string& text : v.strings) bytes += sizeof(std::string) + text.size();
  for (const HostValue& item : v.items) bytes += bytes_of(item);  // the same recursion as in compare_values
  return bytes;
}

std::string describe(const OutputDifference& d) {
  if (!d.problem.empty()) return fmt::format("output '{}': {}", d.output, d.problem);
  return fmt::format("output '{}' differs by {:.3g} (relative {:.3g})", d.output, d.max_abs, d.max_rel);
}

std::string describe(const CheckRun& run) {
  return fmt::format("{}{}seed {}{}", run.binding, run.binding.empty() ? "" : ", ", run.seed,
                     run.special ? ", special values" : "");
}

}  // namespace

bool CheckRun::ok() const {
  return broken.empty() && std::ranges::all_of(outputs, [](const OutputDifference& d) { return d.ok; });
}

struct Checker::State {
  State(ModelSource o, const InputPlan& p, CheckOptions c)
      : original(std::move(o)), plan(&p), options(std::move(c)) {}

  ModelSource original;
  const InputPlan* plan;
  CheckOptions options;
  std::shared_ptr<Runtime> runtime;
  std::unique_ptr<RuntimeSession> first;  // the original
  // The original under other settings of the runtime; loaded when an output differs, null where that fails.
  std::vector<std::unique_ptr<RuntimeSession>> others;
  std::vector<Case> cases;
  std::vector<CheckRun> skipped;
  std::uint64_t kept = 0;
  CheckReport refused;  // the reason why nothing can be compared; CheckVerdict::NotChecked
  bool ready = false, prepared = false;

  // Opens the runtime, loads the original, finds the cases. Done once; returns false when nothing can be
  // compared.
  bool prepare();
  bool prepare_runtime();
  void find_cases();
  bool try_case(const Binding& binding, InputStyle style);
  void compare_case(RuntimeSession& second, const Case& c, CheckRun& run);
  void judge(OutputDifference& d, const HostValue& was, const HostValue& is, std::size_t index,
             const std::vector<NamedValue>& feeds);
  const HostValue* find(const std::vector<HostValue>& values, std::size_t index) const {
    return index < values.size() ? &values[index] : nullptr;
  }

  // Of one case: computed for outputs that differ.
  std::optional<std::vector<HostValue>> again;
  std::optional<std::vector<std::vector<HostValue>>> noisy;  // of each of `others` that ran
  void measure_noise(const std::vector<NamedValue>& feeds);
};

bool Checker::State::prepare_runtime() {
  auto opened = Runtime::open(options.ort);
  if (!opened) {
    refused.why = opened.error().what;
    refused.remedy = opened.error().remedy;
    return false;
  }
  runtime = *std::move(opened);
  refused.runtime = "ONNX Runtime " + runtime->version();
  auto loaded = RuntimeSession::load(runtime, original);
  if (!loaded) {
    refused.why = fmt::format("{} does not load {}: {}", refused.runtime, options.first, loaded.error().what);
    refused.remedy = "this model cannot be checked here; without --check it is written unchecked";
    if (const auto limit = memory_limit())
      refused.remedy =
          fmt::format("memory is limited to {} MiB: if that is the cause, give --max-memory more; else {}",
                      *limit >> 20, refused.remedy);
    return false;
  }
  first = *std::move(loaded);
  return true;
}

bool Checker::State::prepare() {
  if (prepared) return ready;
  prepared = true;
  if (!prepare_runtime()) return false;
  find_cases();
  ready = !cases.empty();
  if (!ready) {
    refused.runs = skipped;
    const bool own = !options.given.empty();
    refused.why = fmt::format("{} does not run {} on {}{}{}", refused.runtime, options.first,
                              own ? "the given inputs" : "any inputs that were made for it",
                              skipped.empty() ? "" : ": ", skipped.empty() ? "" : skipped.front().skipped);
    refused.remedy =
        own ? "give --check-input what the model takes"
            : "give sizes that the model takes with --shape or --dim, or inputs with --check-input";
  }
  return ready;
}

// Runs the original; returns true when it accepts the inputs.
bool Checker::State::try_case(const Binding& binding, InputStyle style) {
  Case c{binding, style, {}};
  CheckRun run{.binding = to_string(binding),
               .seed = style.seed,
               .special = style.special,
               .skipped = {},
               .broken = {},
               .outputs = {}};
  const auto feeds = make_inputs(*plan, binding, style, options.given);
  if (!feeds) {
    run.skipped = "a dimension is negative or unknown, or the inputs are too large";
    skipped.push_back(std::move(run));
    return false;
  }
  auto results = first->run(*feeds);
  if (!results) {
    run.skipped = results.error().what;
    skipped.push_back(std::move(run));
    return false;
  }
  std::uint64_t bytes = 0;
  for (const HostValue& v : *results) bytes += bytes_of(v);
  if (kept + bytes <= kMaxKeptResults) {
    kept += bytes;
    c.results = *std::move(results);
  }
  cases.push_back(std::move(c));
  return true;
}

void Checker::State::find_cases() {
  std::vector<Binding> candidates;
  for (Binding& candidate : candidate_bindings(*plan)) {
    candidate = bound_by(*plan, options.given, std::move(candidate));
    const auto same = [&](const Binding& other) { return to_string(other) == to_string(candidate); };
    if (std::ranges::none_of(candidates, same)) candidates.push_back(std::move(candidate));
  }
  std::vector<Binding> accepted;
  for (std::size_t i = 0; i < candidates.size() && accepted.size() < kWantedBindings; ++i) {
    if (i >= kPatience && accepted.size() >= kEnoughBindings) break;
    const auto turn = static_cast<unsigned>(accepted.size());
    if (!try_case(candidates[i], {.seed = 0, .turn = turn})) continue;
    accepted.push_back(candidates[i]);
    for (int seed = 1; seed < options.seeds; ++seed)
      try_case(candidates[i],
               {.seed = static_cast<std::uint64_t>(seed), .turn = turn + static_cast<unsigned>(seed)});
  }
  if (accepted.empty() || !options.given.empty()) return;
  // Again on the usual binding: awkward values, overridden defaults, conditions reversed.
  const Binding& usual = accepted.front();
  bool other_turn = try_case(usual, {.seed = 0, .turn = 1, .special = options.special_values});
  if (has_defaults(*plan))
    other_turn |= try_case(usual, {.seed = 0, .turn = 1, .special = false, .feed_defaults = true});
  if (!other_turn && accepted.size() == 1) try_case(usual, {.seed = 0, .turn = 1});
}

// Compares one output. The cheap comparison first; the original runs again only where that can excuse a
// difference.
void Checker::State::judge(OutputDifference& d, const HostValue& was, const HostValue& is, std::size_t index,
                           const std::vector<NamedValue>& feeds) {
  const Tolerance tolerance{options.tolerance, coarsest_float(*plan), output_rounds_at_one(*plan, index)};
  const Distance far = compare_values(was, is, tolerance);
  d.max_abs = far.max_abs;
  d.max_rel = far.max_rel;
  d.ok = far.within;
  d.problem = far.problem;
  if (d.ok || !compare_types(was, is).empty()) return;

  if (!again) {
    auto ran = first->run(feeds);
    again = ran ? *std::move(ran) : std::vector<HostValue>{};
  }
  if (const HostValue* second = find(*again, index))
    if (!compare_values(was, *second, tolerance).within && compare_types(was, *second).empty()) {
      d.max_abs = d.max_rel = 0;
      d.problem.clear();
      d.random = d.ok = true;
      return;
    }

  if (options.tolerance) return;  // what the user allows, and no more
  if (!noisy) measure_noise(feeds);
  bool moved = false;  // the runtime's own choices move NaN and infinities, too
  for (const std::vector<HostValue>& results : *noisy)
    if (const HostValue* other = find(results, index)) {
      const Distance noise = compare_values(was, *other, tolerance);
      d.noise = std::max(d.noise, noise.max_rel);
      moved = moved || (!noise.problem.empty() && compare_types(was, *other).empty());
    }
  d.unsteady = d.noise > kNoiseLimit;
  if (!d.problem.empty()) d.ok = moved;
  else d.ok = d.noise > 0 && d.max_rel <= (d.unsteady ? 1 : kNoiseFactor) * d.noise;
}

void Checker::State::measure_noise(const std::vector<NamedValue>& feeds) {
  noisy.emplace();
  if (others.empty())
    for (const SessionSettings& settings :
         {SessionSettings{.optimize = true}, SessionSettings{.threads = 1}}) {
      auto loaded = RuntimeSession::load(runtime, original, settings);
      others.push_back(loaded ? *std::move(loaded) : nullptr);
    }
  for (const auto& session : others)
    if (session)
      if (auto ran = session->run(feeds)) noisy->push_back(*std::move(ran));
}

void Checker::State::compare_case(RuntimeSession& second, const Case& c, CheckRun& run) {
  run.binding = to_string(c.binding);
  run.seed = c.style.seed;
  run.special = c.style.special;
  again.reset();
  noisy.reset();
  const auto feeds = make_inputs(*plan, c.binding, c.style, options.given);  // cannot fail: it worked before
  if (!feeds) return;
  std::vector<HostValue> fresh;
  const std::vector<HostValue>* results = &c.results;
  if (c.results.empty()) {
    auto ran = first->run(*feeds);
    if (!ran) {
      run.skipped = ran.error().what;
      return;
    }
    fresh = *std::move(ran);
    results = &fresh;
  }
  auto got = second.run(*feeds);
  if (!got) {
    run.broken = got.error().what;
    return;
  }
  for (std::size_t i = 0; i < first->outputs().size(); ++i) {
    OutputDifference d;
    d.output = first->outputs()[i];
    const auto at = std::ranges::find(second.outputs(), d.output);
    if (at == second.outputs().end()) {
      d.ok = false;
      d.problem = "is missing";
    } else {
      judge(d, (*results)[i], (*got)[static_cast<std::size_t>(at - second.outputs().begin())], i, *feeds);
    }
    run.outputs.push_back(std::move(d));
  }
}

Checker::Checker(ModelSource original, const InputPlan& plan, CheckOptions options)
    : s_(std::make_unique<State>(std::move(original), plan, std::move(options))) {}
Checker::~Checker() = default;
Checker::Checker(Checker&&) noexcept = default;
Checker& Checker::operator=(Checker&&) noexcept = default;

CheckReport Checker::check(const ModelSource& optimized) {
  State& s = *s_;
  if (!s.prepare()) return s.refused;
  CheckReport report;
  report.runtime = s.refused.runtime;
  report.verdict = CheckVerdict::Different;
  auto loaded = RuntimeSession::load(s.runtime, optimized);
  if (!loaded) {
    report.why = fmt::format("{} loads {} but not {}: {}", report.runtime, s.options.first, s.options.second,
                             loaded.error().what);
    return report;
  }
  report.runs = s.skipped;
  std::size_t compared = 0, bad = 0, wrong = 0;  // wrong: not by a number
  double worst = 0;                              // of the differences that `why` may tell
  for (const Case& c : s.cases) {
    CheckRun& run = report.runs.emplace_back();
    s.compare_case(**loaded, c, run);
    if (!run.skipped.empty()) continue;
    ++compared;
    wrong += !run.broken.empty();
    if (!run.broken.empty() && bad++ == 0)
      report.why = fmt::format("{} fails to run ({}): {}", s.options.second, describe(run), run.broken);
    for (const OutputDifference& d : run.outputs) {
      wrong += !d.ok && !d.problem.empty();
      if (!d.ok && (bad++ == 0 || (wrong == 0 && d.max_rel > worst))) {
        report.why = fmt::format("{} ({})", describe(d), describe(run));
        worst = d.max_rel;
      }
      const auto same = [&](const OutputDifference& w) { return w.output == d.output; };
      const auto w = std::ranges::find_if(report.worst, same);
      if (w == report.worst.end()) report.worst.push_back(d);
      else if (std::make_tuple(!d.ok, !d.problem.empty(), d.max_rel) >
               std::make_tuple(!w->ok, !w->problem.empty(), w->max_rel))
        *w = d;
    }
  }
  const DType inside = coarsest_float(*s.plan);
  report.half = bad > 0 && wrong == 0 && (inside == DType::Float16 || inside == DType::BFloat16);
  if (bad > 1)
    report.why += wrong == 0 ? fmt::format(", the largest of {} differences", bad)
                             : fmt::format(", and {} more failures", bad - 1);
  if (bad == 0) report.verdict = compared > 0 ? CheckVerdict::Same : CheckVerdict::NotChecked;
  if (report.verdict == CheckVerdict::NotChecked)
    report.why = std::string(s.options.first) + " ran once but not again";
  return report;
}

CheckReport check_models(const ModelSource& original, const ModelSource& optimized, const InputPlan& plan,
                         const CheckOptions& options) {
  return Checker(original, plan, options).check(optimized);
}

std::optional<Error> to_error(const CheckReport& report, std::string file) {
  Error e{.kind = ErrorKind::CheckFailed, .place = {}, .what = {}, .remedy = {}};
  e.place.file = std::move(file);
  switch (report.verdict) {
    case CheckVerdict::Same: return std::nullopt;
    case CheckVerdict::NotChecked:
      e.kind = ErrorKind::NotChecked;
      e.what = "not checked: " + report.why;
      e.remedy = report.remedy;
      return e;
    case CheckVerdict::Different: break;
  }
  e.what = "the optimized model does not compute the same: " + report.why;
  e.remedy = "nothing was written; --bisect names the pass and the rewrite, --disable-pass leaves a pass out";
  if (report.half)
    e.remedy = fmt::format(
        "nothing was written; passes round at -O2 and -O3 (--exact leaves that out); {}; --check-tolerance "
        "allows more",
        kHalfDiffers);
  return e;
}

}  // namespace graphopt
