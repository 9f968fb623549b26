// graphopt batch IN... -o DIR
#include "graphopt/batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <thread>

#include "batch_run.h"
#include "batch_text.h"
#include "graphopt/option_rows.h"
#include "handlers.h"
#include "side_file.h"
#include "verbs.h"

namespace graphopt::tool {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBatchGroup = "Batch";
constexpr int kMostJobs = 1024;

// What the verb takes besides the options of a run.
struct BatchAsked {
  BatchOptions batch;
  std::int64_t jobs = 0;  // 0: one for each core
  std::uint64_t memory = 0;
  bool dry_run = false, delete_stale = false;
};

using AskedRow = OptionRow<BatchAsked>;

AskedRow glob_row(std::string_view name, std::string_view help,
                  std::vector<std::string> BatchOptions::* patterns) {
  return {{.name = name,
           .group = kBatchGroup,
           .value = "GLOB",
           .help = help,
           .form = OptionForm::Text,
           .repeats = true},
          [name, patterns](BatchAsked& a, std::string_view text) -> Status {
            if (text.empty())
              return wrong_value(name, text, "is no pattern", "give one as in '*.onnx' or 'bert/**'");
            (a.batch.*patterns).emplace_back(text);
            return Done{};
          },
          {}};
}

AskedRow jobs_row() {
  return {{.name = "--jobs",
           .short_name = "-j",
           .group = kBatchGroup,
           .value = "N",
           .help = "models at a time (default: one for each core)",
           .form = OptionForm::Count},
          [](BatchAsked& a, std::string_view text) -> Status {
            const bool is_number = !text.empty() && text.size() < 5 &&
                                   text.find_first_not_of("0123456789") == std::string_view::npos;
            a.jobs = is_number ? std::stoi(std::string(text)) : 0;
            if (a.jobs < 1 || a.jobs > kMostJobs)
              return wrong_value("--jobs", text, "is not a number of jobs", "give 1 to 1024");
            return Done{};
          },
          {}};
}

AskedRow shard_row() {
  return {{.name = "--shard",
           .group = kBatchGroup,
           .value = "I/N",
           .help = "do only the I-th of N parts of the models, chosen by their names",
           .form = OptionForm::Text},
          [](BatchAsked& a, std::string_view text) -> Status {
            unsigned index = 0, count = 0;
            int end = 0;
            const std::string copy(text);
            const bool read = std::sscanf(copy.c_str(), "%9u/%9u%n", &index, &count, &end) == 2 &&
                              static_cast<std::size_t>(end) == copy.size() && copy.front() != ' ';
            if (!read || index < 1 || index > count)
              return wrong_value("--shard", text, "is not a part", "write 1/4 to 4/4 for the parts of four");
            a.batch.shard = {index, count};
            return Done{};
          },
          {}};
}

std::vector<AskedRow> batch_rows() {
  std::vector<AskedRow> rows;
  rows.push_back(
      glob_row("--include", "take these files of folders (default: '*.onnx')", &BatchOptions::include));
  rows.push_back(glob_row("--exclude", "leave these files and folders out", &BatchOptions::exclude));
  rows.push_back(file_row<BatchAsked>({.name = "--options",
                                       .group = kBatchGroup,
                                       .value = "FILE",
                                       .help = "options for some models, as JSON (docs/batch.md)"},
                                      "give a JSON file", [](auto& a) -> auto& { return a.batch.rules; }));
  rows.push_back(jobs_row());
  rows.push_back(bytes_row<BatchAsked>({.name = "--memory-budget",
                                        .group = kBatchGroup,
                                        .value = "BYTES",
                                        .help = "begin no model for which all jobs together may need more"},
                                       [](auto& a) -> auto& { return a.memory; }));
  rows.push_back(choice_row<BatchAsked, OnError>(
      {.name = "--on-error",
       .group = kBatchGroup,
       .value = "WHEN",
       .help = "skip (default) a model that fails, copy it as it is, or stop"},
      {{"skip", OnError::Skip}, {"copy", OnError::Copy}, {"stop", OnError::Stop}},
      [](auto& a) -> auto& { return a.batch.on_error; }));
  rows.push_back(shard_row());
  rows.push_back(flag_row<BatchAsked>(
      {.name = "--dry-run", .group = kBatchGroup, .help = "print what would be done, and why; write nothing"},
      [](auto& a) -> auto& { return a.dry_run; }));
  rows.push_back(flag_row<BatchAsked>(
      {.name = "--force-all", .group = kBatchGroup, .help = "do all models, up to date or not"},
      [](auto& a) -> auto& { return a.batch.force_all; }));
  rows.push_back(flag_row<BatchAsked>({.name = "--by-content",
                                       .group = kBatchGroup,
                                       .help = "compare the content of files, whatever their times"},
                                      [](auto& a) -> auto& { return a.batch.by_content; }));
  rows.push_back(flag_row<BatchAsked>({.name = "--delete-stale",
                                       .group = kBatchGroup,
                                       .help = "delete outputs whose input is not there any more"},
                                      [](auto& a) -> auto& { return a.delete_stale; }));
  return rows;
}

// Lines of JSON, to a file or to stdout, as they come.
class LineReport {
 public:
  LineReport(const std::string& path, bool to_stdout) : path_(path), to_stdout_(to_stdout || path == "-") {}
  ~LineReport() { (void)close(); }
  LineReport(const LineReport&) = delete;
  LineReport& operator=(const LineReport&) = delete;

