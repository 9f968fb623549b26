// graphopt IN [-o OUT]
#include "graphopt/optimize.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>

#include "handlers.h"
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

// A file written besides the model: the option that requests it, its name, the first characters of such a
// file.
struct SideFile {
  const char* option;
  const char* what;
  const char* start;
  const std::string& path;  // "-" is stdout; empty: not requested
};

Status write_file(const SideFile& side, std::string_view text) {
  const std::string& path = side.path;
  const auto failure = [&](int error) {
    return Error{ErrorKind::Output, in_file(path),
                 std::string("the ") + side.what + " could not be written: " + std::strerror(error),
                 std::string("give ") + side.option + " a file in a folder that can be written to"};
  };
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return failure(errno);
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  int error = errno;
  const bool closed = std::fclose(file) == 0;
  if (written && !closed) error = errno;
  if (!written || !closed) return failure(error);
  return Done{};
}

// A report may overwrite only an old report, never by mistake the weights of the model or some other file.
// The same holds for a drawing. (The model and its result are compared with it in output_paths.h.)
Status check_path(const SideFile& file) {
  const std::string& path = file.path;
  if (path.empty() || path == "-") return Done{};
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored) || std::filesystem::file_size(path, ignored) == 0)
    return Done{};
  std::ifstream old(path);
  std::string start(std::strlen(file.start), '\0');
  if (old.read(start.data(), static_cast<std::streamsize>(start.size())) && start == file.start)
    return Done{};
  return Error{ErrorKind::Usage, in_file(path),
               std::string("this file is there already and is no ") + file.what,
               std::string("give ") + file.option + " a file of its own"};
}

Status save(const SideFile& file, const std::string& text) {
  if (file.path.empty()) return Done{};
  return file.path == "-" ? write_stdout(text) : write_file(file, text);
}

// With devices it shows the subgraphs, else the regions.
std::string drawing_of(const Report& report) {
  if (report.partition) return report.partition->drawing;
  return report.regions ? report.regions->drawing : std::string{};
}

// All tables of a run that went well.
std::string tables_of(const Command& command, const Report& report, bool all) {
  const Options& options = command.options;
  std::string out = before_after_table(report, all);
  if (report.partition) out += partition_table(*report.partition, all);
  if (report.partition && options.partition.plan) out += plan_table(*report.partition);
  if (report.specialize) out += bucket_table(report, all);
  if (report.check) out += check_table(*report.check);
  out += files_table(report, all);
  if (!options.clean_up.explain.empty()) out += explain_table(report, options.clean_up.explain);
  if (command.tool.time_passes) out += time_table(report);
  return out;
}

// Without -o the tables are what the run was started for: they go to stdout, unless a report or a drawing
// does. Else they accompany the files, and go to stderr.
Status tell(const Command& command, const Report& report, Console& console) {
  const std::string text = tables_of(command, report, console.wants(LogLevel::Info));
  const bool is_result =
      command.options.output.empty() && command.tool.report != "-" && command.tool.dot != "-";
  if (!is_result) console.print(text);
  else if (!command.tool.quiet || command.options.partition.plan) return write_stdout(text);
  return Done{};
}

}  // namespace

int run_optimize(const Command& command, Console& console) {
  const Options& options = command.options;
  const SideFile report_file{"--report", "report", "{", command.tool.report};
  const SideFile drawing{"--dot", "drawing", "digraph", command.tool.dot};
  for (const SideFile* file : {&report_file, &drawing})
    if (const Status fine = check_path(*file); !fine) return fail(fine.errors(), console);
  if (command.tool.timeout > 0) start_watchdog(command.tool.timeout, options.input);
  OptimizeProgress observer(console);
  const Result<Report> report = optimize(options, observer);
  stop_watchdog();
  console.finish();
  if (!report) {
    // What was found until then helps whoever looks for the cause; the run's own errors decide the status.
    if (observer.failed() && !report_file.path.empty())
      if (const Status saved = save(report_file, to_json(*observer.failed())); !saved)
        (void)fail(saved.errors(), console);
    return fail(report.errors(), console);
  }
  // The tables come last: a reader that goes away early, as head does, ends the process.
  Status saved = save(report_file, report_file.path.empty() ? std::string{} : to_json(*report));
  if (saved) saved = save(drawing, drawing_of(*report));
  if (const Status said = tell(command, *report, console); saved && !said) saved = said.errors();
  return saved ? 0 : fail(saved.errors(), console);
}

}  // namespace graphopt::tool
