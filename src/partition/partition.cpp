// Partitioning, and the moves to lower devices that memory, limits and costs ask for.
//
// Method: the algorithm runs with the first device of each unit. What does not fit into its device's memory,
// is below the least number of nodes, beyond the largest number of subgraphs, or saves less time than it
// costs, or than the caller asks for, moves to a lower device, and the algorithm runs again. Small graphs:
// each accelerator's subgraph is tried on each lower device, and the move after which a run takes least is
// made. Others: moves are estimated from the borders of their subgraphs, all that save and do not touch each
// other are made at once; if the run takes no less, the better half of them, and so on. Ends: a move lowers
// the device of a unit. A move that alone saved nothing is not tried again, and the number of estimated
// attempts is limited.

#include "partition/partition.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "partition/algorithms.h"
#include "partition/cost.h"
#include "partition/finish.h"
#include "partition/levels.h"
#include "partition/memory.h"
#include "partition/unit_graph.h"

namespace graphopt::partition {
namespace {

constexpr std::size_t kExactUnits = 512;  // units times accelerators' subgraphs, for trying each move
constexpr int kRuns = 64;                 // of the algorithm, for estimated moves
constexpr int kLargeRuns = 6;             // the same, in graphs of more than kSmall units
constexpr std::uint64_t kMostGain = std::uint64_t{1} << 38;  // in ns; no node takes longer (cost.cpp)

class Planner {
 public:
  Planner(const Problem& problem, const Options& options)
      : problem_(problem),
        options_(options),
        graph_(make_units(problem, options)),
        order_(execution_order(problem, graph_)),
        cost_(problem, graph_),
        memory_(problem, graph_, order_),
        least_gain_(static_cast<std::int64_t>(std::min(options.min_gain_ns, kMostGain))) {
    runs_ = graph_.size() <= kSmall ? kRuns : kLargeRuns;
    for (const Device& d : problem.devices) limited_ = limited_ || d.min_nodes > 1 || d.max_subgraphs;
  }

  Partition run() {
    note_units();
    run_algorithm();
    while (fit_memory() || (!options_.assigned && (fit_limits() || save_time()))) {
    }
    Partition out = finish(problem_, graph_, labels_);
    out.proven = proven_ && cuts_.empty();
    out.moves = std::move(moves_);
    for (const MemoryCuts::Whole& whole : cuts_) {
      Cut& cut = out.cuts.emplace_back(Cut{whole.device, whole.need_bytes, {}});
      for (const Index unit : whole.units) cut.subgraphs.push_back(out.subgraph_of[graph_.members[unit][0]]);
    }
    if (memory_.limited()) out.need_bytes = memory_.needs(labels_of(out), out.size());
    if (cost_.known()) estimate(out);
    return out;
  }

 private:
  // Sets labels_ for the units' colors.
  void run_algorithm() {
    Found found = algorithm();
    labels_ = std::move(found.labels);
    proven_ = found.proven;
    fits_ = false;
    cuts_.clear();
  }
  Found algorithm() const {
    switch (options_.algorithm) {
      case Algorithm::Grow: return grow(graph_);
      case Algorithm::Fewest: return fewest(graph_);
      case Algorithm::Depth: return depth(graph_);
    }
    return {};
  }
  Labels labels_of(const Partition& partition) const {
    Labels out(graph_.size());
    for (Index u = 0; u < out.size(); ++u) out[u] = partition.subgraph_of[graph_.members[u][0]];
    return out;
  }

  void estimate(Partition& out) {
    out.run_ns = cost_.total(labels_of(out));
    const std::vector<Index> colors(graph_.size(), problem_.host());
    const auto kept = std::exchange(graph_.color, colors);
    out.host_ns = cost_.total(Labels(graph_.size(), 0));
    graph_.color = kept;
  }

  // Records nodes that their unit keeps from their first device.
  void note_units() {
    if (graph_.size() == problem_.node_count()) return;
    std::vector<std::pair<Index, GroupKind>> first(graph_.size(), {kNone, GroupKind{}});  // least rank, kind
    for (const Group& group : problem_.groups) {
      Index least = kNone;
      for (const Index node : group.nodes) least = std::min(least, problem_.rank[node]);
      auto& known = first[graph_.unit_of[group.nodes[0]]];
      known = std::min(known, std::pair(least, group.kind));
    }
    std::map<std::pair<Index, Index>, std::vector<Index>> moved;  // by unit and first device
    for (const Index node : order_) {
      const auto devices = problem_.supports[problem_.support_of[node]];
      const Index from = devices.empty() ? problem_.host() : devices[0], unit = graph_.unit_of[node];
      if (from != graph_.color[unit]) moved[{unit, from}].push_back(node);
    }
    for (auto& [key, nodes] : moved) {
      const auto [unit, from] = key;
      moves_.push_back(
          {Reason::Atomic, from, graph_.color[unit], std::move(nodes), 0, 0, first[unit].second});
    }
  }