  bool wanted() const { return to_stdout_ || !path_.empty(); }
  Status open() {
    if (path_.empty() || path_ == "-") return Done{};
    file_ = std::fopen(path_.c_str(), "wbe");
    return file_ != nullptr ? Status(Done{}) : failure(errno);
  }
  Status add(const std::string& line) {
    if (file_ != nullptr &&
        (std::fwrite(line.data(), 1, line.size(), file_) != line.size() || std::fflush(file_) != 0))
      return failure(errno);
    return to_stdout_ ? write_stdout(line) : Status(Done{});
  }
  Status close() {
    std::FILE* file = std::exchange(file_, nullptr);
    if (file == nullptr || std::fclose(file) == 0) return Done{};
    return failure(errno);
  }

 private:
  Error failure(int error) const {
    return {ErrorKind::Output, in_file(path_),
            std::string("the report could not be written: ") + std::strerror(error),
            "give --report a file in a folder that can be written to"};
  }

  std::string path_;
  bool to_stdout_;
  std::FILE* file_ = nullptr;
};

bool is_folder(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

class Batch final : public Verb {
 public:
  void declare(OptionSet& set) override {
    set.add(batch_rows(), asked_);
    set.take_all(asked_.batch.options);
    set.describe("--output", "the folder of the results");
    take_tool_options(set, tool,
                      {"--max-memory", "--timeout", "--json", "--report", "--quiet", "--verbose",
                       "--log-level", "--progress", "--color"});
    set.describe("--timeout", "give up a model after this time (10, 0.5s, 5m)");
    set.describe("--max-memory", "give up a model that needs more memory");
    set.describe("--report", "write a line of JSON for each model to FILE, and one for all");
    set.describe("--json", "print these lines to stdout");
    set.all_words("IN", asked_.batch.inputs);
  }

  Status check() override {
    BatchOptions& batch = asked_.batch;
    batch.output = batch.options.output;
    if (batch.inputs.empty())
      return usage_error("batch: no models are named",
                         "graphopt batch IN... -o DIR; IN is a file, a folder or @LIST");
    if (batch.output.empty() || batch.output == "-")
      return usage_error("batch: no folder is named for the results", "graphopt batch IN... -o DIR");
    if (tool.json && tool.report == "-")
      return usage_error("--json and --report both want stdout", "leave out one of them");
    batch.options.timeout = tool.timeout;
    batch.reports = tool.json || !tool.report.empty();
    if (batch.options.buckets.file == "-" || batch.rules == "-")
      return usage_error("batch: stdin can hold a list of models, not options", "give a file");
    return check_side_file(report_file(tool.report));
  }

  const std::string& input() const override { return asked_.batch.output; }

  // One model is a run, whatever folder its result goes to.
  bool is_about_several() const {
    if (asked_.batch.inputs.empty()) return false;
    const std::string& first = asked_.batch.inputs.front();
    if (is_folder(first)) return true;
    std::error_code ignored;
    if (first.size() > 1 && first.front() == '@') return !fs::exists(first, ignored);
    const std::string& output = asked_.batch.options.output;
    const bool may_be_file = fs::exists(first, ignored) || first.find_first_of("./") != std::string::npos;
    return may_be_file && asked_.batch.inputs.size() > 1 && (output.ends_with('/') || is_folder(output));
  }

  int run(Console& console, bool) override {
    const BatchOptions& batch = asked_.batch;
    console.begin("batch");
    Result<BatchPlan> plan = plan_batch(batch);
    if (!plan) return fail(plan.errors(), console);
    for (const std::string& warning : plan->warnings) console.log(LogLevel::Warning, warning);
    // A shard may have none. Without any, a name is wrong, or all outputs are stale.
    if (plan->models.empty() && batch.shard.count == 1 && !asked_.delete_stale)
      return fail({{ErrorKind::Input, in_file(batch.inputs.front()), "no model was found",
                    "--include says which files of folders are models; without it '*.onnx' are"}},
                  console);
    width_ = 0;
    constexpr std::size_t kWidest = 48;
    for (const BatchModel& m : plan->models) width_ = std::max(width_, std::min(m.name.size(), kWidest));
    return asked_.dry_run ? show_plan(*plan, console) : do_all(*plan, console);
  }

 private:
  int show_plan(BatchPlan& plan, Console& console) const {
    compare_with_records(asked_.batch, plan);
    console.finish();
    std::string out;
    std::size_t to_do = 0;
    for (const BatchModel& m : plan.models) {
      to_do += m.why.empty() ? 0U : 1U;
      out += tool.json ? plan_json(m) : plan_line(m, width_);
    }
    if (!tool.json) {
      for (const StaleOutput& s : plan.stale)
        out += fmt::format("  {:<{}}  its input is not there any more{}\n", visible(s.name), width_,
                           asked_.delete_stale ? ": deleted" : " (--delete-stale)");
      out += fmt::format("{} of {} to do\n", to_do, plan.models.size());
    }
    const Status written = write_stdout(out);
    return written ? 0 : fail(written.errors(), console);
  }

  int do_all(BatchPlan& plan, Console& console) {
    const auto start = std::chrono::steady_clock::now();
    const BatchOptions& batch = asked_.batch;
    LineReport report(tool.report, tool.json);
    if (const Status opened = report.open(); !opened) return fail(opened.errors(), console);
    Result<BatchFolder> folder = BatchFolder::open(batch, [&] {
      console.log(LogLevel::Warning,
                  "another graphopt batch writes to '" + batch.output + "'; waiting until it ends");
    });
    if (!folder) return fail(folder.errors(), console);
    note_interrupts();  // until now, and while it waits, a signal ends the process at once
    compare_with_records(batch, plan);

    BatchTotals totals;
    std::vector<BatchOutcome> outcomes(plan.models.size());
    Status said = Done{};
    const auto tell = [&](std::size_t i) { show(plan.models[i], outcomes[i], console, report, said); };
    if (const Status deleted = delete_all(plan, totals); !deleted) return fail(deleted.errors(), console);
    const std::size_t to_do = tell_up_to_date(plan, outcomes, tell);
    const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
    totals.jobs = std::max<std::size_t>(
        1, std::min(asked_.jobs > 0 ? static_cast<std::size_t>(asked_.jobs) : cores, to_do));
    if (to_do > 0) {
      if (const Status begun = folder->begin_work(); !begun) return fail(begun.errors(), console);
      const auto progress = [&](std::uint64_t done, std::uint64_t total) {
        const double seconds =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        const double left =
            done == 0 ? 0 : seconds / static_cast<double>(done) * static_cast<double>(total - done);
        console.step(done == 0 ? "" : fmt::format("about {:.0f} s left", left), done, total);
      };
      run_models(batch, plan.models, {totals.jobs, asked_.memory, tool.timeout}, outcomes, {tell, progress});
    }
    const int signal = noted_interrupt();
    totals.interrupted = signal != 0;
    if (signal == 0) folder->end_work();  // also the mark of a process that was killed at its very end
    for (std::size_t i = 0; i < outcomes.size(); ++i)
      totals.status =
          worse_status(totals.status, outcomes[i].state == BatchState::UpToDate ? plan.models[i].status
                                                                                : outcomes[i].result.status);
    totals.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    console.finish();
    console.print(batch_table(plan.models, outcomes, totals));
    if (said && report.wanted()) said = report.add(batch_json(outcomes, totals));
    if (const Status closed = report.close(); said && !closed) said = closed.errors();
    if (signal != 0) {
      console.print("interrupted; the same command goes on with the rest\n");
      end_by(signal);
    }
    if (!said) totals.status = worse_status(totals.status, fail(said.errors(), console));
    return totals.status;
  }

  Status delete_all(BatchPlan& plan, BatchTotals& totals) const {
    totals.stale = plan.stale;
    if (!asked_.delete_stale) return Done{};
    for (const StaleOutput& stale : plan.stale) {
      if (Status deleted = delete_stale(asked_.batch, stale); !deleted) return deleted;
      ++totals.deleted;
    }
    totals.stale.clear();
    return Done{};
  }

  template <class Tell>
  std::size_t tell_up_to_date(const BatchPlan& plan, std::vector<BatchOutcome>& outcomes,
                              const Tell& tell) const {
    std::size_t to_do = 0;
    for (std::size_t i = 0; i < plan.models.size(); ++i) {
      const BatchModel& model = plan.models[i];
      if (!model.why.empty()) {
        ++to_do;
        continue;
      }
      outcomes[i].state = BatchState::UpToDate;
      // A record that keeps its old times only means that contents are compared again.
      if (model.has_new_times) (void)renew_record(asked_.batch, model);
      tell(i);
    }
    return to_do;
  }

  void show(const BatchModel& model, const BatchOutcome& outcome, Console& console, LineReport& report,
            Status& said) const {
    for (const std::string& warning : outcome.result.warnings) console.log(LogLevel::Warning, warning);
    for (const Error& error : outcome.result.errors) console.error(error);
    if (asked_.memory > 0 && outcome.peak_memory > outcome.estimated_memory)
      console.log(LogLevel::Warning,
                  fmt::format("{}: it needed {} of memory, {} were expected", model.name,
                              size_text(outcome.peak_memory), size_text(outcome.estimated_memory)));
    console.print(model_line(model, outcome, width_));
    if (said && report.wanted()) said = report.add(model_json(model, outcome));
  }

  BatchAsked asked_;
  std::size_t width_ = 0;  // of the column of names
};

std::string batch_ending() {
  return "\nExamples:\n"
         "  graphopt batch zoo -o optimized                      all *.onnx below zoo, as optimized/...\n"
         "  graphopt batch zoo -o optimized                      again: only what changed\n"
         "  graphopt batch @models.txt -o out --on-error copy --report out.jsonl\n"
         "  graphopt batch zoo -o /shared/out --shard 3/16       one of 16 machines\n\n"
         "Exit status: 0 all done; else of what happened the first of: 70 internal error, 5 limit reached,\n"
         "4 output not written, 3 results differ, 6 not checked, 2 unusable input; 1 usage.\n";
}

}  // namespace

extern constinit const VerbEntry batch_verb = {
    .name = "batch",
    .words = "IN... -o DIR",
    .summary = "optimize many models; what is up to date is skipped",
    .about =
        "Optimizes all models of folders, files and lists (@LIST), each to the same path below DIR.\n"
        "Models that are up to date are skipped, so a batch that was interrupted goes on where it was.\n",
    .ending = batch_ending,
    .make = []() -> std::unique_ptr<Verb> { return std::make_unique<Batch>(); }};

const VerbEntry* batch_of(const std::vector<std::string>& words) {
  // Most command lines name neither; then nothing is read twice.
  const auto may_be = [](const std::string& word) {
    return word.starts_with('@') || word.ends_with('/') || is_folder(word);
  };
  if (words.empty() || std::ranges::none_of(words, may_be)) return nullptr;
  Batch verb;
  OptionSet set;
  verb.declare(set);
  return set.read(words, "batch") && verb.is_about_several() ? &batch_verb : nullptr;
}

}  // namespace graphopt::tool
