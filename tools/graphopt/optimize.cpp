// graphopt IN [-o OUT]
#include "graphopt/optimize.h"

#include <optional>

#include "first_word.h"
#include "handlers.h"
#include "help.h"
#include "output_paths.h"
#include "result_folder.h"
#include "side_file.h"
#include "verbs.h"

namespace graphopt::tool {
namespace {

// Follows the run's stages like the console; stops the watchdog so that files, once begun, are finished.
class OptimizeProgress final : public Observer {
 public:
  explicit OptimizeProgress(Console& console) : console_(console) {}
  bool wants(LogLevel level) const override { return console_.wants(level); }
  void log(LogLevel level, std::string_view message) override { console_.log(level, message); }
  void stage(Stage stage) override {
    if (writes_files(stage)) stop_watchdog();
    console_.stage(stage);
  }
  void step(std::string_view what, std::uint64_t done, std::uint64_t total) override {
    console_.step(what, done, total);
  }
  void text(std::string_view pass, std::string_view model) override { console_.text(pass, model); }
  void failed(const Report& report) override { failed_ = report; }

  // The report of a run that failed, if there is one.
  const std::optional<Report>& failed() const { return failed_; }

 private:
  Console& console_;
  std::optional<Report> failed_;
};

// With devices it shows the subgraphs, else the regions.
std::string drawing_of(const Report& report) {
  if (report.partition) return report.partition->drawing;
  return report.regions ? report.regions->drawing : std::string{};
}

class Optimize final : public Verb {
 public:
  void declare(OptionSet& set) override {
    set.take_all(options_);
    take_tool_options(
        set, tool,
        {"--list-passes", "--list-devices", "--max-memory", "--timeout", "--json", "--report", "--dot",
         "--time-passes", "--quiet", "--verbose", "--log-level", "--progress", "--color"});
    set.word("IN", options_.input);
  }

  Status check() override {
    if (options_.input.empty())
      return usage_error("no model is named", "graphopt IN -o OUT; graphopt --help shows more");
    if (std::optional<Error> error = foreign_command(options_.input)) return *std::move(error);
    options_.regions.draw = !tool.dot.empty();
    options_.timeout = tool.timeout;
    if (Status named = folder_.enter(options_); !named) return named;
    if (Status fits = check_conflicts(options_); !fits) return fits;
    return check_output_paths(options_, tool);
  }

  const std::string& input() const override { return options_.input; }

  int run(Console& console, bool process_ends) override {
    options_.process_ends = process_ends;
    if (const Status made = folder_.make(); !made) return fail(made.errors(), console);
    if (tool.timeout > 0) start_watchdog(tool.timeout, {options_.input});
    OptimizeProgress observer(console);
    const Result<Report> report = optimize(options_, observer);
    stop_watchdog();
    console.finish();
    if (!report) {
      // What was found until then helps whoever looks for the cause; the run's own errors decide the status.
      if (observer.failed())
        if (const Status saved = save_report(*observer.failed()); !saved) (void)fail(saved.errors(), console);
      return fail(with_verbs(report.errors(), options_.input), console);
    }
    // The tables come last: a reader that goes away early, as head does, ends the process.
    Status saved = save_report(*report);
    if (saved) saved = save_side_file(drawing_file(tool.dot), drawing_of(*report));
    if (const Status said = tell(*report, console); saved && !said) saved = said.errors();
    return saved ? 0 : fail(saved.errors(), console);
  }

 private:
  Status save_report(const Report& report) const {
    if (tool.report.empty() && !tool.json) return Done{};
    const std::string json = to_json(report);
    if (Status saved = save_side_file(report_file(tool.report), json); !saved) return saved;
    return tool.json ? write_stdout(json) : Status(Done{});
  }

  // All tables of a run that went well.
  std::string tables_of(const Report& report, bool all) const {
    std::string out = before_after_table(report, all);
    if (report.lower) out += lowered_table(*report.lower);
    if (report.partition) out += partition_table(*report.partition, all);
    if (report.partition && options_.partition.plan) out += plan_table(*report.partition);
    if (report.specialize) out += bucket_table(report, all);
    if (report.check) out += check_table(*report.check);
    out += files_table(report, all);
    if (!options_.clean_up.explain.empty()) out += explain_table(report, options_.clean_up.explain);
    if (report.partition) out += explained_nodes_table(*report.partition);
    if (tool.time_passes) out += time_table(report);
    return out;
  }

  // Without -o the tables are what the run was started for: they go to stdout, unless a report or a drawing
  // does. Else they accompany the files, and go to stderr.
  Status tell(const Report& report, Console& console) const {
    const std::string text = tables_of(report, console.wants(LogLevel::Info));
    const bool is_result = options_.output.empty() && !tool.json && tool.report != "-" && tool.dot != "-";
    if (!is_result) console.print(text);
    else if (!tool.quiet || options_.partition.plan) return write_stdout(text);
    return Done{};
  }

  Options options_;
  ResultFolder folder_;
};

std::string optimize_ending() {
  return levels_text() +
         "\nExamples:\n"
         "  graphopt model.onnx -o small.onnx --check       and compare the results of both\n"
         "  graphopt model.onnx --dim batch=1 --exact -o model.onnx\n"
         "  graphopt model.onnx --bucket seq=16..512:pow2 --devices nnapi -o out.onnx\n"
         "  graphopt export.onnx -o - | my-compiler -       nothing but the model goes to stdout\n\n"
         "Exit status: 0 done, 1 usage, 2 unusable input, 3 results differ, 4 output not written, 5 limit\n"
         "reached, 6 ONNX Runtime is missing or fails, 7 inspect --bucketable: no, 70 internal error.\n";
}

}  // namespace

extern constinit const VerbEntry optimize_verb = {
    .name = "",
    .words = "IN [-o OUT] [options]",
    .summary = "optimize a model; without -o only report",
    .about = "Makes ONNX models smaller and faster. IN and OUT may be '-' (stdin, stdout); OUT may be IN.\n",
    .ending = optimize_ending,
    .make = []() -> std::unique_ptr<Verb> { return std::make_unique<Optimize>(); }};

}  // namespace graphopt::tool
