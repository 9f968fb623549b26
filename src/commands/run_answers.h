// What is done with the answers of a run: they are compared, and written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "commands/run_figures.h"
#include "commands/run_networks.h"
#include "graphopt/run.h"
#include "runner/engine.h"
#include "runner/test_data.h"

namespace graphopt {

struct RunRequest {
  std::uint64_t number = 0;  // of all requests
  std::string id;
  std::size_t network = 0;
  std::vector<NamedValue> inputs;            // where answers are compared
  const runner::TestDataSet* set = nullptr;  // what its outputs have to be; null: nothing
};

// Adds what it finds to the report.
class RunAnswers {
 public:
  // `several`: files go to a folder. All outlive it.
  RunAnswers(const RunOptions& options, bool several, RunReport& report)
      : o_(options), several_(several), report_(report) {}

  // Takes the answer of a request.
  void take(const RunRequest& request, RunNetwork& network, const runner::Answer& answer);
  void problem(const std::string& id, const Error& error);
  bool ends() const { return ends_; }  // a file could not be written: the others would fail, too
  // Whether the request is one of those that are compared with --mode sync.
  bool is_sample(std::uint64_t number) const;
  const Latencies& latencies() const { return latencies_; }  // of those that are done

 private:
  void compare_sequential(const RunRequest& request, const RunNetwork& network, const runner::Answer& answer);
  void compare_whole(const RunRequest& request, const RunNetwork& network, const runner::Answer& answer);
  void compare_test_data(const RunRequest& request, const RunNetwork& network, const runner::Answer& answer);
  void compare(const RunRequest& request, const RunNetwork& network, const std::vector<NamedValue>& wanted,
               const runner::Answer& answer, const char* with, RunReport::Check& check);
  void write(const std::string& id, const runner::Answer& answer);

  const RunOptions& o_;
  const bool several_;
  RunReport& report_;
  Latencies latencies_;
  bool ends_ = false;
};

// "request 'ID': WHAT"
Error of_request(Error error, const std::string& id);

}  // namespace graphopt
