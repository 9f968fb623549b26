// What the tool does, a file per verb. Each returns the exit status.
#pragma once

#include <string_view>

#include "command.h"
#include "console.h"

namespace graphopt::tool {

int run_optimize(const Command& command, Console& console);
int run_inspect(const Command& command, Console& console);

// Everything, to stdout. ErrorKind::Output when it cannot be written.
Status write_stdout(std::string_view text);
// The status of the first error, after all have been printed.
int fail(const Errors& errors, Console& console);

}  // namespace graphopt::tool
