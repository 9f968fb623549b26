// The verbs of the tool, and what they share.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "console.h"
#include "graphopt/devices.h"
#include "handlers.h"
#include "verb.h"

namespace graphopt::tool {

// All verbs; the first is the run without a word.
std::span<const VerbEntry* const> all_verbs();
// Returns the verb of many models if words without a verb are about several: a folder of them, a list, or
// several files and a folder for the results; else null.
const VerbEntry* batch_of(const std::vector<std::string>& words);
// The words that begin a command line: "inspect", "devices".
std::vector<std::string> verb_words();

// Runs the command that the words request, `argv[0]` being the program's name, and returns its exit status
// (docs/exit-codes.md). Nothing is thrown: what a defect throws is reported, status 70. `process_ends`: the
// process ends then, so models are left to the system. Else it may be called again and again; handlers of
// signals and a memory limit stay in force between the calls.
int run_command_line(int argc, const char* const* argv, bool process_ends);

// The command line as it was understood: a text to be printed, or else a verb with its options.
struct Command {
  std::string text;
  std::unique_ptr<Verb> verb;
};
// ErrorKind::Usage for words that are no command line.
Result<Command> parse_command_line(int argc, const char* const* argv);

// Returns the table of --list-devices.
std::string devices_text(const std::vector<DeviceListing>& devices);

// Prints everything to stdout. ErrorKind::Output when it cannot be written; when the reader has closed the
// pipe, the process ends without a word by SIGPIPE.
Status write_stdout(std::string_view text);
// Prints the figures of a verb to stdout, as a text or with --json as JSON, and writes --report. Each form is
// made where it is wanted. Returns the exit status.
int tell_result(const ToolOptions& tool, const std::function<std::string()>& json,
                const std::function<std::string()>& text, Console& console);

// Returns what `work` returns, while the console shows `name` and --timeout is watched.
template <class Work>
auto attended(const Verb& verb, std::string_view name, Console& console, const Work& work) {
  if (verb.tool.timeout > 0) start_watchdog(verb.tool.timeout, verb.time_is_over());
  console.begin(name);
  auto result = work();
  stop_watchdog();
  console.finish();
  return result;
}
// The exit status of a question whose answer is no: the model was read, and nothing went wrong.
inline constexpr int kAnswerIsNo = 7;

// Prints all errors and returns the status of the first.
int fail(const Errors& errors, Console& console);

}  // namespace graphopt::tool
