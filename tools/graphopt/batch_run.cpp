#include "batch_run.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "handlers.h"
#include "workers.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace graphopt::tool {
namespace {

constexpr double kTimeToGiveUp = 600;  // seconds
constexpr double kMostMemory = 1e18;
constexpr int kLook = 200;  // milliseconds between two looks at signals and the bar

// In a worker: finished files are not interrupted by the timer.
class WorkerProgress final : public Observer {
 public:
  void stage(Stage stage) override {
    if (writes_files(stage)) stop_watchdog();
  }
};

// The most memory that this process had since the mark, in bytes; 0 where the system does not say.
void mark_peak() {
  const int fd = ::open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  [[maybe_unused]] const auto written = ::write(fd, "5", 1);
  ::close(fd);
}

std::uint64_t peak_since_mark() {
  std::ifstream status("/proc/self/status");
  constexpr std::string_view kKey = "VmHWM:";
  constexpr std::uint64_t kKiB = 1024;
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(kKey)) return std::strtoull(line.c_str() + kKey.size(), nullptr, 10) * kKiB;
  return 0;
}

// How much of the time a model takes: most of it goes with its size, some with there being one.
std::uint64_t weight_of(const BatchModel& model) {
  constexpr std::uint64_t kOfOne = std::uint64_t{64} << 10;
  return model.bytes + kOfOne;
}

class Runner {
 public:
  Runner(const BatchOptions& options, const std::vector<BatchModel>& models, const BatchLimits& limits,
         std::vector<BatchOutcome>& outcomes, const BatchWatcher& watcher)
      : options_(options),
        models_(models),
        limits_(limits),
        outcomes_(outcomes),
        watcher_(watcher),
        workers_(
            limits.jobs, [] { install_handlers(""); },
            [this](const std::string& request) { return work(read_request(request)); }) {
    for (std::size_t i = 0; i < models.size(); ++i)
      if (!models[i].why.empty()) waiting_.push_back(i);
    std::ranges::stable_sort(waiting_, std::greater{}, [&](std::size_t i) { return models[i].bytes; });
    for (const std::size_t i : waiting_) total_ += weight_of(models[i]);
  }

  void all() {
    while ((!waiting_.empty() && !stopping_) || workers_.has_busy()) {
      if (noted_interrupt() != 0) return;
      while (workers_.has_free() && !stopping_ && start_next()) {
      }
      if (const auto ended = workers_.wait(kLook)) take(*ended);
      watcher_.progress(done_, total_);
    }
  }

 private:
  // --- in a worker ---
  std::string work(const BatchRequest& request) {
    const BatchModel& model = models_[request.model];
    install_handlers(model.options.input);
    mark_peak();
    BatchAnswer answer;
    // What is left to do after a crash is to copy: no model of any size is to fail there.
    const double limit = request.error ? std::max(limits_.timeout, kTimeToGiveUp) : limits_.timeout;
    if (limits_.timeout > 0) start_watchdog(limit, {model.options.input});
    if (request.error) {
      answer.result = give_up_in_batch(options_, model, *request.error, request.process);
    } else {
      WorkerProgress progress;
      answer.result = run_in_batch(options_, model, progress);
    }
    stop_watchdog();
    answer.peak_memory = peak_since_mark();
#ifdef __GLIBC__
    ::malloc_trim(0);  // a small model must not hold what a large one needed
#endif
    return to_text(answer);
  }

  // --- in the process that leads ---

  // Begins the largest model for which there is memory; returns false when there is none.
  bool start_next() {
    const auto fits = [this](std::size_t i) {
      return limits_.memory == 0 || in_use_ + memory_of(i) <= limits_.memory;
    };
    auto next = std::ranges::find_if(waiting_, fits);
    if (next == waiting_.end() && !waiting_.empty() && !workers_.has_busy()) next = waiting_.begin();
    if (next == waiting_.end()) return false;
    const std::size_t model = *next;
    const int error = start({model, std::nullopt, 0});
    if (error != 0 && workers_.has_busy()) return false;  // it waits until one of them has ended
    waiting_.erase(next);
    if (error != 0) finish(model, failed(model, error_of_start(model, error)));
    return true;
  }

  std::uint64_t memory_of(std::size_t model) {
    std::uint64_t& estimate = outcomes_[model].estimated_memory;
    if (estimate == 0) estimate = estimated_memory(models_[model]);
    return static_cast<std::uint64_t>(std::min(static_cast<double>(estimate) * factor_, kMostMemory));
  }

  // Returns an errno where no process can be made.
  int start(const BatchRequest& request) {
    if (const int error = workers_.start(request.model, to_text(request)); error != 0) return error;
    reserved_.emplace_back(request.model, limits_.memory > 0 ? memory_of(request.model) : 0);
    in_use_ += reserved_.back().second;
    return 0;
  }

