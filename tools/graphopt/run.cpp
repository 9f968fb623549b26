// One command line, from its words to its exit status. See verbs.h.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <string>

#include "graphopt/error.h"
#include "graphopt/version.h"
#include "handlers.h"
#include "side_file.h"
#include "verbs.h"

namespace graphopt::tool {

Status write_stdout(std::string_view text) {
  const bool written =
      std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (written) return Done{};
  if (errno == EPIPE) end_by(SIGPIPE);  // as other tools end when head has seen enough
  return Error{ErrorKind::Output, in_file("stdout"),
               std::string("could not be written: ") + std::strerror(errno),
               "see whether its reader has ended or its disk is full"};
}

int tell_result(const ToolOptions& tool, const std::function<std::string()>& json,
                const std::function<std::string()>& text, Console& console) {
  if (!tool.report.empty())
    if (const Status saved = save_side_file(report_file(tool.report), json()); !saved)
      return fail(saved.errors(), console);
  if (tool.report == "-") return 0;
  const Status written = write_stdout(tool.json ? json() : text());
  return written ? 0 : fail(written.errors(), console);
}

int fail(const Errors& errors, Console& console) {
  console.finish();
  for (const Error& error : errors) console.error(error);
  return static_cast<int>(errors.front().kind);
}

namespace {

int run(int argc, const char* const* argv, bool process_ends) {
  const ToolOptions plain;
  Result<Command> command = parse_command_line(argc, argv);
  if (!command) {
    Console console(plain);
    return fail(command.errors(), console);
  }
  if (!command->verb) {
    Console console(plain);
    const Status written = write_stdout(command->text);
    return written ? 0 : fail(written.errors(), console);
  }
  Verb& verb = *command->verb;
  install_handlers(verb.input());
  Console console(verb.tool);
  if (verb.tool.max_memory > 0 && !limit_memory(verb.tool.max_memory)) {
    console.log(LogLevel::Warning, "--max-memory: the system does not take the limit; it is not in force");
  }
  return verb.run(console, process_ends);
}

std::string joined(int argc, const char* const* argv) {
  std::string out;
  for (int i = 1; i < argc; ++i) out += std::string(" ") + argv[i];
  return out;
}

}  // namespace

int run_command_line(int argc, const char* const* argv, bool process_ends) {
  try {
    return run(argc, argv, process_ends);
  } catch (const std::bad_alloc&) {
    std::fputs(
        "graphopt: error: out of memory; nothing was written\n  help: give --max-memory more, or a machine "
        "with more\n",
        stderr);
    return static_cast<int>(ErrorKind::Limit);
  } catch (const std::exception& e) {
    const Error error{ErrorKind::Internal,
                      {},
                      std::string("a defect of graphopt: ") + e.what(),
                      "please report it with the model, the command line (graphopt" + joined(argc, argv) +
                          ") and the version (" + std::string(version()) + ")"};
    std::fputs((to_string(error) + '\n').c_str(), stderr);
  } catch (...) {
    std::fputs(
        "graphopt: error: a defect of graphopt: an unknown exception\n"
        "  help: please report it with the model, the command line and graphopt --version\n",
        stderr);
  }
  return static_cast<int>(ErrorKind::Internal);
}

}  // namespace graphopt::tool