  // Moves units, all of one device.
  void move(std::span<const Index> units, Index to, Reason reason, std::int64_t saved_ns,
            std::uint64_t need_bytes = 0) {
    Move record{reason, graph_.color[units[0]], to, {}, saved_ns, need_bytes, {}};
    for (const Index u : units) {
      graph_.color[u] = to;
      record.nodes.insert(record.nodes.end(), graph_.members[u].begin(), graph_.members[u].end());
    }
    if (place_.empty()) {
      place_.resize(order_.size());
      for (Index k = 0; k < order_.size(); ++k) place_[order_[k]] = k;
    }
    std::ranges::sort(record.nodes, {}, [&](Index node) { return place_[node]; });
    moves_.push_back(std::move(record));
  }

  // Cuts what does not fit. Returns whether units had to move.
  bool fit_memory() {
    if (!memory_.limited() || fits_) return false;
    MemoryCuts cuts = memory_.cut(labels_);
    for (const MemoryCuts::TooLarge& large : cuts.too_large) {
      const Index to = graph_.next_device(large.unit, graph_.color[large.unit]);
      move(std::span(&large.unit, 1), to, Reason::Memory, 0, large.need_bytes);
    }
    if (!cuts.too_large.empty()) {
      run_algorithm();
      return true;
    }
    fits_ = true;
    cuts_ = std::move(cuts.cut);
    labels_ = std::move(cuts.labels);
    if (!cuts_.empty() && graph_.any_connected()) connect_pieces();
    return false;
  }

  // An interval of a connected subgraph need not be connected; its parts are subgraphs of their own.
  void connect_pieces() {
    const Labels parts = components(graph_, labels_);
    Index count = 0;
    for (const Index l : labels_) count = std::max(count, l + 1);
    std::map<Index, std::vector<Index>> of;  // by piece: a unit of each of its parts
    std::vector<std::uint8_t> seen(graph_.size());
    for (const Index u : graph_.by_depth) {
      if (graph_.connected[graph_.color[u]] == 0 || seen[parts[u]] != 0) continue;
      seen[parts[u]] = 1;
      of[labels_[u]].push_back(u);
    }
    for (MemoryCuts::Whole& whole : cuts_) {
      std::vector<Index> units;
      for (const Index u : whole.units) {
        const auto found = of.find(labels_[u]);
        if (found == of.end()) units.push_back(u);
        else units.insert(units.end(), found->second.begin(), found->second.end());
      }
      whole.units = std::move(units);
    }
    for (Index u = 0; u < labels_.size(); ++u)
      if (graph_.connected[graph_.color[u]] != 0) labels_[u] = count + parts[u];
    // Labels are numbered densely again.
    std::vector<Index> number;
    Index next = 0;
    for (Index& l : labels_) {
      if (l >= number.size()) number.resize(std::size_t{l} + 1, kNone);
      if (number[l] == kNone) number[l] = next++;
      l = number[l];
    }
  }

  std::size_t node_count(const MoveEstimates& groups, Index group) const {
    std::size_t out = 0;
    for (const Index u : groups.members(group)) out += graph_.members[u].size();
    return out;
  }

  // Moves subgraphs with too few nodes, or beyond the largest number. Returns whether there were any.
  bool fit_limits() {
    if (!limited_) return false;
    const MoveEstimates groups(cost_, labels_);
    std::vector<std::vector<Index>> of_device(problem_.devices.size());
    std::vector<Index> small;
    for (Index g = 0; g < groups.group_count(); ++g) {
      if (groups.members(g).empty() || groups.color(g) == graph_.host) continue;
      of_device[groups.color(g)].push_back(g);
      if (node_count(groups, g) < problem_.devices[groups.color(g)].min_nodes) small.push_back(g);
    }
    std::vector<std::uint8_t> touched(groups.group_count());
    bool moved = false;
    for (const Index g : in_turn(groups, std::move(small))) {
      if (touched[g] != 0) continue;
      for (const Index n : groups.neighbours(g)) touched[n] = 1;
      move_group(groups, g, Reason::MinNodes);
      moved = true;
    }
    for (Index d = 0; d < of_device.size() && !moved; ++d) {
      const auto limit = problem_.devices[d].max_subgraphs;
      if (!limit || of_device[d].size() <= *limit) continue;
      // Merges that a move makes possible lower the number, too, so small graphs move half of what is beyond.
      const std::size_t beyond = of_device[d].size() - *limit;
      std::vector<Index> order = in_turn(groups, std::move(of_device[d]));
      order.resize(graph_.size() <= kSmall ? (beyond + 1) / 2 : beyond);
      for (const Index g : order) move_group(groups, g, Reason::MaxSubgraphs);
      moved = true;
    }
    if (moved) run_algorithm();
    return moved;
  }

  // Groups by what their move would lose, then by their size.
  std::vector<Index> in_turn(const MoveEstimates& groups, std::vector<Index> list) const {
    std::vector<std::tuple<std::int64_t, std::size_t, Index, Index>> keys;
    for (const Index g : list)
      keys.emplace_back(-groups.best_offer(g).saved_ns, node_count(groups, g), groups.members(g)[0], g);
    std::ranges::sort(keys);
    for (std::size_t i = 0; i < list.size(); ++i) list[i] = std::get<3>(keys[i]);
    return list;
  }
  void move_group(const MoveEstimates& groups, Index group, Reason reason) {
    const Offer offer = groups.best_offer(group);
    move(groups.members(group), offer.to, reason, offer.saved_ns);
  }

