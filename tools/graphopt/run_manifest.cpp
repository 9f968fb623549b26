// graphopt run MANIFEST
#include "graphopt/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "graphopt/option_rows.h"
#include "handlers.h"
#include "output_paths.h"
#include "side_file.h"
#include "verbs.h"

namespace graphopt::tool {
namespace {

constexpr std::string_view kRequestGroup = "Requests", kRunGroup = "Running";

using RunRow = OptionRow<RunOptions>;

// DEV=VALUE,...: adds to a map by the ids of devices.
RunRow device_row(OptionInfo info, std::map<std::string, std::uint64_t> RunOptions::* map,
                  Result<std::uint64_t> (*read)(std::string_view option, std::string_view text)) {
  const std::string_view name = info.name, form = info.value.substr(0, info.value.find(','));
  info.form = OptionForm::Text;
  info.repeats = true;
  return {std::move(info),
          [name, form, map, read](RunOptions& o, std::string_view text) -> Status {
            const auto values = read_device_values(name, text, form);
            if (!values) return values.errors();
            for (const DeviceValue& v : *values) {
              const Result<std::uint64_t> value = read(name, v.value);
              if (!value) return value.errors();
              (o.*map)[v.device] = *value;
            }
            return Done{};
          },
          {}};
}

// DEV=cpu: the other value is that of the profile, which is the default.
RunRow on_host_row() {
  return {{.name = "--device",
           .group = kRunGroup,
           .value = "DEV=cpu,...",
           .help = "run the parts of a device on the CPU, whatever its profile names",
           .form = OptionForm::Text,
           .repeats = true},
          [](RunOptions& o, std::string_view text) -> Status {
            const auto values = read_device_values("--device", text, "DEV=cpu");
            if (!values) return values.errors();
            for (const DeviceValue& v : *values) {
              if (v.value != "cpu")
                return wrong_value("--device", v.value, "is not 'cpu'", "write it as in npu=cpu");
              o.on_host.push_back(v.device);
            }
            return Done{};
          },
          {}};
}

Result<std::uint64_t> read_workers(std::string_view option, std::string_view text) {
  const auto count = read_count(
      option, text,
      {.least = 1, .most = 256, .problem = "is not a number of threads", .remedy = "give 1 to 256"});
  if (!count) return count.errors();
  return static_cast<std::uint64_t>(*count);
}

RunRow sequential_row() {
  return {{.name = "--check-sequential",
           .group = kRunGroup,
           .value = "N",
           .help = "compare the bytes of so many requests with --mode sync (all)",
           .form = OptionForm::Count,
           .bare = "0"},
          [](RunOptions& o, std::string_view text) -> Status {
            const auto count = read_count("--check-sequential", text,
                                          {.least = 0,
                                           .most = std::numeric_limits<std::int64_t>::max(),
                                           .problem = "is not a number of requests",
                                           .remedy = "give a number, or leave it out for all"});
            if (!count) return count.errors();
            o.check_sequential = static_cast<std::uint64_t>(*count);
            return Done{};
          },
          {}};
}

std::vector<RunRow> run_rows() {
  std::vector<RunRow> out;
  out.push_back(texts_row<RunOptions>({.name = "--input",
                                       .group = kRequestGroup,
                                       .value = "NAME=FILE",
                                       .help = "one request: .npy, .npz or .pb of an input; FILE.npz: of all",
                                       .form = OptionForm::Text},
                                      [](auto& o) -> auto& { return o.inputs; }));
  out.push_back(file_row<RunOptions>({.name = "--requests",
                                      .group = kRequestGroup,
                                      .value = "LIST",
                                      .help = "a request on each line, as JSON (docs/running.md)"},
                                     "give a file, or '-' for stdin",
                                     [](auto& o) -> auto& { return o.requests; }));
  out.push_back(count_row<RunOptions>({.name = "--draw",
                                       .group = kRequestGroup,
                                       .value = "N",
                                       .help = "so many requests with random inputs; --dim sets sizes"},
                                      {.least = 1,
                                       .most = 1'000'000'000,
                                       .problem = "is not a number of requests",
                                       .remedy = "give 1 or more"},
                                      [](auto& o) -> auto& { return o.draws; }));
  out.push_back(count_row<RunOptions>(
      {.name = "--seed", .group = kRequestGroup, .value = "N", .help = "other random inputs (0)"},
      {.least = 0,
       .most = std::numeric_limits<std::int64_t>::max(),
       .problem = "is not a seed",
       .remedy = "give a whole number"},
      [](auto& o) -> auto& { return o.seed; }));
  out.push_back(file_row<RunOptions>({.name = "--test-data",
                                      .group = kRequestGroup,
                                      .value = "DIR",
                                      .help = "ONNX's test_data_set_* folders, whose outputs are compared"},
                                     "give a folder", [](auto& o) -> auto& { return o.test_data; }));
  out.push_back(text_row<RunOptions>({.name = "--network",
                                      .group = kRequestGroup,
                                      .value = "ID",
                                      .help = "with a folder of manifests: the beginning of \"network.id\"",
                                      .form = OptionForm::Text},
                                     [](auto& o) -> auto& { return o.network; }));
  out.push_back(file_row<RunOptions>({.name = "--output",
                                      .short_name = "-o",
                                      .group = kRequestGroup,
                                      .value = "OUT",
                                      .help = "outputs: an .npz for one request, a folder for several"},
                                     "give a file or a folder", [](auto& o) -> auto& { return o.output; }));
  out.push_back(choice_row<RunOptions, RunMode>(
      {.name = "--mode",
       .group = kRunGroup,
       .value = "MODE",
       .help = "overlap (default): several requests at once; async1: one; sync: one subgraph"},
      [](auto& o) -> auto& { return o.mode; }));
  out.push_back(count_row<RunOptions>(
      {.name = "--inflight",
       .group = kRunGroup,
       .value = "N",
       .help = "requests at once (as many as keep devices busy)"},
      {.least = 1, .most = 1024, .problem = "is not a number of requests", .remedy = "give 1 to 1024"},
      [](auto& o) -> auto& { return o.in_flight; }));
  out.push_back(device_row(
      {.name = "--workers", .group = kRunGroup, .value = "DEV=N,...", .help = "threads of a device (1)"},
      &RunOptions::workers, read_workers));
  out.push_back(device_row({.name = "--budget",
                            .group = kRunGroup,
                            .value = "DEV=BYTES,...",
                            .help = "memory of a device for tensors (that of the manifest)"},
                           &RunOptions::budgets, read_bytes));
  out.push_back(seconds_row<RunOptions>({.name = "--request-timeout",
                                         .group = kRunGroup,
                                         .value = "TIME",
                                         .help = "give up a request after it"},
                                        [](auto& o) -> auto& { return o.request_timeout; }));
  out.push_back(count_row<RunOptions>(
      {.name = "--retries",
       .group = kRunGroup,
       .value = "N",
       .help = "run a subgraph again so often after an error of its device (0)"},
      {.least = 0, .most = 1000, .problem = "is not a number of tries", .remedy = "give 0 to 1000"},
      [](auto& o) -> auto& { return o.retries; }));
  out.push_back(choice_row<RunOptions, bool>(
      {.name = "--fallback",
       .group = kRunGroup,
       .value = "WHERE",
       .help = "host (default): where a part fails, OUT answers as a whole; none"},
      {{"host", true}, {"none", false}}, [](auto& o) -> auto& { return o.fallback; }));
  out.push_back(on_host_row());
  out.push_back(choice_row<RunOptions, RunRetain>(
      {.name = "--retain",
       .group = kRunGroup,
       .value = "WHAT",
       .help = "outputs (default); all: each value is stored outside of its device, too"},
      [](auto& o) -> auto& { return o.retain; }));
  out.push_back(flag_row<RunOptions>(
      {.name = "--unordered", .group = kRunGroup, .help = "compare and write answers as requests end"},
      [](auto& o) -> auto& { return o.unordered; }));
  out.push_back(count_row<RunOptions>(
      {.name = "--warm-up",
       .group = kRunGroup,
       .value = "N",
       .help = "runs of each model before requests begin (1)"},
      {.least = 0, .most = 1'000'000, .problem = "is not a number of runs", .remedy = "give 0 or more"},
      [](auto& o) -> auto& { return o.warm_up; }));
  out.push_back(sequential_row());
  out.push_back(flag_row<RunOptions>(
      {.name = "--check-whole", .group = kRunGroup, .help = "compare each request with OUT as a whole"},
      [](auto& o) -> auto& { return o.check_whole; }));
  return out;
}

// Ends the requests that run when the process is interrupted, and begins no other.
class Interruptible final : public Observer {
 public:
  explicit Interruptible(Console& to) : to_(to) {}
  bool wants(LogLevel level) const override { return to_.wants(level); }
  void log(LogLevel level, std::string_view message) override { to_.log(level, message); }
  void step(std::string_view what, std::uint64_t done, std::uint64_t total) override {
    to_.step(what, done, total);
  }
  bool stop_requested() override { return noted_interrupt() != 0; }

