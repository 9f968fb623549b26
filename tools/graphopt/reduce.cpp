// graphopt reduce IN --test CMD -o OUT
#include "graphopt/reduce.h"

#include <fmt/format.h>

#include <cstdio>

#include "graphopt/option_rows.h"
#include "handlers.h"
#include "output_paths.h"
#include "result_folder.h"
#include "side_file.h"
#include "verbs.h"

namespace graphopt::tool {
namespace {

class ReduceProgress final : public ReduceObserver {
 public:
  explicit ReduceProgress(Console& console) : console_(console) {}
  void step(std::string_view what, std::uint64_t nodes, std::uint64_t tests) override {
    console_.step(fmt::format("{} of {} nodes, {} tests", what, nodes, tests), 0, 0);
  }
  bool stop_requested() override { return noted_interrupt() != 0; }

 private:
  Console& console_;
};

std::string summary(const ReduceReport& r) {
  std::string out = fmt::format("nodes  {} -> {} (with Constant nodes)\nbytes  {} -> {}\n", r.nodes_before,
                                r.nodes_after, r.bytes_before, r.bytes_after);
  out += fmt::format("test   {}, {} runs in {:.1f} s; {} candidates were invalid and not tested\n",
                     status_text(r.status), r.tests, r.seconds, r.invalid);
  if (r.nodes_after == 0)
    out += "no node is left: the test ends so on an empty model, too, and may not look at the model at all\n";
  if (r.stopped) out += "stopped early: a longer run may make it smaller\n";
  return out;
}

OptionRow<ReduceOptions> test_row() {
  return text_row<ReduceOptions>({.name = "--test",
                                  .group = "Reduction",
                                  .value = "CMD",
                                  .help = "a shell command; {} is the model's path, else appended at the end",
                                  .form = OptionForm::Text},
                                 [](auto& o) -> auto& { return o.test; });
}

class Reduce final : public Verb {
 public:
  void declare(OptionSet& set) override {
    set.add(test_row(), options_);
    set.add(seconds_row<ReduceOptions>(
                {.name = "--timeout",
                 .group = "Reduction",
                 .value = "TIME",
                 .help = "a longer run of CMD is a hang (default: 10 times the first, >= 10s)"},
                [](auto& o) -> auto& { return o.test_timeout; }),
            options_);
    set.add(seconds_row<ReduceOptions>(
                {.name = "--seconds",
                 .group = "Reduction",
                 .value = "TIME",
                 .help = "end after this time with the smallest model so far (default: never)"},
                [](auto& o) -> auto& { return o.seconds; }),
            options_);
    set.take(run_, {"--output", "--external-root"});
    set.describe("--output", "where the small model goes; OUT may be IN");
    take_tool_options(set, tool, {"--max-memory", "--json", "--report", "--quiet", "--progress", "--color"});
    set.word("IN", options_.input);
  }

  Status check() override {
    options_.external_root = run_.load.external_root;
    if (options_.input.empty())
      return usage_error("reduce: no model is named", "graphopt reduce IN --test CMD -o OUT");
    if (options_.test.find_first_not_of(" \t\n") == std::string::npos)
      return usage_error("reduce: no test is given",
                         "give --test a shell command that ends with one status on IN");
    if (run_.output.empty())
      return usage_error("reduce: no output is named", "give -o a file for the small model");
    run_.input = options_.input;
    if (Status named = folder_.enter(run_); !named) return named;
    options_.output = run_.output;
    return check_output_paths(run_, tool);
  }

  const std::string& input() const override { return options_.input; }

  int run(Console& console, bool) override {
    if (const Status made = folder_.make(); !made) return fail(made.errors(), console);
    note_interrupts();
    ReduceProgress observer(console);
    console.begin("reduce");
    const Result<ReduceReport> report = reduce(options_, observer);
    console.finish();
    int status = 0;
    if (!report) status = fail(report.errors(), console);
    else status = tell(*report, console);
    if (const int signal = noted_interrupt(); signal != 0) end_by(signal);
    return status;
  }

 private:
  // The figures accompany the small model: as a text they go to stderr.
  int tell(const ReduceReport& report, Console& console) const {
    const auto json = [&report] { return to_json(report); };
    if (tool.json || tool.report == "-") return tell_result(tool, json, {}, console);
    console.print(summary(report));
    const Status saved =
        tool.report.empty() ? Status(Done{}) : save_side_file(report_file(tool.report), json());
    return saved ? 0 : fail(saved.errors(), console);
  }

  Options run_;  // what it shares with a run
  ReduceOptions options_;
  ResultFolder folder_;
};

std::string reduce_ending() {
  return "\nExamples:\n"
         "  graphopt reduce bad.onnx --test 'graphopt {} --check -q' -o small.onnx\n"
         "  graphopt reduce bad.onnx --test ./crashes.sh --timeout 5 -o small.onnx\n\n"
         "The end by a signal n counts as status 128 + n, a timeout as a status of its own. Ctrl-C writes "
         "the\n"
         "smallest model so far.\n";
}

}  // namespace

extern constinit const VerbEntry reduce_verb = {
    .name = "reduce",
    .words = "IN --test CMD -o OUT",
    .summary = "make a failing model small",
    .about =
        "Makes a failing model small: OUT is a small model on which CMD ends with the same exit status as "
        "on\n"
        "IN. Failures can be wrong results, crashes and hangs.\n",
    .ending = reduce_ending,
    .make = []() -> std::unique_ptr<Verb> { return std::make_unique<Reduce>(); }};

}  // namespace graphopt::tool
