// Makes a model small while a command of the user's ends as it does on the whole model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "graphopt/error.h"

namespace graphopt {

struct ReduceOptions {
  std::string input;          // a file; "-" is stdin
  std::string output;         // a file, which may be the input
  std::string test;           // a shell command; {} in it is the model, which else comes at its end
  std::string external_root;  // as in LoadStage::Options
  double test_timeout = 0;    // seconds for one run of it; 0: ten times the first run, at least ten seconds
  double seconds = 0;         // for all of it; 0: no limit
};

struct ReduceReport {
  // Of the test on each model that was kept: 0 to 255, 128 + n where signal n ended it; none: a hang.
  std::optional<int> status;
  std::uint64_t nodes_before = 0;  // of the main graph, of bodies, and of each function once
  std::uint64_t nodes_after = 0;
  std::uint64_t bytes_before = 0, bytes_after = 0;  // external data included
  std::uint64_t tests = 0;                          // runs of the command on candidates
  std::uint64_t invalid = 0;  // candidates that were no valid models; they were not tested
  double seconds = 0;
  bool stopped = false;  // before nothing helped any more: by the limit or by the observer
};

// Follows a reduction. All calls come from the thread that called reduce().
class ReduceObserver {
 public:
  virtual ~ReduceObserver() = default;
  // What is tried now, the nodes that are left, and the runs of the command up to now.
  virtual void step(std::string_view what, std::uint64_t nodes, std::uint64_t tests) {
    (void)what, (void)nodes, (void)tests;
  }
  // Returning true ends the reduction soon, also a run of the command; the smallest model so far is written.
  virtual bool stop_requested() { return false; }
};

// Runs the command on the model, then on smaller ones, and writes the smallest on which it ended as on the
// first. ErrorKind::CheckFailed where its status is not the same twice. On failure nothing is written.
Result<ReduceReport> reduce(const ReduceOptions& options, ReduceObserver& observer);
std::string to_json(const ReduceReport& report);
// Returns "status 3", "signal 11 (status 139)", "a hang".
std::string status_text(std::optional<int> status);

}  // namespace graphopt
