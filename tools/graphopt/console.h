// The output for the user: all of it goes to stderr. stdout has only what was requested.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "command.h"
#include "graphopt/optimize.h"

namespace graphopt::tool {

class Log;       // log.h
class Progress;  // progress.h

// Returns `text` with its control characters escaped: names come from files, and a hostile one must not drive
// a terminal.
std::string visible(std::string_view text);

// The user's view of a run: log lines, progress, texts of models.
class Console final : public Observer {
 public:
  explicit Console(const ToolOptions& options);
  ~Console() override;

  bool wants(LogLevel level) const override;
  void log(LogLevel level, std::string_view message) override;
  void stage(Stage stage) override;
  void step(std::string_view what, std::uint64_t done, std::uint64_t total) override;
  void text(std::string_view pass, std::string_view model) override;

  void begin(std::string_view what);  // something that may take long
  void error(const Error& error);
  void print(std::string_view text);  // unless --quiet
  // Ends the progress bar: it is not drawn any more.
  void finish();
  bool color() const { return color_; }

 private:
  const ToolOptions& options_;
  bool color_;
  std::unique_ptr<Progress> progress_;  // none when stderr is not a terminal
  std::unique_ptr<Log> log_;            // made for the first line: most runs have none
};

// The tables of a run.
std::string before_after_table(const Report& report, bool all_operators);
std::string check_table(const CheckStage::Report& check);
// Devices, borders, and what fell to a lower device and why; `all`: every kind of it.
std::string partition_table(const PartitionStage::Report& partition, bool all);
std::string plan_table(const PartitionStage::Report& partition);  // a line per subgraph
// What the passes that `asked` names refused, and the moves that they kept (--explain).
// A line per bucket, and what padding costs where lengths were observed. `all`: more than a screen of them.
std::string bucket_table(const Report& report, bool all);
std::string explain_table(const Report& report, const std::vector<std::string>& asked);
std::string time_table(const Report& report);

}  // namespace graphopt::tool
