// Runs the user's test on a model and says how it ended.
#pragma once

#include <functional>
#include <string>

#include "graphopt/error.h"

namespace graphopt {

// A status of a run: 0 to 255 as the command ended, 128 + n where signal n ended it, and kHung.
using TestStatus = int;
inline constexpr TestStatus kHung = -1;     // it ran longer than it may
inline constexpr TestStatus kStopped = -2;  // the caller wanted an end meanwhile: the run says nothing

// Returns the shell command that tests a file: `test` with each {} replaced by the quoted path, or with the
// path at its end.
std::string command_for(const std::string& test, const std::string& path);

// Runs the command through /bin/sh, in a process group of its own and without input and output. All
// processes of that group end with it. `seconds` 0: no limit. ErrorKind::Internal where no process can be
// made.
Result<TestStatus> run_command(const std::string& command, double seconds, const std::function<bool()>& stop);

// "status 3", "signal 11 (status 139)", "a hang".
std::string to_string(TestStatus status);

}  // namespace graphopt
