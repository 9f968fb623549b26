// run_manifest(): requests from files, lists or drawn, through the parts of a manifest.
//
// Problem: a list may be longer than memory, and answers come in any order. Method: inputs are read when it
// is the turn of their request, as many requests are on their way as the engine takes, and answers are taken,
// compared and written in the order of the requests. Before the first one runs, each line is read once, so
// that what is wrong with the last one is known then.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <filesystem>
#include <new>
#include <numeric>
#include <utility>

#include "driver/reading.h"
#include "graphopt/run.h"
#include "infer/infer.h"
#include "ir/model.h"
#include "onnx/reader.h"
#include "runner/drawn_requests.h"
#include "runner/engine.h"
#include "runner/input_check.h"
#include "runner/request_list.h"
#include "runner/test_data.h"
#include "runtime/array_writer.h"
#include "runtime/compare.h"
#include "support/file.h"

namespace graphopt {
namespace {

namespace fs = std::filesystem;
using runner::Engine;
using runner::ListedRequest;
using Clock = std::chrono::steady_clock;

double seconds_of(std::chrono::nanoseconds time) { return std::chrono::duration<double>(time).count(); }

// Which status counts where several happen.
int rank_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::Usage: return 0;
    case ErrorKind::Input: return 1;
    case ErrorKind::Output: return 2;
    case ErrorKind::CheckFailed: return 3;
    case ErrorKind::Limit: return 4;
    case ErrorKind::NotChecked: return 5;
    case ErrorKind::Internal: break;
  }
  return -1;
}

// Returns true if both hold the same bytes. Sequences and maps of a runtime are at most two deep.
bool is_same(const HostValue& a, const HostValue& b) {
  return a.kind == b.kind && a.dtype == b.dtype && a.dims == b.dims && a.raw == b.raw &&
         a.strings == b.strings && std::ranges::equal(a.items, b.items, is_same);
}

class ManifestRun {
 public:
  ManifestRun(const RunOptions& options, Observer& observer) : o_(options), observer_(observer) {}

  Result<RunReport> all() {
    const Clock::time_point begin = Clock::now();
    if (Status opened = open(); !opened) return opened.errors();
    if (Status read = read_requests(); !read) return read.errors();
    if (Status prepared = prepare_output(); !prepared) return prepared.errors();
    if (o_.check_whole || !o_.test_data.empty())
      if (Status read = read_tolerance(); !read) return read.errors();
    report_.load_seconds = seconds_of(Clock::now() - begin);
    const Clock::time_point first = Clock::now();
    run();
    report_.run_seconds = seconds_of(Clock::now() - first);
    tell();
    return std::move(report_);
  }

 private:
  struct OnItsWay {
    execution::Sequence sequence = 0;
    std::uint64_t number = 0;  // of all requests
    std::string id;
    std::size_t line = 0;            // of lines_
    std::vector<NamedValue> inputs;  // where answers are compared
  };

  static Error usage(std::string what, std::string remedy) {
    return {ErrorKind::Usage, {}, std::move(what), std::move(remedy)};
  }
  static Error of(Error error, const std::string& request) {
    error.what = "request '" + request + "': " + error.what;
    return error;
  }

  Status open() {
    runner::EngineOptions e;
    e.ort = o_.ort;
    e.mode = static_cast<runner::Mode>(o_.mode);
    e.in_flight = o_.in_flight;
    e.workers = {o_.workers.begin(), o_.workers.end()};
    e.budgets = o_.budgets;
    e.retries = o_.retries;
    e.has_fallback = o_.fallback;
    e.loads_whole = o_.check_whole;
    // As for --check: what ONNX Runtime fuses across the borders of parts rounds otherwise, by whole steps
    // where values are quantized.
    e.optimize = !o_.check_whole;
    auto engine = Engine::load(o_.manifest, e);
    if (!engine) return engine.errors();
    engine_ = *std::move(engine);
    out_ = folder_of(o_.manifest) + "/" + engine_->manifest().files.front().path;
    for (std::size_t k = 0; k < engine_->models(); ++k) report_.models.push_back({engine_->model(k).file, 0});
    return Done{};
  }

  // --- requests -------------------------------------------------------------------------------------------

  Status read_requests() {
    if (!o_.inputs.empty()) {
      auto files = runner::given_files(o_.inputs, "--input");
      if (!files) return files.errors();
      add_line("input", *std::move(files));
    } else if (o_.draws > 0) {
      ListedRequest line;
      line.id = "draw";
      line.repeat = o_.draws;
      line.numbered = true;
      line.source = runner::DrawnInputs{o_.dims, o_.seed};
      lines_.push_back(std::move(line));
    } else if (!o_.test_data.empty()) {
      auto sets = runner::find_test_data(o_.test_data, engine_->manifest().network);
      if (!sets) return sets.errors();
      sets_ = *std::move(sets);
      for (const runner::TestDataSet& set : sets_) add_line(set.id, set.inputs);
    } else {
      auto list = runner::open_request_list(o_.requests);
      if (!list) return list.errors();
      lines_ = std::move(list->lines);
    }
    report_.requests = std::accumulate(lines_.begin(), lines_.end(), std::uint64_t{0},
                                       [](std::uint64_t sum, const auto& line) { return sum + line.repeat; });
    return check_lines();
  }

