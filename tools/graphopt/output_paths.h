// The files that a run is told to write: no two of them, and none and the model that is read, may be the
// same.
#pragma once

#include <string>
#include <vector>

#include "graphopt/options.h"
#include "tool_options.h"

namespace graphopt::tool {

// A file that an option names.
struct OutputPath {
  std::string option;
  std::string path;           // "-" is stdout; empty: not requested
  bool may_be_input = false;  // it may replace the model that is read
};

// Returns all files that a run names, those of stages too.
std::vector<OutputPath> output_paths(const Options& options, const ToolOptions& tool);

// Refuses paths that lead to one file, by links too, whether it is there or not yet, stdout for more than
// one, and reports and drawings in place of other files. The later of two files would replace the first, and
// the run would end as if both were there. For every verb: `options` has the model that is read and OUT, if
// there is one. ErrorKind::Usage. Files next to the named ones (weights, members of a set) are
// checked where they are written.
Status check_output_paths(const Options& options, const ToolOptions& tool);

}  // namespace graphopt::tool
