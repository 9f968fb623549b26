#include "driver/narrowing.h"

#include <optional>
#include <utility>
#include <vector>

#include "driver/tried_model.h"
#include "lower/narrow.h"

namespace graphopt {
namespace {

constexpr int kMostPlans = 16;

bool is_better(const PlanFigures& a, const PlanFigures& b) {
  return a.subgraphs <= b.subgraphs && a.host_nodes <= b.host_nodes &&
         (a.subgraphs < b.subgraphs || a.host_nodes < b.host_nodes);
}

class NarrowTrials {
 public:
  NarrowTrials(const Options& options, Work& work, const std::function<bool()>& should_stop)
      : options_(options), work_(work), should_stop_(should_stop) {}

  Result<bool> run(std::unordered_set<NodeId>& kept) {
    Journal journal;
    const PassOptions pass;
    PassContext context{.model = work_.model, .infer = *work_.inference, .journal = journal, .options = pass};
    if (!may_narrow(context, {.devices = work_.devices, .kept = &kept})) return false;
    // Which sets there are, with none left out.
    std::vector<std::vector<NodeId>> sets;
    const auto all = plan(kept, &sets);
    if (!all) return all.errors();
    if (!*all) return false;
    auto best = plan_figures(options_, work_.model, *work_.inference, work_.devices);
    if (!best) return best.errors();
    if (is_better(**all, *best)) return true;
    // Of each list that is left: the sets from first to last, without it.
    std::vector<bool> taken(sets.size());
    std::vector<std::pair<std::size_t, std::size_t>> todo{{0, sets.size()}};
    const auto halve = [&](std::size_t first, std::size_t last) {
      if (last - first < 2) return;
      const std::size_t middle = first + (last - first) / 2;
      todo.emplace_back(middle, last);
      todo.emplace_back(first, middle);
    };
    halve(0, sets.size());
    todo.erase(todo.begin());
    for (int plans = 0; !todo.empty() && plans < kMostPlans; ++plans) {
      const auto [first, last] = todo.back();
      todo.pop_back();
      std::unordered_set<NodeId> without = kept;
      for (std::size_t i = 0; i < sets.size(); ++i)
        if (!taken[i] && (i < first || i >= last)) without.insert(sets[i].begin(), sets[i].end());
      const auto found = plan(without, nullptr);
      if (!found) return found.errors();
      if (!*found || !is_better(**found, *best)) {
        halve(first, last);
        continue;
      }
      best = **found;
      std::fill(taken.begin() + static_cast<std::ptrdiff_t>(first),
                taken.begin() + static_cast<std::ptrdiff_t>(last), true);
    }
    bool any = false;
    for (std::size_t i = 0; i < sets.size(); ++i) {
      if (!taken[i]) kept.insert(sets[i].begin(), sets[i].end());
      any = any || taken[i];
    }
    return any;
  }

 private:
  // Of the model in which all sets are narrowed that have no node in `kept`; nothing where none is.
  Result<std::optional<PlanFigures>> plan(const std::unordered_set<NodeId>& kept,
                                          std::vector<std::vector<NodeId>>* sets) const {
    TriedModel tried(work_);
    const PassOptions pass;
    PassContext context = tried.context(pass);
    std::vector<NarrowedSet> done =
        narrow(context, {.devices = work_.devices, .kept = &kept, .should_stop = should_stop_});
    if (done.empty()) return std::optional<PlanFigures>();
    if (sets != nullptr)
      for (NarrowedSet& s : done) sets->push_back(std::move(s.nodes));
    Result<PlanFigures> found = plan_figures(options_, tried.model, tried.inference, work_.devices);
    if (!found) return found.errors();
    return std::optional<PlanFigures>(*std::move(found));
  }

  const Options& options_;
  Work& work_;
  const std::function<bool()>& should_stop_;
};

}  // namespace

Result<bool> find_narrowed(const Options& options, Work& work, const std::function<bool()>& should_stop,
                           std::unordered_set<NodeId>& kept) {
  return NarrowTrials(options, work, should_stop).run(kept);
}

}  // namespace graphopt
