// The library's entry point. It never prints, ends the process, or installs a handler: callers follow
// progress through an Observer and get failures through the Result.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graphopt/error.h"
#include "graphopt/options.h"
#include "graphopt/report.h"

namespace graphopt {

enum class LogLevel : std::uint8_t { Trace, Debug, Info, Warning, Error };

// All calls come from the thread that called optimize().
class Observer {
 public:
  virtual ~Observer() = default;
  virtual bool wants(LogLevel) const { return false; }  // false saves making texts that are not shown
  virtual void log(LogLevel, std::string_view message) { (void)message; }
  virtual void stage(Stage stage) { (void)stage; }  // a stage of the run begins
  // A step within a stage: a pass, an input set. total 0: the number of steps is unknown.
  virtual void step(std::string_view what, std::uint64_t done, std::uint64_t total) {
    (void)what, (void)done, (void)total;
  }
  // The model's text after each pass in Options::print_after.
  virtual void text(std::string_view pass, std::string_view model) { (void)pass, (void)model; }
  // The run ends with errors, which the report holds: figures are those that were found before.
  virtual void failed(const Report& report) { (void)report; }
  virtual bool stop_requested() { return false; }  // returning true ends the run with ErrorKind::Limit
};

// Loads, infers, cleans up, checks, saves. On failure nothing is written and there is at least one error.
Result<Report> optimize(const Options& options, Observer& observer);

// --- for front ends ----------------------------------------------------------------------------------------

struct PassDescription {
  std::string_view name, summary;
  bool exact = false;
  int level = 0;  // the pass runs from this level on
  int rounds_from =
      0;  // the level from which on it may round; 0: never, as with CleanUpStage::Options::exact
};
std::vector<PassDescription> list_passes();

// What each level does to results, in the words of --help, --list-passes and docs/rounding.md.
struct LevelDescription {
  std::string_view option, text;  // "-O1"
};
std::span<const LevelDescription> list_levels();

// Returns the remedy for an unknown name: "did you mean 'a' or 'b'?", or the existing names. kind: a plural.
std::string suggest_names(std::string_view word, std::span<const std::string> names, std::string_view kind);

// For signal handlers (async-signal-safe): removes the unfinished output of this process's runs.
void discard_unfinished_output() noexcept;
// For a SIGBUS handler: returns the path of the model or data file that is mapped at this address, or null.
// Such a file was truncated while it was read.
const char* mapped_file_at(const void* address) noexcept;

}  // namespace graphopt
