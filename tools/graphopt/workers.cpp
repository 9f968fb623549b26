// Three pipes lead to each worker: requests, answers, and its stderr. A text goes through a pipe after its
// length. The pipes of other workers are closed in a new one, so a pipe ends when its worker does.
#include "workers.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <initializer_list>
#include <span>
#include <utility>

#include "graphopt/error.h"

#ifdef __linux__
#include <sys/prctl.h>
#endif

namespace graphopt::tool {
namespace {

constexpr std::size_t kMostSaid = 4096;

// Calls `move_some` with what is left of the bytes until all of them are read or written.
template <class Move> bool move_all(Move move_some, int fd, std::span<char> bytes) {
  while (!bytes.empty()) {
    const ssize_t done = move_some(fd, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
  return true;
}

bool write_text(int fd, const std::string& text) {
  const std::uint64_t size = text.size();
  std::string message(reinterpret_cast<const char*>(&size), sizeof size);
  message += text;
  return move_all(::write, fd, message);
}

bool read_text(int fd, std::string& text) {
  std::uint64_t size = 0;
  if (!move_all(::read, fd, {reinterpret_cast<char*>(&size), sizeof size})) return false;
  text.resize(size);
  return move_all(::read, fd, text);
}

void close_ends(std::initializer_list<int*> ends) {
  for (int* end : ends)
    if (*end >= 0) ::close(std::exchange(*end, -1));
}

// Both ends of a pipe that programs which are started do not get.
struct Pipe {
  int read = -1, write = -1;
  Pipe() = default;
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() { close_ends({&read, &write}); }
  bool open() {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) return false;
    read = ends[0];
    write = ends[1];
    ::fcntl(read, F_SETFD, FD_CLOEXEC);
    ::fcntl(write, F_SETFD, FD_CLOEXEC);
    return true;
  }
};

}  // namespace

struct Workers::Worker {
  pid_t process = -1;
  int requests = -1, answers = -1, errors = -1;
  bool busy = false;
  std::size_t id = 0;
  std::string said;

  void close() { close_ends({&requests, &answers, &errors}); }
  // Takes what is there of its stderr; keeps the end.
  void listen() {
    std::array<char, kMostSaid> block{};
    for (;;) {
      const ssize_t got = ::read(errors, block.data(), block.size());
      if (got <= 0) return;
      said.append(block.data(), static_cast<std::size_t>(got));
      if (said.size() > kMostSaid) said.erase(0, said.size() - kMostSaid);
    }
  }
  // One that was stopped, or hangs in a system call, does not end by SIGTERM.
  void kill_if_slow() const {
    constexpr int kLooks = 2000;
    constexpr useconds_t kPause = 1000;  // microseconds
    for (int i = 0; i < kLooks; ++i) {
      siginfo_t info = {};
      if (::waitid(P_PID, static_cast<id_t>(process), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
          info.si_pid != 0)
        return;
      ::usleep(kPause);
    }
    ::kill(process, SIGKILL);
  }
  int end() {
    int status = 0;
    while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
    }
    listen();
    close();
    process = -1;
    busy = false;
    return status;
  }
};

Workers::Workers(std::size_t count, std::function<void()> begin,
                 std::function<std::string(const std::string&)> work)
    : begin_(std::move(begin)), work_(std::move(work)) {
  for (std::size_t i = 0; i < count; ++i) workers_.push_back(std::make_unique<Worker>());
}

Workers::~Workers() {
  for (const auto& worker : workers_)
    if (worker->process > 0 && worker->busy) ::kill(worker->process, SIGTERM);
  for (const auto& worker : workers_) {
    if (worker->process <= 0) continue;
    if (worker->requests >= 0) ::close(std::exchange(worker->requests, -1));  // a worker that waits ends
    worker->kill_if_slow();
    worker->end();
  }
}

bool Workers::has_free() const {
  return std::ranges::any_of(workers_, [](const auto& w) { return !w->busy; });
}

bool Workers::has_busy() const {
  return std::ranges::any_of(workers_, [](const auto& w) { return w->busy; });
}

int Workers::make(Worker& worker) {
  Pipe requests, answers, errors;
  if (!requests.open() || !answers.open() || !errors.open()) return errno;
  const pid_t parent = ::getpid();
  const pid_t process = ::fork();
  if (process < 0) return errno;
  if (process == 0) {
#ifdef __linux__
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
#endif
    if (::getppid() != parent) ::_exit(0);  // it ended meanwhile
    for (const auto& other : workers_) other->close();
    close_ends({&requests.write, &answers.read});
    ::dup2(errors.write, STDERR_FILENO);
    close_ends({&errors.read, &errors.write});
    serve(requests.read, answers.write);
    ::_exit(0);
  }
  ::fcntl(errors.read, F_SETFL, O_NONBLOCK);
  worker.process = process;
  worker.requests = std::exchange(requests.write, -1);
  worker.answers = std::exchange(answers.read, -1);
  worker.errors = std::exchange(errors.read, -1);
  return 0;
}

void Workers::serve(int requests, int answers) {
  // Whatever happens here must not go on as if this were the process that leads.
  try {
    begin_();
    std::string request;
    while (read_text(requests, request))
      if (!write_text(answers, work_(request))) return;
  } catch (const std::exception& e) {
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, e.what(), std::strlen(e.what()));
    ::_exit(static_cast<int>(ErrorKind::Internal));
  } catch (...) {
    ::_exit(static_cast<int>(ErrorKind::Internal));
  }
}

int Workers::start(std::size_t id, const std::string& request) {
  // One that is there before one that has to be made.
  auto free = std::ranges::find_if(workers_, [](const auto& w) { return !w->busy && w->process > 0; });
  if (free == workers_.end()) free = std::ranges::find_if(workers_, [](const auto& w) { return !w->busy; });
  Worker& worker = **free;
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (worker.process <= 0)
      if (const int error = make(worker); error != 0) return error;
    if (write_text(worker.requests, request)) {
      worker.busy = true;
      worker.id = id;
      worker.said.clear();
      return 0;
    }
    (void)worker.end();  // it was ended while it waited
  }
  return EPIPE;
}

std::optional<Workers::Ended> Workers::wait(int milliseconds) {
  std::vector<pollfd> polled;
  std::vector<Worker*> asked;
  for (const auto& worker : workers_) {
    if (!worker->busy) continue;
    polled.push_back({worker->answers, POLLIN, 0});
    polled.push_back({worker->errors, POLLIN, 0});
    asked.push_back(worker.get());
  }
  if (::poll(polled.data(), polled.size(), milliseconds) <= 0) return std::nullopt;
  for (std::size_t i = 0; i < asked.size(); ++i)
    if (polled[2 * i + 1].revents != 0) asked[i]->listen();
  for (std::size_t i = 0; i < asked.size(); ++i) {
    if (polled[2 * i].revents == 0) continue;
    Worker& worker = *asked[i];
    Ended ended;
    ended.id = worker.id;
    ended.process = worker.process;
    std::string answer;
    if (read_text(worker.answers, answer)) {
      ended.answer = std::move(answer);
      worker.listen();
      worker.busy = false;
    } else {
      ended.status = worker.end();
    }
    ended.said = std::exchange(worker.said, {});
    return ended;
  }
  return std::nullopt;
}

}  // namespace graphopt::tool
