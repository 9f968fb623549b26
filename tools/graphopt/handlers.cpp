// Handlers may only make system calls and read memory that does not change, so their texts are made
// beforehand.
#include "handlers.h"

#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstring>
#include <string_view>

#include "console.h"
#include "graphopt/error.h"
#include "graphopt/optimize.h"

namespace graphopt::tool {
namespace {

// Written before the handlers are installed, never again. No strings: those would be destroyed at exit.
constexpr int kSignalBase = 128;  // of the statuses by which shells show signals
constexpr std::size_t kText = 1024;
char shrank_text[kText];
char timeout_text[kText];

void keep(char (&to)[kText], const std::string& text) {
  const std::size_t n = std::min(text.size(), kText - 1);
  std::memcpy(to, text.data(), n);
  to[n] = '\0';
}

void write_now(const char* text) {
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text, std::strlen(text));
}

void on_interrupt(int signal) {
  const int before = errno;
  discard_unfinished_output();
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  ::sigaction(signal, &action, nullptr);
  ::raise(signal);  // pending until this handler returns; then it ends the process
  errno = before;
}

volatile std::sig_atomic_t noted = 0;

void on_noted_interrupt(int signal) {
  if (noted != 0) on_interrupt(signal);
  noted = signal;
}

void on_bus_error(int signal, siginfo_t* info, void*) {
  if (mapped_file_at(info->si_addr) == nullptr) {  // not a mapped model: a defect that should dump core
    on_interrupt(signal);
    return;
  }
  discard_unfinished_output();
  write_now(shrank_text);
  ::_exit(static_cast<int>(ErrorKind::Input));
}

void on_alarm(int) {
  discard_unfinished_output();
  write_now(timeout_text);
  ::_exit(static_cast<int>(ErrorKind::Limit));
}

void handle(int signal, void (*handler)(int)) {
  struct sigaction now = {};
  ::sigaction(signal, nullptr, &now);
  if (now.sa_handler == SIG_IGN) return;  // nohup, or a shell's background job
  struct sigaction action = {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  ::sigaction(signal, &action, nullptr);
}

}  // namespace

void install_handlers(const std::string& input) {
  keep(shrank_text, to_string(Error{ErrorKind::Input, in_file(input),
                                    "a file of the model was cut short while it was read",
                                    "run again when nothing writes to it any more"}) +
                        '\n');
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) handle(signal, on_interrupt);
  struct sigaction bus = {};
  bus.sa_sigaction = on_bus_error;
  bus.sa_flags = SA_SIGINFO;
  sigemptyset(&bus.sa_mask);
  ::sigaction(SIGBUS, &bus, nullptr);
  struct sigaction ignore = {};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &ignore, nullptr);
  ::sigaction(SIGXFSZ, &ignore, nullptr);  // a write beyond ulimit -f then fails with EFBIG
}

void note_interrupts() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) handle(signal, on_noted_interrupt);
}

int noted_interrupt() { return noted; }

void end_by(int signal) {
  on_interrupt(signal);
  ::_exit(kSignalBase + signal);  // not reached, unless somebody blocks the signal
}

void start_watchdog(double seconds, const TimeIsOver& message) {
  keep(timeout_text, to_string(Error{ErrorKind::Limit, in_file(message.input),
                                     "--timeout: the time is over; " + message.what, message.remedy}) +
                         '\n');
  struct sigaction action = {};
  action.sa_handler = on_alarm;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGALRM, &action, nullptr);
  // the library's own error is more precise
  const double grace = seconds + std::clamp(seconds * 0.1, 0.1, 2.0);
  itimerval timer = {};
  timer.it_value.tv_sec = static_cast<time_t>(grace);
  timer.it_value.tv_usec = static_cast<suseconds_t>((grace - std::floor(grace)) * 1e6);
  ::setitimer(ITIMER_REAL, &timer, nullptr);
}

void stop_watchdog() {
  const itimerval none = {};
  ::setitimer(ITIMER_REAL, &none, nullptr);
}

bool limit_memory(std::uint64_t bytes) {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_DATA, &limit) != 0) return false;
  limit.rlim_cur = std::min<rlim_t>(bytes, limit.rlim_max);
  return ::setrlimit(RLIMIT_DATA, &limit) == 0;
}

}  // namespace graphopt::tool
