// The models of a batch, one after the other in several processes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "batch_text.h"
#include "graphopt/batch.h"

namespace graphopt::tool {

struct BatchLimits {
  std::size_t jobs = 1;
  std::uint64_t memory = 0;  // of all jobs together; 0: no bound
  double timeout = 0;        // of each model; 0: none
};

struct BatchWatcher {
  std::function<void(std::size_t model)> ended;
  // Now and then: weights of what is done and of all.
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;
};

// Does all models of the plan that are not up to date, the largest first, and returns what became of each, in
// the order of the plan. Ends early, with models that are not done, when a signal was noted (handlers.h), or
// after an error with OnError::Stop.
void run_models(const BatchOptions& options, const std::vector<BatchModel>& models, const BatchLimits& limits,
                std::vector<BatchOutcome>& outcomes, const BatchWatcher& watcher);

}  // namespace graphopt::tool