  void take(const Workers::Ended& ended) {
    if (ended.answer) {
      finish(ended.id, read_answer(*ended.answer));
      return;
    }
    // Who ends the processes of a batch one by one ends this one, too.
    if (noted_interrupt() != 0) return;
    const bool is_second = std::ranges::find(given_up_, ended.id) != given_up_.end();
    const Error error = error_of_end(ended);
    if (is_second) {
      finish(ended.id, failed(ended.id, error));
      return;
    }
    given_up_.push_back(ended.id);
    release(ended.id);
    if (start({ended.id, error, ended.process}) != 0) finish(ended.id, failed(ended.id, error));
  }

  void release(std::size_t model) {
    const auto at = std::ranges::find(reserved_, model, &std::pair<std::size_t, std::uint64_t>::first);
    if (at == reserved_.end()) return;
    in_use_ -= at->second;
    reserved_.erase(at);
  }

  void finish(std::size_t model, const BatchAnswer& answer) {
    release(model);
    BatchOutcome& outcome = outcomes_[model];
    outcome.result = answer.result;
    outcome.peak_memory = answer.peak_memory;
    const bool failed = answer.result.status != 0;
    outcome.state = !failed                ? BatchState::Optimized
                    : answer.result.copied ? BatchState::Copied
                                           : BatchState::Failed;
    // What one model needed above its estimate, the next may need as well.
    if (limits_.memory > 0 && outcome.estimated_memory > 0)
      factor_ = std::max(
          factor_, static_cast<double>(outcome.peak_memory) / static_cast<double>(outcome.estimated_memory));
    if (failed && options_.on_error == OnError::Stop) stopping_ = true;
    done_ += weight_of(models_[model]);
    watcher_.ended(model);
  }

  BatchAnswer failed(std::size_t model, const Error& error) const {
    return {failed_in_batch(options_, models_[model], {error}), 0};
  }

  Error error_of_start(std::size_t model, int error) const {
    return {ErrorKind::Limit,
            {models_[model].options.input, {}, {}, {}, {}},
            std::string("no process could be started for it: ") + std::strerror(error),
            "raise the limits of open files and processes (ulimit -n, -u)"};
  }

  Error error_of_end(const Workers::Ended& ended) const {
    const Place place = {models_[ended.id].options.input, {}, {}, {}, {}};
    if (WIFEXITED(ended.status)) {
      const int status = WEXITSTATUS(ended.status);
      if (status == static_cast<int>(ErrorKind::Limit))
        return {ErrorKind::Limit, place, "--timeout: the time is over; nothing was written",
                "give it more time, or fewer passes (-O1, --passes)"};
      if (status == static_cast<int>(ErrorKind::Input))
        return {ErrorKind::Input, place, "the file became shorter while it was read", "run it again"};
    }
    const int signal = WIFSIGNALED(ended.status) ? WTERMSIG(ended.status) : 0;
    if (signal == SIGKILL || signal == SIGTERM || signal == SIGINT || signal == SIGHUP)
      return {ErrorKind::Limit, place,
              "its process was ended by signal " + std::to_string(signal) +
                  (signal == SIGKILL ? ", as the system does when there is no memory left" : ""),
              "give --memory-budget or fewer --jobs, and run it again"};
    std::string said = ended.said.substr(0, ended.said.find_last_not_of(" \n") + 1);
    constexpr std::size_t kShown = 300;
    if (said.size() > kShown) said.erase(0, said.size() - kShown);
    std::ranges::replace(said, '\n', ' ');
    return {ErrorKind::Internal, place,
            "its process ended by " +
                (signal != 0 ? "signal " + std::to_string(signal)
                             : "status " + std::to_string(WEXITSTATUS(ended.status))) +
                (said.empty() ? "" : ": " + said),
            "please report it with the model and the command line"};
  }

  const BatchOptions& options_;
  const std::vector<BatchModel>& models_;
  const BatchLimits limits_;
  std::vector<BatchOutcome>& outcomes_;
  const BatchWatcher& watcher_;
  std::vector<std::size_t> waiting_;                             // largest first
  std::vector<std::size_t> given_up_;                            // whose process ended
  std::vector<std::pair<std::size_t, std::uint64_t>> reserved_;  // memory, by model
  std::uint64_t in_use_ = 0, done_ = 0, total_ = 0;
  double factor_ = 1;  // how far above its estimate a model has been
  bool stopping_ = false;
  Workers workers_;  // last: its processes see all of the above
};

}  // namespace

void run_models(const BatchOptions& options, const std::vector<BatchModel>& models, const BatchLimits& limits,
                std::vector<BatchOutcome>& outcomes, const BatchWatcher& watcher) {
  Runner(options, models, limits, outcomes, watcher).all();
}

}  // namespace graphopt::tool
