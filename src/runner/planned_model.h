// A model of a manifest with its sessions, and the plans of requests for it.
//
// Problem: how much memory a request needs depends on its extents, which the manifest states as formulas; to
// make a plan anew for each request costs as much as to run small subgraphs. Method: the formulas are
// evaluated for the extents of a request, and plans are kept by extents. A model whose sizes are numbers has
// one plan. At most kMostPlans are kept; then all are forgotten, and requests that run keep theirs.
//
//   t: 4*batch*seq bytes; plan({batch: 2, seq: 13})    =>    a plan in which t has 104 bytes
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "execution/plan.h"
#include "graphopt/error.h"
#include "runner/extents.h"
#include "runner/stages.h"

namespace graphopt::runner {

inline constexpr std::size_t kMostPlans = 64;

struct SizedPlan {
  std::shared_ptr<const execution::Plan> plan;
  // By device: the most bytes of tensors of one request that runs alone; none: not known.
  std::vector<std::optional<std::uint64_t>> peaks;
};

class PlannedModel {
 public:
  PlannedModel(Stages stages, schedule::Retain retain);

  const Stages& stages() const { return stages_; }
  bool has_formulas() const { return has_formulas_; }
  // Returns the plan for a request of these extents; sizes over symbols that are not among them are not
  // known. Thread-safe. Error: Limit where all values together have kMostPlanBytes or more.
  Result<std::shared_ptr<const SizedPlan>> plan(const Extents& extents);

 private:
  Result<std::shared_ptr<const SizedPlan>> make(const Extents& extents) const;

  const Stages stages_;
  const schedule::Retain retain_;
  const SizeFormulas sizes_;
  bool has_formulas_ = false;
  std::mutex mutex_;
  std::map<Extents, std::shared_ptr<const SizedPlan>> plans_;  // guarded by the mutex
};

}  // namespace graphopt::runner