 private:
  Console& to_;
};

std::string run_time_text(double seconds) {
  if (seconds >= 1) return fmt::format("{:.2f} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.2f} ms", seconds * 1e3);
  return fmt::format("{:.1f} us", seconds * 1e6);
}

std::string text_of(const RunReport::Network& n, bool all) {
  std::string out;
  if (n.models.size() > 1)
    for (const RunReport::Model& m : n.models)
      if (m.requests > 0) out += fmt::format("  {:>9} requests by {}\n", m.requests, visible(m.file));
  out += fmt::format("  {:<24}{:>9}{:>8}{:>12}{:>12}{:>12}{:>8}{:>8}\n", "device", "runs", "busy", "peak",
                     "planned", "budget", "waits", "spills");
  const auto size = [](const std::optional<std::uint64_t>& bytes) {
    return bytes ? size_text(*bytes) : std::string("-");
  };
  for (const RunReport::Device& d : n.devices)
    out += fmt::format("  {:<24}{:>9}{:>6.0f} %{:>12}{:>12}{:>12}{:>8}{:>8}\n", visible(d.id), d.runs,
                       d.busy * 100, size(d.peak), size(d.planned_peak), size(d.budget), d.waits, d.spills);
  if (!all) return out;
  out += fmt::format("  {:<24}{:<16}{:>9}{:>12}{:>12}\n", "subgraph", "device", "runs", "mean", "longest");
  std::string_view model = n.models.front().file;
  for (const RunReport::Subgraph& s : n.subgraphs) {
    if (s.runs == 0) continue;
    if (s.model != model) out += fmt::format("  of {}\n", visible(model = s.model));
    out += fmt::format("  {:<24}{:<16}{:>9}{:>12}{:>12}\n", visible(s.id), visible(s.device), s.runs,
                       run_time_text(s.mean), run_time_text(s.longest));
  }
  return out;
}

std::string text_of(const RunReport& r, bool all) {
  const double rate = r.run_seconds > 0 ? static_cast<double>(r.done) / r.run_seconds : 0;
  std::string out = fmt::format("graphopt: {} of {} requests in {}, {:.1f} a second (mode {})\n", r.done,
                                r.requests, run_time_text(r.run_seconds), rate, word(r.mode));
  if (r.by_fallback > 0) out += fmt::format("  {:>9} requests by the fallback\n", r.by_fallback);
  if (r.latency)
    out += fmt::format("  latency: median {}, p90 {}, p99 {}, longest {}\n", run_time_text(r.latency->p50),
                       run_time_text(r.latency->p90), run_time_text(r.latency->p99),
                       run_time_text(r.latency->longest));
  for (const RunReport::Network& n : r.networks) {
    if (r.networks.size() > 1) out += fmt::format("{}\n", visible(n.manifest));
    out += text_of(n, all);
  }
  const auto check = [&out](const std::optional<RunReport::Check>& c, std::string_view with) {
    if (c)
      out += fmt::format("  compared with {}: {} requests, {} differ\n", with, c->compared, c->different);
  };
  check(r.sequential, "--mode sync");
  check(r.whole, "OUT as a whole");
  check(r.test_data, "the test data");
  return out;
}

class RunManifest final : public Verb {
 public:
  void declare(OptionSet& set) override {
    for (const RunRow& row : run_rows()) set.add(row, options_);
    set.take(run_, {"--dim", "--check-tolerance", "--ort"});
    set.describe("--dim", "a size, or a range of sizes, for --draw");
    take_tool_options(set, tool,
                      {"--max-memory", "--timeout", "--json", "--report", "--trace", "--quiet", "--verbose"});
    set.describe("--verbose", "show the times of each subgraph");
    set.word("MANIFEST", options_.manifest);
  }

