// Options of the process and of what it prints, as opposed to those of the library.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "graphopt/optimize.h"
#include "option_set.h"

namespace graphopt::tool {

enum class When : std::uint8_t { Auto, Always, Never };

struct ToolOptions {
  // What is printed in place of a run.
  enum class Request : std::uint8_t { None, Help, HelpJson, Version, Passes, Devices };
  Request request = Request::None;
  std::optional<LogLevel> log_level;  // --log-level
  int verbose = 0;                    // times that -v was given
  bool quiet = false;                 // errors only
  When progress = When::Auto;
  When color = When::Auto;
  bool time_passes = false;
  bool json = false;               // to stdout
  std::string report, dot, trace;  // files, or "-"
  std::uint64_t max_memory = 0;    // bytes of data; 0: no limit
  double timeout = 0;              // seconds; 0: no limit

  // The level in force.
  LogLevel level() const {
    if (log_level) return *log_level;
    return verbose > 1 ? LogLevel::Debug : verbose == 1 ? LogLevel::Info : LogLevel::Warning;
  }
};

// Adds options of the process, by name; --version and --help come last with every verb.
void take_tool_options(OptionSet& set, ToolOptions& tool, std::initializer_list<std::string_view> names);

}  // namespace graphopt::tool
