// Grow and fewest: candidates, and the choice among them.
//
// Every candidate is a sound partition. Which one is taken depends on the units' numbers alone, and these are
// ranks. Budgets count steps.

#include <optional>
#include <utility>

#include "partition/algorithms.h"
#include "partition/levels.h"
#include "partition/merge.h"
#include "partition/sequences.h"

namespace graphopt::partition {
namespace {

constexpr std::int64_t kSmallSteps = 4'000'000;  // about a tenth of a second
constexpr std::int64_t kStepsPerUnit = 8;        // of units and edges of a large graph
constexpr int kRestarts = 8;                     // further orders for connected subgraphs
constexpr int kFewestRestarts = 64;
constexpr std::size_t kStates = 20'000;  // of the exact search of fewest
constexpr std::size_t kBeamWidth = 32;
constexpr std::size_t kBeamUnits = 16'384;

// Keeps the best candidate; of equal ones the first.
class Best {
 public:
  explicit Best(const UnitGraph& graph) : graph_(graph) {}
  void add(Labels labels) {
    const Score s = score(graph_, labels);
    if (empty_ || s < score_) labels_ = std::move(labels), score_ = s;
    empty_ = false;
  }
  const Labels& labels() const { return labels_; }
  const Score& score_of_best() const { return score_; }

 private:
  const UnitGraph& graph_;
  Labels labels_;
  Score score_;
  bool empty_ = true;
};

// What the devices in use ask for.
struct Devices {
  explicit Devices(const UnitGraph& graph) : used(used_devices(graph)) {
    for (const Index d : used) (graph.connected[d] != 0 ? some_connected : some_free_) |= d != graph.host;
    all_connected = some_connected && !some_free_;
  }
  // Two devices, neither of which asks for connected subgraphs: alternating blocks are the optimum.
  bool alternate() const { return used.size() <= 2 && !some_connected; }

  std::vector<Index> used;
  bool some_connected = false, all_connected = false;

 private:
  bool some_free_ = false;
};

// Level classes whole, where the device takes unconnected subgraphs; else their connected parts.
Labels sound_classes(const UnitGraph& graph, const Labels& classes) {
  Labels parts = components(graph, classes);
  Index count = 0;
  for (const Index p : parts) count = std::max(count, p + 1);
  for (Index u = 0; u < parts.size(); ++u)
    if (graph.connected[graph.color[u]] == 0) parts[u] = count + classes[u];
  return parts;
}

void add_alternating(const UnitGraph& graph, const Devices& devices, Best& best) {
  for (const Index first : devices.used) {
    Blocks blocks = alternating_blocks(graph, first);
    best.add(blocks.of);
    best.add(settle(graph, std::move(blocks)).of);
  }
}

// Each start merged along edges, then, where devices take unconnected subgraphs, with unrelated groups, too.
class Merges {
 public:
  Merges(const UnitGraph& graph, const Devices& devices, Budget& budget, Best& best)
      : graph_(graph), unrelated_(!devices.all_connected), budget_(budget), best_(best) {}

  void from(const Labels& start, bool backward, bool accelerators_first) {
    if (budget_.spent()) return;
    add(merge_groups(graph_, start, {false, backward, accelerators_first}, budget_), backward);
  }
  void unit_by_unit(SweepOptions options, const std::vector<Index>* order) {
    if (budget_.spent()) return;
    add(merge_units(graph_, options, order, budget_), options.backward);
  }
  void unrelated_from(const Labels& start) {
    best_.add(merge_groups(graph_, start, {true, false, false}, budget_));
  }

 private:
  void add(Labels labels, bool backward) {
    if (unrelated_ && !budget_.spent()) {
      best_.add(labels);
      best_.add(merge_groups(graph_, labels, {true, backward, false}, budget_));
    } else {
      best_.add(std::move(labels));
    }
  }