  Status check() override {
    if (options_.manifest.empty())
      return usage_error("run: no manifest is named", "graphopt run MANIFEST --draw 10");
    options_.dims = run_.infer.dims;
    options_.tolerance = run_.check.tolerance;
    options_.ort = run_.check.ort;
    options_.trace = !tool.trace.empty();
    for (const auto& [option, path] : {std::pair("--report", &tool.report), {"--trace", &tool.trace}})
      if (path->ends_with(".manifest.json"))
        return wrong_value(option, *path, "has the name of a manifest", "give it another name");
    run_.input = options_.manifest;
    run_.output = options_.output;
    return check_output_paths(run_, tool);
  }

  const std::string& input() const override { return options_.manifest; }
  TimeIsOver time_is_over() const override {
    return {options_.manifest, "the files of requests that have ended are whole",
            "give it more time, or fewer requests"};
  }

  int run(Console& console, bool) override {
    note_interrupts();
    Interruptible observer(console);
    const Result<RunReport> found =
        attended(*this, "run", console, [&] { return run_manifest(options_, observer); });
    if (!found) return fail(found.errors(), console);
    const Status traced = save_side_file(trace_file(tool.trace), found->trace);
    const int status = tell_result(
        tool, [&] { return to_json(*found); },
        [&] { return tool.quiet ? std::string() : text_of(*found, tool.verbose > 0); }, console);
    if (found->interrupted) end_by(noted_interrupt());
    if (!traced) return fail(traced.errors(), console);
    if (found->problems.empty()) return status;
    Errors errors;
    for (const RunReport::Problem& p : found->problems)
      if (errors.size() < kMaxErrors) errors.push_back(p.error);
    return fail(errors, console);
  }

 private:
  Options run_;  // what it shares with a run of the optimizer
  RunOptions options_;
};

std::string run_ending() {
  return "\nExamples:\n"
         "  graphopt run net.manifest.json --draw 64 --dim seq=8..40 --check-whole\n"
         "  graphopt run net.manifest.json --input ids=ids.npy --input mask=mask.npy -o out.npz\n"
         "  graphopt run net.manifest.json --requests list.jsonl -o results --inflight 4\n\n"
         "Exit status: 0 all requests were answered; 1 a request does not fit the network; 3 results "
         "differ;\n"
         "4 a file could not be written; 5 a request took too long, or no budget is enough for it; 6 a "
         "request\n"
         "failed. docs/running.md has more.\n";
}

}  // namespace

extern constinit const VerbEntry run_verb = {
    .name = "run",
    .words = "MANIFEST",
    .summary = "run requests on the parts of a manifest, in ONNX Runtime",
    .about =
        "Runs a partitioned model from its manifest: parts on their devices, several requests at once.\n",
    .ending = run_ending,
    .make = []() -> std::unique_ptr<Verb> { return std::make_unique<RunManifest>(); }};

}  // namespace graphopt::tool
