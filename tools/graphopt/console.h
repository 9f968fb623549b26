// The output for the user that accompanies a run: all of it goes to stderr. stdout has only what was
// requested.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "graphopt/optimize.h"
#include "tool_options.h"

namespace graphopt::tool {

class Log;       // log.h
class Progress;  // progress.h

// Returns `text` with its control characters escaped: names come from files, and a hostile one must not drive
// a terminal.
std::string visible(std::string_view text);

// Returns `text` for stdout: on a terminal, lines that are wider end with "...".
std::string for_terminal(std::string text);
// "512 B", "26.8 MiB"
std::string size_text(std::uint64_t bytes);

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

// The place of a message that is about a file.
inline Place in_file(const std::string& path) { return {path, {}, {}, {}, {}}; }

// The tables of a run.
std::string before_after_table(const Report& report, bool all_operators);
// What was written, and which data files of the input are still needed; "" when nothing was.
std::string files_table(const Report& report, bool all);
std::string check_table(const CheckStage::Report& check);
// Devices, borders, and what fell to a lower device and why; `all`: every kind of it.
std::string lowered_table(const LowerStage::Report& lowered);
std::string partition_table(const PartitionStage::Report& partition, bool all);
std::string plan_table(const PartitionStage::Report& partition);  // a line per subgraph
// A line per bucket, and what padding costs where lengths were observed. `all`: more than a screen of them.
std::string bucket_table(const Report& report, bool all);
// What the passes that `asked` names refused, and the moves that they kept (--explain).
std::string explain_table(const Report& report, const std::vector<std::string>& asked);
// Where the nodes are that --explain all:NODE names, with devices.
std::string explained_nodes_table(const PartitionStage::Report& partition);
std::string time_table(const Report& report);

}  // namespace graphopt::tool
