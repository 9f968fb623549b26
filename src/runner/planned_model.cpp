#include "runner/planned_model.h"

#include <algorithm>
#include <utility>

#include "schedule/memory.h"

namespace graphopt::runner {
namespace {

SizeFormulas sizes_of(const Stages& stages) {
  std::vector<deploy::Size> out;
  for (const deploy::ScheduledValue& v : stages.named.values) out.push_back(v.size);
  return SizeFormulas(out);
}

}  // namespace

PlannedModel::PlannedModel(Stages stages, schedule::Retain retain)
    : stages_(std::move(stages)), retain_(retain), sizes_(sizes_of(stages_)) {
  has_formulas_ = std::ranges::any_of(stages_.named.values, [](const deploy::ScheduledValue& v) {
    return !v.size.bytes && !v.size.formula.empty();
  });
}

Result<std::shared_ptr<const SizedPlan>> PlannedModel::plan(const Extents& extents) {
  const Extents& key = has_formulas_ ? extents : Extents{};
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = plans_.find(key); found != plans_.end()) return found->second;
  }
  auto made = make(key);
  if (!made) return made.errors();
  const std::lock_guard lock(mutex_);
  if (plans_.size() >= kMostPlans) plans_.clear();
  return plans_.try_emplace(key, *std::move(made)).first->second;
}

Result<std::shared_ptr<const SizedPlan>> PlannedModel::make(const Extents& extents) const {
  schedule::Problem problem = stages_.named.problem;
  const auto bytes = sizes_.bytes(extents);
  for (Index v = 0; v < problem.values.size(); ++v) problem.values[v].bytes = bytes[v];
  std::optional<execution::Plan> plan = execution::Plan::make(problem, stages_.order, retain_);
  if (!plan)
    return Error{ErrorKind::Limit,
                 {},
                 "its values need more than 2^50 bytes together",
                 "partition the model for smaller sizes, or give smaller inputs"};
  auto out = std::make_shared<SizedPlan>();
  out->plan = std::make_shared<const execution::Plan>(*std::move(plan));
  for (Index d = 0; d < problem.devices; ++d) {
    const auto account =
        schedule::account(problem, stages_.order, d, {.budget = std::nullopt, .retain = retain_});
    out->peaks.push_back(account ? std::optional(account->peak) : std::nullopt);
  }
  return std::shared_ptr<const SizedPlan>(std::move(out));
}

}  // namespace graphopt::runner
