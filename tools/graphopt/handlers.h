// What the process does when the system interrupts it. Process-wide, so it belongs to the tool, not to the
// library.
#pragma once

#include <cstdint>
#include <string>

namespace graphopt::tool {

// SIGINT, SIGTERM, SIGHUP: the unfinished output is removed, and the process ends by that signal.
// SIGBUS on a mapped file: it was cut short while it was read; a message and status 2.
// SIGPIPE: ignored, so that a closed pipe is a failed write like any other.
void install_handlers(const std::string& input);

// --timeout, for what the library cannot interrupt (one long pass, ONNX Runtime): a little after the time is
// over, the process ends with status 5. stop_watchdog() when the output begins to be written: it is finished
// then.
void start_watchdog(double seconds, const std::string& input);
void stop_watchdog();

// --max-memory: an allocation beyond it fails. False when the system refuses.
bool limit_memory(std::uint64_t bytes);

}  // namespace graphopt::tool
