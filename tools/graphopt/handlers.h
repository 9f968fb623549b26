// Signal handlers and limits of the process. They are process-wide, so they belong to the tool, not to the
// library.
#pragma once

#include <cstdint>
#include <string>

namespace graphopt::tool {

// SIGINT, SIGTERM, SIGHUP: remove the unfinished output and end the process by that signal.
// SIGBUS on a mapped file: the file was truncated while it was read; prints a message, status 2.
// SIGPIPE: ignored, so that a closed pipe is a failed write like any other.
void install_handlers(const std::string& input);

// From now on the first SIGINT, SIGTERM or SIGHUP is only noted, so that a run can write what it has; the
// next one ends the process.
void note_interrupts();
int noted_interrupt();  // the signal; 0: none
// Ends the process by this signal.
[[noreturn]] void end_by(int signal);

// --timeout, for what the library cannot interrupt (one long pass, ONNX Runtime): shortly after the time is
// over, the process ends with status 5. Call stop_watchdog() before the output is written: it is then
// finished.
struct TimeIsOver {
  std::string input;  // that is read
  std::string what = "nothing was written";
  std::string remedy = "give it more time, or fewer passes (-O1, --passes)";
};
void start_watchdog(double seconds, const TimeIsOver& message);
void stop_watchdog();

// --max-memory: an allocation beyond it fails. Returns false when the system refuses.
bool limit_memory(std::uint64_t bytes);

}  // namespace graphopt::tool