  void add_line(std::string id, std::vector<runner::GivenFile> files) {
    ListedRequest line;
    line.id = std::move(id);
    line.source = std::move(files);
    lines_.push_back(std::move(line));
  }

  // Up to kMaxErrors problems of all lines.
  Status check_lines() {
    Errors errors;
    const auto add = [&errors](const Errors& more, const std::string& id, bool named) {
      for (const Error& e : more)
        if (errors.size() < kMaxErrors) errors.push_back(named ? of(e, id) : e);
    };
    const std::string& network = engine_->manifest().network.id;
    for (const ListedRequest& line : lines_) {
      if (errors.size() >= kMaxErrors) break;
      if (!line.network.empty() && !network.starts_with(line.network) &&
          !network.starts_with("sha256:" + line.network))
        add({usage("the manifest is of the network " + network + ", and not of " + line.network,
                   "leave out \"network\", or give its id or the beginning of it")},
            line.id, true);
      if (const auto* drawn = std::get_if<runner::DrawnInputs>(&line.source)) {
        if (!draws_) {
          auto draws = runner::DrawnRequests::open(out_, engine_->manifest());
          if (!draws) return draws.errors();
          draws_.emplace(*std::move(draws));
        }
        const runner::SizesPlace place = o_.draws > 0
                                             ? runner::SizesPlace{ErrorKind::Usage, {}, "--dim"}
                                             : runner::SizesPlace{ErrorKind::Usage, o_.requests, "draw"};
        if (const Status fit = draws_->check(drawn->dims, place); !fit)
          add(fit.errors(), line.id, o_.draws == 0);
      } else {
        const auto inputs = inputs_of(line, 0);
        const auto fit =
            inputs ? runner::check_inputs(engine_->manifest().network, *inputs) : inputs.errors();
        if (!fit) add(fit.errors(), line.id, lines_.size() > 1);
      }
    }
    if (!errors.empty()) return errors;
    return Done{};
  }

  Result<std::vector<NamedValue>> inputs_of(const ListedRequest& line, std::uint64_t repeat) const {
    if (const auto* files = std::get_if<std::vector<runner::GivenFile>>(&line.source))
      return runner::load_inputs(*files, engine_->manifest().network);
    auto drawn = draws_->draw(std::get<runner::DrawnInputs>(line.source), repeat);
    if (!drawn) return drawn.errors();
    return std::move(drawn->inputs);
  }

  Status prepare_output() const {
    if (o_.output.empty() || !writes_folder()) return Done{};
    std::error_code error;
    fs::create_directories(o_.output, error);
    if (fs::is_directory(o_.output, error)) return Done{};
    if (fs::exists(o_.output, error))
      return Error{ErrorKind::Output,
                   {o_.output, {}, {}, {}, {}},
                   "it is a file, and several requests need a folder",
                   "name a folder, which is made if it is not there"};
    return write_error(o_.output, folder_of(o_.output), error ? error.value() : ENOENT);
  }
  bool writes_folder() const { return report_.requests != 1; }

  // --- answers --------------------------------------------------------------------------------------------

  void run() {
    const auto timeout = std::chrono::nanoseconds(std::llround(o_.request_timeout * 1e9));
    std::uint64_t number = 0;
    for (std::size_t line = 0; line < lines_.size() && !ends_; ++line)
      for (std::uint64_t i = 0; i < lines_[line].repeat && !ends_; ++i, ++number) {
        if (observer_.stop_requested()) {
          report_.interrupted = ends_ = true;
          break;
        }
        // As many as the engine admits and queues.
        while (on_their_way_.size() >= 2 * engine_->in_flight() && !ends_) take_first();
        OnItsWay one{
            .sequence = 0, .number = number, .id = id_of(lines_[line], i), .line = line, .inputs = {}};
        auto inputs = inputs_of(lines_[line], i);
        if (!inputs) {
          ++report_.failed;
          problem(one.id, inputs.error());
          continue;
        }
        const auto sequence = engine_->submit(*inputs, timeout);
        if (!sequence) {
          ++report_.failed;
          problem(one.id, sequence.error());
          continue;
        }
        one.sequence = *sequence;
        if (o_.check_whole || is_sample(number)) one.inputs = *std::move(inputs);
        on_their_way_.push_back(std::move(one));
      }
    while (!on_their_way_.empty()) take_first();
  }

