// The commands of the tool, a file per command. Each returns the exit status.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "command.h"
#include "console.h"

namespace graphopt::tool {

// Runs the command that the words request, `argv[0]` being the program's name, and returns its exit status
// (docs/exit-codes.md). Nothing is thrown: what a defect throws is reported, status 70. `process_ends`: the
// process ends then, so models are left to the system. Else it may be called again and again; handlers of
// signals and a memory limit stay in force between the calls.
int run_command_line(int argc, const char* const* argv, bool process_ends);

int run_optimize(const Command& command, Console& console);
int run_inspect(const Command& command, Console& console);
int run_compare(const Command& command, Console& console);
int run_reduce(const Command& command, Console& console);
int run_check_device(const Command& command, Console& console);

// Returns the table of --list-devices.
std::string devices_text(const std::vector<DeviceListing>& devices);

// Prints everything to stdout. ErrorKind::Output when it cannot be written; when the reader has closed the
// pipe, the process ends without a word by SIGPIPE.
Status write_stdout(std::string_view text);
// Prints all errors and returns the status of the first.
int fail(const Errors& errors, Console& console);

}  // namespace graphopt::tool