  // Moves subgraphs that cost more than they save. Returns whether there were any.
  bool save_time() {
    if (!cost_.known() || done_saving_) return false;
    const MoveEstimates groups(cost_, labels_);
    std::size_t accelerators = 0;
    for (Index g = 0; g < groups.group_count(); ++g)
      accelerators += !groups.members(g).empty() && groups.color(g) != graph_.host ? 1 : 0;
    const bool moved = accelerators * graph_.size() <= kExactUnits ? try_each(groups) : try_estimated(groups);
    done_saving_ = !moved;
    return moved;
  }

  // Takes the time of a run with these units on another device; the units stay where they are.
  std::int64_t time_with(std::span<const Index> units, Index to) {
    const Index from = graph_.color[units[0]];
    for (const Index u : units) graph_.color[u] = to;
    const std::int64_t out = cost_.total(algorithm().labels);
    for (const Index u : units) graph_.color[u] = from;
    return out;
  }

  void move_for_time(std::span<const Index> units, Index to, std::int64_t saved_ns) {
    move(units, to, saved_ns > 0 ? Reason::Cost : Reason::MinGain, saved_ns);
  }

  bool try_each(const MoveEstimates& groups) {
    const std::int64_t now = cost_.total(labels_);
    // Time, least unit, device; then the group.
    std::tuple<std::int64_t, Index, Index, Index> best{now + least_gain_, 0, 0, kNone};
    for (Index g = 0; g < groups.group_count(); ++g) {
      if (groups.members(g).empty() || !cost_.known(groups.color(g))) continue;
      for (const Index to : groups.targets(g))
        if (const std::tuple next(time_with(groups.members(g), to), groups.members(g)[0], to, g);
            std::get<0>(next) < now + least_gain_ && next < best)
          best = next;
    }
    const auto [time, unit, to, group] = best;
    if (group == kNone) return false;
    move_for_time(groups.members(group), to, now - time);
    run_algorithm();
    return true;
  }

  bool try_estimated(const MoveEstimates& groups) {
    if (refused_.empty()) refused_.resize(graph_.size());
    std::vector<Offer> offers;
    for (Index g = 0; g < groups.group_count(); ++g) {
      if (groups.members(g).empty() || groups.color(g) == graph_.host || !cost_.known(groups.color(g)))
        continue;
      if (refused_[groups.members(g)[0]] != 0) continue;
      if (const Offer offer = groups.best_offer(g); offer.saved_ns > -least_gain_) offers.push_back(offer);
    }
    std::ranges::sort(offers, [&](const Offer& x, const Offer& y) {
      return std::pair(-x.saved_ns, groups.members(x.group)[0]) <
             std::pair(-y.saved_ns, groups.members(y.group)[0]);
    });
    std::vector<std::uint8_t> touched(groups.group_count());
    std::vector<Offer> taken;
    for (const Offer& offer : offers) {
      if (touched[offer.group] != 0) continue;
      for (const Index n : groups.neighbours(offer.group)) touched[n] = 1;
      taken.push_back(offer);
    }
    // All at once; if that loses more than they have to gain, the better half.
    const std::int64_t now = cost_.total(labels_);
    while (!taken.empty() && runs_-- > 0) {
      const std::vector<Index> colors = graph_.color;
      const Labels labels = labels_;
      const std::vector<MemoryCuts::Whole> cuts = cuts_;
      const std::size_t moves = moves_.size();
      const bool proven = proven_;
      for (const Offer& offer : taken) move_for_time(groups.members(offer.group), offer.to, offer.saved_ns);
      run_algorithm();
      if (cost_.total(labels_) < now + least_gain_ * static_cast<std::int64_t>(taken.size())) return true;
      graph_.color = colors;
      labels_ = labels;
      cuts_ = cuts;
      proven_ = proven;
      fits_ = true;
      moves_.resize(moves);
      if (taken.size() == 1) refused_[groups.members(taken[0].group)[0]] = 1;
      taken.resize(taken.size() / 2);
    }
    return !offers.empty() && runs_ > 0;
  }

  const Problem& problem_;
  const Options& options_;
  UnitGraph graph_;
  const std::vector<Index> order_;
  const CostModel cost_;
  MemoryModel memory_;
  const std::int64_t least_gain_;
  bool limited_ = false;

  Labels labels_;
  bool proven_ = false, fits_ = false, done_saving_ = false;
  int runs_;                           // of the algorithm that saving time may still take
  std::vector<std::uint8_t> refused_;  // by unit that is the least of its group
  std::vector<Index> place_;           // by node
  std::vector<Move> moves_;
  std::vector<MemoryCuts::Whole> cuts_;
};

}  // namespace

Result<Partition> partition(const Problem& problem, const Options& options) {
  if (const Status status = check(problem); !status) return status.errors();
  return Planner(problem, options).run();
}

}  // namespace graphopt::partition
