// The parsed command line.
#pragma once

#include <cstdint>
#include <string>

#include "graphopt/buckets.h"
#include "graphopt/compare.h"
#include "graphopt/devices.h"
#include "graphopt/error.h"
#include "graphopt/inspect.h"
#include "graphopt/optimize.h"
#include "graphopt/options.h"
#include "graphopt/reduce.h"

namespace graphopt::tool {

enum class When : std::uint8_t { Auto, Always, Never };

// Options of the process and its output, as opposed to those of the library.
struct ToolOptions {
  LogLevel log_level = LogLevel::Warning;
  bool quiet = false;  // errors only
  When progress = When::Auto;
  When color = When::Auto;
  bool time_passes = false;
  std::string report, dot;       // files, or "-"
  std::uint64_t max_memory = 0;  // bytes of data; 0: no limit
  double timeout = 0;            // seconds; 0: no limit
};

struct Command {
  enum class Verb : std::uint8_t { Print, Optimize, Inspect, Reduce, Compare, CheckDevice };
  Verb verb = Verb::Print;
  std::string text;           // Print: the text for stdout (--help, --version, --list-passes)
  Options options;            // Optimize
  InspectOptions inspect;     // Inspect
  BucketableOptions buckets;  // Inspect with `bucketable`, beside `inspect`
  bool bucketable = false;
  ReduceOptions reduce;       // Reduce
  CompareOptions compare;     // Compare
  DeviceCheckOptions device;  // CheckDevice
  bool json = false;
  bool all = false;      // CheckDevice: each node; Compare: each kind of operators; Inspect: whole lists
  bool regions = false;  // Inspect: the regions, too
  ToolOptions tool;

  const std::string& input() const {
    switch (verb) {
      case Verb::Inspect: return inspect.input;
      case Verb::Reduce: return reduce.input;
      case Verb::Compare: return compare.first;
      case Verb::CheckDevice: return device.input;
      default: return options.input;
    }
  }
};

inline Place in_file(const std::string& path) { return {path, {}, {}, {}, {}}; }

// Errors are of ErrorKind::Usage.
Result<Command> parse_command_line(int argc, const char* const* argv);

}  // namespace graphopt::tool