  bool is_sample(std::uint64_t number) const {
    if (!o_.check_sequential) return false;
    const std::uint64_t wanted = *o_.check_sequential;
    return wanted == 0 || wanted >= report_.requests || number % (report_.requests / wanted) == 0;
  }

  void take_first() {
    const OnItsWay one = std::move(on_their_way_.front());
    on_their_way_.pop_front();
    const runner::Answer answer = engine_->wait(one.sequence);
    report_.retries += answer.retries;
    observer_.step("requests", one.number + 1, report_.requests);
    if (answer.state == execution::RequestState::TimedOut) {
      ++report_.timed_out;
      return problem(
          one.id,
          {ErrorKind::Limit, {}, "it did not end in time", "raise --request-timeout, or lower --inflight"});
    }
    if (answer.state != execution::RequestState::Done) {
      ++report_.failed;
      return problem(
          one.id, answer.error.value_or(Error{ErrorKind::NotChecked, {}, "it was cancelled", "run again"}));
    }
    ++report_.done;
    if (answer.way == execution::Way::Fallback) ++report_.by_fallback;
    else ++report_.models[answer.model].requests;
    latencies_.push_back(seconds_of(answer.latency));
    if (is_sample(one.number) && answer.way == execution::Way::Devices) compare_sequential(one, answer);
    if (o_.check_whole) compare_whole(one, answer);
    if (!sets_.empty()) compare_test_data(one, answer);
    if (!o_.output.empty()) write(one.id, answer);
  }

  void problem(const std::string& id, const Error& error) {
    std::size_t of_kind = 0;
    for (const RunReport::Problem& p : report_.problems) of_kind += p.error.kind == error.kind ? 1U : 0U;
    if (of_kind < kMaxErrors) report_.problems.push_back({id, of(error, id)});
  }

  void compare_sequential(const OnItsWay& one, const runner::Answer& answer) {
    RunReport::Check& check = report_.sequential.emplace(report_.sequential.value_or(RunReport::Check{}));
    ++check.compared;
    const auto wanted = engine_->run_alone(one.inputs, execution::Way::Devices);
    if (!wanted) return problem(one.id, wanted.error());
    for (std::size_t i = 0; i < wanted->size(); ++i) {
      if (is_same((*wanted)[i].value, answer.outputs[i].value)) continue;
      ++check.different;
      return problem(one.id, {ErrorKind::CheckFailed,
                              {},
                              "output '" + answer.outputs[i].name + "' has other bytes than with --mode sync",
                              "run it again: a kernel of a part depends on what else runs"});
    }
  }

  void compare_whole(const OnItsWay& one, const runner::Answer& answer) {
    RunReport::Check& check = report_.whole.emplace(report_.whole.value_or(RunReport::Check{}));
    ++check.compared;
    const auto wanted = engine_->run_alone(one.inputs, execution::Way::Fallback);
    if (!wanted) return problem(one.id, wanted.error());
    compare(one.id, *wanted, answer, "OUT as a whole", check);
  }

  void compare_test_data(const OnItsWay& one, const runner::Answer& answer) {
    RunReport::Check& check = report_.test_data.emplace(report_.test_data.value_or(RunReport::Check{}));
    const auto wanted = runner::load_outputs(sets_[one.line], engine_->manifest().network);
    if (!wanted) return problem(one.id, wanted.error());
    ++check.compared;
    compare(one.id, *wanted, answer, "the test data", check);
  }

  void compare(const std::string& id, const std::vector<NamedValue>& wanted, const runner::Answer& answer,
               const char* with, RunReport::Check& check) {
    for (const NamedValue& w : wanted) {
      const auto got = std::ranges::find(answer.outputs, w.name, &NamedValue::name);
      if (got == answer.outputs.end()) continue;
      const auto i = static_cast<std::size_t>(got - answer.outputs.begin());
      const Distance far =
          compare_values(w.value, got->value, {o_.tolerance, inside_, i < at_one_.size() && at_one_[i]});
      if (far.within && far.problem.empty()) continue;
      ++check.different;
      return problem(id, {ErrorKind::CheckFailed,
                          {},
                          fmt::format("output '{}' is not that of {}: {}", w.name, with,
                                      far.problem.empty() ? fmt::format("it differs by {:g}", far.max_abs)
                                                          : far.problem),
                          "try --mode sync; --check-tolerance allows more"});
    }
  }

  void write(const std::string& id, const runner::Answer& answer) {
    const std::string path = writes_folder() ? o_.output + "/" + id + ".npz" : o_.output;
    const auto written = write_npz(path, answer.outputs, {.force = true, .lasting = false, .limits = {}});
    if (written) {
      report_.files.push_back(path);
      return;
    }
    problem(id, written.error());
    ends_ = true;  // the others would fail, too
  }

