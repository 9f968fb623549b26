// The option groups. One function per group: it owns names, defaults, checks and help.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

#include "command.h"

namespace graphopt::tool {

// Thrown by the callback of an option whose value is wrong, caught where the command line is parsed. (CLI11
// reports by exceptions, too.)
struct BadArgument {
  Error error;
};

// What to print in place of a run.
struct Requests {
  bool help = false, version = false, list_passes = false, list_devices = false;
};

void add_what_options(CLI::App& app, Options& options, Requests& requests);
void add_shape_options(CLI::App& app, Options& options);
void add_partition_options(CLI::App& app, Options& options);
void add_output_options(CLI::App& app, Options& options);
void add_trust_options(CLI::App& app, Options& options, ToolOptions& tool);
void add_people_options(CLI::App& app, Options& options, ToolOptions& tool, Requests& requests);
void add_inspect_options(CLI::App& app, Command& command, Requests& requests);
void add_compare_options(CLI::App& app, Command& command, Requests& requests);
void add_reduce_options(CLI::App& app, Command& command, Requests& requests);
void add_device_options(CLI::App& app, Command& command, Requests& requests);

// Returns the text of --help: `head`, the groups in their order with a line per option, `tail`.
std::string help_text(const CLI::App& app, std::string_view head, std::string_view tail);

}  // namespace graphopt::tool
