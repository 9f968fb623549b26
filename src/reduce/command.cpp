#include "reduce/command.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

extern char** environ;

namespace graphopt {
namespace {

constexpr int kSignalBase = 128;

std::string shell_word(const std::string& path) {
  std::string out = "'";
  for (const char c : path) {
    if (c == '\'') out += "'\\''";
    else out += c;
  }
  return out + "'";
}

// The attributes and files of the child; they are freed however the call ends.
struct Spawn {
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_t files;
  Spawn() {
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_init(&files);
  }
  ~Spawn() {
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
  }
  Spawn(const Spawn&) = delete;
  Spawn& operator=(const Spawn&) = delete;
};

Result<pid_t> start(const std::string& command) {
  Spawn spawn;
  // Signals that this process ignores or handles have their usual meaning in the test.
  sigset_t plain;
  sigemptyset(&plain);
  posix_spawnattr_setsigmask(&spawn.attributes, &plain);
  for (const int signal : {SIGPIPE, SIGXFSZ, SIGINT, SIGTERM, SIGHUP, SIGBUS}) sigaddset(&plain, signal);
  posix_spawnattr_setsigdefault(&spawn.attributes, &plain);
  posix_spawnattr_setpgroup(&spawn.attributes, 0);
  posix_spawnattr_setflags(&spawn.attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  posix_spawn_file_actions_addopen(&spawn.files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&spawn.files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&spawn.files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::string shell = "sh", option = "-c", text = command;
  char* const words[] = {shell.data(), option.data(), text.data(), nullptr};
  pid_t child = 0;
  const int error = ::posix_spawn(&child, "/bin/sh", &spawn.files, &spawn.attributes, words, environ);
  if (error == 0) return child;
  return Error{ErrorKind::Internal,
               {},
               std::string("the test could not be started: ") + std::strerror(error),
               "see whether the system has processes and memory left"};
}

TestStatus status_of(int how) { return WIFSIGNALED(how) ? kSignalBase + WTERMSIG(how) : WEXITSTATUS(how); }

}  // namespace

std::string command_for(const std::string& test, const std::string& path) {
  constexpr std::string_view kPath = "{}";
  std::string out;
  std::size_t at = 0;
  bool found = false;
  for (std::size_t next; (next = test.find(kPath, at)) != std::string::npos; at = next + kPath.size()) {
    out += test.substr(at, next - at) + shell_word(path);
    found = true;
  }
  out += test.substr(at);
  return found ? out : out + " " + shell_word(path);
}

Result<TestStatus> run_command(const std::string& command, double seconds,
                               const std::function<bool()>& stop) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::microseconds kShortest{200}, kLongest{5000};
  const Result<pid_t> child = start(command);
  if (!child) return child.errors();
  const Clock::time_point begin = Clock::now();
  TestStatus status = kHung;
  for (std::chrono::microseconds pause = kShortest;; pause = std::min(pause * 2, kLongest)) {
    int how = 0;
    const pid_t ended = ::waitpid(*child, &how, WNOHANG);
    if (ended == *child) {
      status = status_of(how);
      break;
    }
    if (ended < 0 && errno != EINTR) break;
    const bool late = seconds > 0 && std::chrono::duration<double>(Clock::now() - begin).count() > seconds;
    if (late || stop()) {
      ::kill(-*child, SIGKILL);
      ::waitpid(*child, &how, 0);
      return late ? kHung : kStopped;
    }
    std::this_thread::sleep_for(pause);
  }
  ::kill(-*child, SIGKILL);  // what it left running
  return status;
}

std::string to_string(TestStatus status) {
  if (status == kHung) return "a hang";
  if (status > kSignalBase)
    return "signal " + std::to_string(status - kSignalBase) + " (status " + std::to_string(status) + ")";
  return "status " + std::to_string(status);
}

}  // namespace graphopt