  // What OUT's floats may differ by, as --check has it.
  Status read_tolerance() {
    std::vector<Warning> warnings;
    LoadOptions load;
    load.path = out_;
    Result<Model> model = load_model(load, warnings);
    if (!model) return model.errors();
    Inference inference(*model, {});
    inference.run();
    const InputPlan plan = plan_inputs(*model, inference);
    inside_ = coarsest_float(plan);
    for (std::size_t i = 0; i < engine_->manifest().network.outputs.size(); ++i)
      at_one_.push_back(output_rounds_at_one(plan, i));
    return Done{};
  }

  // --- the report -----------------------------------------------------------------------------------------

  void tell() {
    const deploy::Manifest& m = engine_->manifest();
    report_.manifest = o_.manifest;
    report_.network = m.network.id;
    report_.mode = o_.mode;
    report_.in_flight = engine_->in_flight();
    report_.sessions = engine_->sessions();
    report_.runtime = engine_->runtime();
    std::vector<double> busy(m.devices.size());
    for (std::size_t k = 0; k < engine_->models(); ++k) {
      const runner::Stages& model = engine_->model(k);
      for (Index s = 0; s < model.ids.size(); ++s) {
        const runner::RuntimeDevices::Times t = engine_->times(k, s);
        const Index device = model.named.problem.subgraphs[s].device;
        busy[device] += seconds_of(t.sum);
        const double mean = t.runs == 0 ? 0 : seconds_of(t.sum) / static_cast<double>(t.runs);
        report_.subgraphs.push_back(
            {model.file, model.ids[s], m.devices[device].id, t.runs, mean, seconds_of(t.most)});
      }
    }
    for (Index d = 0; d < m.devices.size(); ++d) {
      const execution::DeviceCounts c = engine_->counts(d);
      RunReport::Device& to = report_.devices.emplace_back();
      to.id = m.devices[d].id;
      to.workers = engine_->workers(d);
      to.runs = c.runs;
      const double time = report_.run_seconds * static_cast<double>(to.workers);
      to.busy = time > 0 ? std::min(1.0, busy[d] / time) : 0;
      to.planned_peak = engine_->planned_peak(d);
      if (to.planned_peak) to.peak = c.peak;
      to.budget = engine_->budget(d);
      to.loaded_bytes = c.loaded_bytes;
      to.stored_bytes = c.stored_bytes;
      to.spills = c.spills;
      to.failures = c.failures;
    }
    if (!latencies_.empty()) {
      std::ranges::sort(latencies_);
      const auto at = [&](double part) {
        const double place = std::ceil(part * static_cast<double>(latencies_.size())) - 1;
        return latencies_[static_cast<std::size_t>(std::max(0.0, place))];
      };
      report_.latency = {at(0.5), at(0.9), at(0.99), latencies_.back()};
    }
    std::ranges::stable_sort(report_.problems, {}, [](const auto& p) { return rank_of(p.error.kind); });
  }

  using Index = runner::Index;

  const RunOptions& o_;
  Observer& observer_;
  std::unique_ptr<Engine> engine_;
  std::string out_;  // the path of OUT
  std::vector<ListedRequest> lines_;
  std::vector<runner::TestDataSet> sets_;  // by line, with test_data
  std::optional<runner::DrawnRequests> draws_;
  DType inside_ = DType::Undefined;
  std::vector<bool> at_one_;  // by output
  std::deque<OnItsWay> on_their_way_;
  std::vector<double> latencies_;  // seconds
  bool ends_ = false;
  RunReport report_;
};

Status check_options(const RunOptions& o) {
  const int sources = (o.inputs.empty() ? 0 : 1) + (o.requests.empty() ? 0 : 1) + (o.draws > 0 ? 1 : 0) +
                      (o.test_data.empty() ? 0 : 1);
  const auto refused = [](const char* what, const char* remedy) {
    return Error{ErrorKind::Usage, {}, what, remedy};
  };
  if (sources == 0)
    return refused("no requests are given", "give --input, --requests, --draw or --test-data");
  if (sources > 1)
    return refused("requests are given in two ways",
                   "give one of --input, --requests, --draw and --test-data");
  if (o.draws == 0 && !o.dims.empty()) return refused("--dim is for --draw", "add --draw, or leave it out");
  if (o.mode != RunMode::Overlap && o.in_flight > 1)
    return refused("--inflight is for --mode overlap", "leave out one of them");
  return Done{};
}

}  // namespace

Result<RunReport> run_manifest(const RunOptions& options, Observer& observer) {
  if (Status fits = check_options(options); !fits) return fits.errors();
  try {
    return ManifestRun(options, observer).all();
  } catch (const std::bad_alloc&) {
    return out_of_memory(options.manifest);
  }
}

}  // namespace graphopt