  const UnitGraph& graph_;
  const bool unrelated_;
  Budget& budget_;
  Best& best_;
};

constexpr bool kBoth[] = {false, true};

void grow_small(const UnitGraph& graph, const Devices& devices, int restarts, Best& best) {
  Budget budget{kSmallSteps};
  Merges merges(graph, devices, budget, best);
  const Labels forward = level_classes(graph, switch_levels(graph, false));
  const Labels backward = level_classes(graph, switch_levels(graph, true));
  for (const Labels& start : {components(graph, forward), components(graph, backward), singles(graph)})
    for (const bool back : kBoth)
      for (const bool first : kBoth) merges.from(start, back, first);
  for (int seed = 0; seed <= restarts && !budget.spent(); ++seed) {
    const std::vector<Index> drawn =
        seed == 0 ? std::vector<Index>() : drawn_order(graph, static_cast<std::uint64_t>(seed));
    for (const bool back : kBoth)
      for (const bool largest : kBoth) merges.unit_by_unit({back, largest}, seed == 0 ? nullptr : &drawn);
  }
  if (!devices.all_connected)
    for (const Labels& classes : {forward, backward}) merges.unrelated_from(sound_classes(graph, classes));
  if (devices.alternate()) add_alternating(graph, devices, best);
}

void grow_large(const UnitGraph& graph, const Devices& devices, Best& best) {
  if (devices.alternate()) {
    add_alternating(graph, devices, best);
    return;
  }
  for (const bool back : kBoth) {
    Budget budget{static_cast<std::int64_t>(graph.size() + graph.edge_count()) * kStepsPerUnit};
    const Labels classes = level_classes(graph, switch_levels(graph, back));
    if (!devices.all_connected) best.add(sound_classes(graph, classes));
    Merges(graph, devices, budget, best).from(components(graph, classes), back, true);
  }
}

// A sequence that is not the shortest may have blocks that can be one.
void add_sequences(const UnitGraph& graph, Best& best) {
  Budget budget{kSmallSteps};
  for (const NextDevice next : kNextDevices) {
    Blocks blocks = greedy_blocks(graph, next);
    best.add(blocks.of);
    if (graph.size() <= kSmall) best.add(merge_groups(graph, blocks.of, {true, false, true}, budget));
    best.add(settle(graph, std::move(blocks)).of);
  }
}

void grow_into(const UnitGraph& graph, const Devices& devices, int restarts, Best& best) {
  if (graph.size() <= kSmall) grow_small(graph, devices, restarts, best);
  else grow_large(graph, devices, best);
  if (!devices.some_connected && !devices.alternate()) add_sequences(graph, best);
}

Found with_proof(const UnitGraph& graph, const Devices& devices, Best& best) {
  const LowerBound bound = lower_bound(graph);
  const Score& s = best.score_of_best();
  const bool at_bound = s.accelerators == bound.accelerator && s.groups == bound.all;
  return {best.labels(), devices.alternate() || at_bound};
}

}  // namespace

Found grow(const UnitGraph& graph) {
  const Devices devices(graph);
  Best best(graph);
  grow_into(graph, devices, devices.some_connected ? kRestarts : 0, best);
  return with_proof(graph, devices, best);
}

Found fewest(const UnitGraph& graph) {
  const Devices devices(graph);
  Best best(graph);
  grow_into(graph, devices, devices.some_connected ? kFewestRestarts : 0, best);
  Found out = with_proof(graph, devices, best);
  if (out.proven || devices.some_connected || graph.size() > kBeamUnits) return out;
  const auto add = [&](Blocks blocks) {
    best.add(blocks.of);
    best.add(settle(graph, std::move(blocks)).of);
  };
  if (std::optional<Blocks> blocks = fewest_blocks(graph, kStates)) {
    add(*std::move(blocks));
    return {best.labels(), true};
  }
  Budget budget{kSmallSteps};
  for (const bool host_first : kBoth) {
    const Blocks blocks = beam_blocks(graph, kBeamWidth, host_first);
    add(blocks);
    best.add(merge_groups(graph, blocks.of, {true, false, false}, budget));
    best.add(merge_groups(graph, blocks.of, {true, true, true}, budget));
  }
  return with_proof(graph, devices, best);
}

}  // namespace graphopt::partition
