// A run: its stages, one after the other. After each the model is valid: a run that stops there can save it.
#include "driver/run.h"

#include <algorithm>
#include <new>
#include <utility>

#include "driver/original.h"
#include "driver/partitioned.h"
#include "driver/reading.h"
#include "driver/specialized.h"
#include "driver/stages/stage.h"
#include "graphopt/version.h"

namespace graphopt {

Run::Run(const Options& run_options, Observer& run_observer)
    : options(run_options), observer(run_observer), start_(Clock::now()) {
  if (options.timeout > 0) {
    deadline_ =
        start_ + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options.timeout));
  }
}

Run::~Run() {
  if (options.process_ends) (void)work.release();  // freeing 10^6 nodes one by one is wasted time here
}

Status Run::all() {
  report.version = version();
  report.input = options.input;
  report.output = options.output;
  const auto timed = [this](Status status) {
    report.seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    return status;
  };
  for (const StageEntry* stage : all_stages())
    if (stage->prepare && stage->wanted(options))
      if (Status ready = stage->prepare(*this); !ready) return timed(ready.errors());
  bool writing = false;
  for (const StageEntry* stage : all_stages()) {
    if (!stage->wanted(options)) continue;
    if (!writing && out_of_time()) return timed(stopped());
    writing = writing || stage->writes_files;
    observer.stage(stage->stage);
    const Clock::time_point begin = Clock::now();
    const Status done = stage->run(*this);
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    report.stages.push_back({stage->stage, seconds});
    if (observer.wants(LogLevel::Debug)) {
      observer.log(LogLevel::Debug, std::string(stage->name) + ": " + std::to_string(seconds) + " s");
    }
    if (!done) return timed(done.errors());
  }
  return timed(Done{});
}

void Run::warn(std::string text) {
  observer.log(LogLevel::Warning, text);
  report.warnings.push_back(std::move(text));
}

void Run::add_limit(SearchLimit limit, std::uint64_t times) {
  const auto known = std::ranges::find(report.limits, limit, &Report::Limit::limit);
  if (known != report.limits.end()) known->times += times;
  else report.limits.push_back({limit, times});
}

bool Run::out_of_time() const {
  return observer.stop_requested() || (deadline_ && Clock::now() >= *deadline_);
}

Error Run::stopped() const {
  const Place place{options.input, {}, {}, {}, {}};
  if (!deadline_ || Clock::now() < *deadline_)
    return {ErrorKind::Limit, place, "the run was stopped; nothing was written", "run it again"};
  return {ErrorKind::Limit, place, "--timeout: the time is over; nothing was written",
          "give it more time, or fewer passes (-O1, --passes)"};
}

Result<Report> optimize(const Options& options, Observer& observer) {
  try {
    Run run(options, observer);
    if (const Status done = run.all(); !done) {
      run.report.errors = done.errors();
      observer.failed(run.report);
      return done.errors();
    }
    return std::move(run.report);
  } catch (const std::bad_alloc&) {
    return out_of_memory(options.input);
  }
}

}  // namespace graphopt
