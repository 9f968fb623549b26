// reduce(): the user's command as the test of a session, its limits, and the result's file.
#include "graphopt/reduce.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <memory>
#include <new>
#include <optional>

#include "driver/json.h"
#include "driver/reading.h"
#include "reduce/command.h"
#include "reduce/measure.h"
#include "reduce/original.h"
#include "reduce/reduce.h"
#include "reduce/session.h"
#include "support/file.h"

namespace graphopt {
namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

class Reduction {
 public:
  Reduction(const ReduceOptions& options, ReduceObserver& observer)
      : options_(options), observer_(observer), timeout_(options.test_timeout) {}

  Result<ReduceReport> run() {
    if (const Status fits = check_output(); !fits) return fits.errors();
    Result<TemporaryFolder> folder = TemporaryFolder::create();
    if (!folder) return folder.errors();
    const Result<std::string> original = path_of_input(*folder);
    if (!original) return original.errors();
    Result<Original> copied = Original::open(*original, last_part(*original), options_.external_root);
    if (!copied) return copied.errors();
    original_.emplace(*std::move(copied));
    auto session = Session::open(
        *original, options_.external_root, *std::move(folder),
        [this](const std::string& p) { return same(p); }, [this] { return ended(); });
    if (!session) return session.errors();
    s_ = *std::move(session);
    if (const Status known = find_status(); !known) return known.errors();
    original_.reset();
    report_.nodes_before = written_nodes(s_->model());
    report_.bytes_before = s_->model().file_bytes;
    if (!ended() && !s_->survives_saving() && !ended()) return lost();
    reduce_model(*s_, [this](std::string_view what) {
      what_ = what;
      show();
    });
    if (!s_->failures().empty()) return s_->failures();
    report_.stopped = ended();
    if (!report_.stopped && !s_->still_passes() && !ended())
      return flaky("on the smallest model, where it was " + to_string(*status_) + ", it is now " +
                   to_string(last_));
    if (const Status saved = s_->save(options_.output); !saved) return saved.errors();
    if (*status_ != kHung) report_.status = *status_;
    report_.nodes_after = written_nodes(s_->model());
    report_.bytes_after = s_->model().file_bytes;
    report_.tests = s_->tried();
    report_.invalid = s_->invalid();
    report_.seconds = since(begin_);
    return report_;
  }

 private:
  Place place() const { return {options_.input, {}, {}, {}, {}}; }

  bool ended() {
    stopped_ =
        stopped_ || observer_.stop_requested() || (options_.seconds > 0 && since(begin_) > options_.seconds);
    return stopped_;
  }

  void show() { observer_.step(what_, s_ ? written_nodes(s_->model()) : 0, s_ ? s_->tried() : 0); }

  // An hour of work should not end at a file that cannot be written.
  Status check_output() const {
    const Result<OutputFile> file = OutputFile::create(options_.output);
    if (!file) return file.errors();
    return Done{};
  }

  // What came through a pipe is in a file of the folder.
  Result<std::string> path_of_input(const TemporaryFolder& folder) const {
    const Result<std::shared_ptr<const FileImage>> image = FileImage::open(options_.input);
    if (!image) return image.errors();
    if ((*image)->mapped()) return options_.input;
    std::ofstream file(folder.model(), std::ios::binary);
    file.write((*image)->bytes().data(), static_cast<std::streamsize>((*image)->bytes().size()));
    file.close();
    if (file) return folder.model();
    return Error{ErrorKind::Output,
                 {folder.model(), {}, {}, {}, {}},
                 "the model could not be written there",
                 "set TMPDIR to a folder with room for it"};
  }

  Result<TestStatus> test(const std::string& path) {
    return run_command(command_for(options_.test, path), timeout_, [this] { return ended(); });
  }

  Result<bool> same(const std::string& path) {
    const Result<TestStatus> status = test(path);
    if (!status) return status.errors();
    last_ = *status;
    show();
    return *status == *status_;
  }

  // Runs the test on a copy of the original that nothing has touched.
  Result<TestStatus> test_original() {
    const Result<std::string> path = original_->copy();
    if (!path) return path.errors();
    return test(*path);
  }

  // Runs the test twice on the original.
  Status find_status() {
    observer_.step("the test on the whole model", written_nodes(s_->model()), 0);
    const Clock::time_point begin = Clock::now();
    const Result<TestStatus> first = test_original();
    if (!first) return first.errors();
    constexpr double kLeast = 10, kTimes = 10;  // seconds; a candidate that takes longer hangs
    if (timeout_ == 0) timeout_ = std::max(kLeast, kTimes * since(begin));
    constexpr TestStatus kNotExecutable = 126, kNotFound = 127;  // of a shell
    if (*first == kNotExecutable || *first == kNotFound) {
      return Error{ErrorKind::Usage, place(),
                   "--test: the shell cannot run the command (" + to_string(*first) + ")",
                   "run it by hand: " + command_for(options_.test, options_.input)};
    }
    const Result<TestStatus> second = test_original();
    if (!second) return second.errors();
    if (*first == kStopped || *second == kStopped) {
      return Error{ErrorKind::Limit, place(),
                   "it was stopped before the test had run twice on the whole model", "give --seconds more"};
    }
    if (*first != *second)
      return flaky("on the whole model it was " + to_string(*first) + ", then " + to_string(*second));
    status_ = *first;
    return Done{};
  }

  Error flaky(const std::string& what) const {
    return {ErrorKind::CheckFailed, place(),
            "--test: the command does not end twice in the same way: " + what,
            "give it fixed seeds, one thread, or a loop that fails if any of several runs fails; nothing was "
            "written"};
  }

  Errors lost() const {
    if (!s_->failures().empty()) return s_->failures();
    return {{ErrorKind::CheckFailed, place(),
             "--test: the command gives " + to_string(*status_) + " on the file, but " + to_string(last_) +
                 " on the same model written by graphopt",
             "see whether the command uses {} and no other path, and what graphopt -O0 changes in the file"}};
  }

  const ReduceOptions& options_;
  ReduceObserver& observer_;
  double timeout_;
  const Clock::time_point begin_ = Clock::now();
  std::optional<Original> original_;  // until its status is known
  std::unique_ptr<Session> s_;
  std::optional<TestStatus> status_;
  TestStatus last_ = 0;
  std::string_view what_;
  bool stopped_ = false;
  ReduceReport report_;
};

}  // namespace

Result<ReduceReport> reduce(const ReduceOptions& options, ReduceObserver& observer) {
  try {
    return Reduction(options, observer).run();
  } catch (const std::bad_alloc&) {
    return out_of_memory(options.input);
  }
}

std::string status_text(std::optional<int> status) { return to_string(status.value_or(kHung)); }

std::string to_json(const ReduceReport& r) {
  return json_text({{"format_number", kJsonFormat},
                    {"status", status_text(r.status)},
                    {"nodes_before", r.nodes_before},
                    {"nodes_after", r.nodes_after},
                    {"bytes_before", r.bytes_before},
                    {"bytes_after", r.bytes_after},
                    {"tests", r.tests},
                    {"invalid", r.invalid},
                    {"seconds", r.seconds},
                    {"stopped", r.stopped}});
}

}  // namespace graphopt
