// Files that are written besides models: reports, drawings and traces.
#pragma once

#include <string>
#include <string_view>

#include "graphopt/error.h"

namespace graphopt::tool {

struct SideFile {
  const char* option;  // that asks for it
  const char* what;    // "report"
  const char* start;   // the first characters of such a file
  std::string path;    // "-" is stdout; empty: not asked for
};

// What --report, --dot and --trace ask for.
inline SideFile report_file(const std::string& path) { return {"--report", "report", "{", path}; }
inline SideFile drawing_file(const std::string& path) { return {"--dot", "drawing", "digraph", path}; }
inline SideFile trace_file(const std::string& path) { return {"--trace", "trace", "{", path}; }

// A report may overwrite only an old report, never by mistake the weights of a model or some other file; the
// same holds for the others. ErrorKind::Usage.
Status check_side_file(const SideFile& file);
// Writes it; nothing where it is not asked for. ErrorKind::Output.
Status save_side_file(const SideFile& file, std::string_view text);

}  // namespace graphopt::tool
