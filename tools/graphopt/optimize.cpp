// graphopt IN [-o OUT]
#include "graphopt/optimize.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "handlers.h"
#include "verbs.h"

namespace graphopt::tool {
namespace {

// Told of the run's phases as the console is; what is written is finished, whatever the clock says.
class Watched final : public Observer {
 public:
  explicit Watched(Console& console) : console_(console) {}
  bool wants(LogLevel level) const override { return console_.wants(level); }
  void log(LogLevel level, std::string_view message) override { console_.log(level, message); }
  void phase(std::string_view name) override {
    if (name == "save") stop_watchdog();
    console_.phase(name);
  }
  void step(std::string_view what, std::uint64_t done, std::uint64_t total) override {
    console_.step(what, done, total);
  }
  void text(std::string_view pass, std::string_view model) override { console_.text(pass, model); }

 private:
  Console& console_;
};

Status write_file(const std::string& path, std::string_view text) {
  const auto failure = [&path](int error) {
    return Error{ErrorKind::Output, in_file(path),
                 std::string("the report could not be written: ") + std::strerror(error),
                 "give --report a file in a folder that can be written to"};
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

Status save_report(const Report& report, const std::string& path) {
  if (path == "-") return write_stdout(to_json(report));
  return write_file(path, to_json(report));
}

}  // namespace

int run_optimize(const Command& command, Console& console) {
  const Options& options = command.options;
  if (command.tool.timeout > 0) start_watchdog(command.tool.timeout, options.input);
  Watched observer(console);
  const Result<Report> report = optimize(options, observer);
  stop_watchdog();
  console.finish();
  if (!report) return fail(report.errors(), console);
  console.print(before_after_table(*report, console.wants(LogLevel::Info)));
  if (report->check) console.print(check_table(*report->check));
  if (command.tool.time_passes) console.print(time_table(*report));
  if (!command.tool.report.empty()) {
    if (const Status saved = save_report(*report, command.tool.report); !saved)
      return fail(saved.errors(), console);
  }
  return 0;
}

}  // namespace graphopt::tool
