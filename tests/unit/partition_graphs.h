// Random problems for src/partition, the same with other numbers, and the optimum by brute force.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "partition/partition.h"

namespace graphopt::partition {

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : rng_(seed) {}
  Index below(std::size_t n) { return static_cast<Index>(rng_() % n); }
  bool chance(unsigned percent) { return rng_() % 100 < percent; }
  std::uint64_t bytes() {  // sizes of all magnitudes, with the extreme ones
    constexpr std::array<std::uint64_t, 9> kSizes{0, 1, 1, 4, 16, 64, 1000, kMaxBytes, ~std::uint64_t{0}};
    return kSizes[below(chance(10) ? kSizes.size() : 7)];
  }
  std::vector<Index> permutation(std::size_t n) {
    std::vector<Index> out(n);
    std::iota(out.begin(), out.end(), Index{0});
    std::shuffle(out.begin(), out.end(), rng_);
    return out;
  }

 private:
  std::mt19937_64 rng_;
};

// Nodes, edges and devices alone.
inline Problem draw_graph(Draw& draw, std::size_t nodes, std::size_t devices) {
  Problem out;
  out.devices.resize(devices);
  const unsigned keep = 30 + 20 * draw.below(3);
  const std::size_t window = draw.chance(30) ? nodes : draw.chance(50) ? 2 : 4;
  std::vector<Index> first;
  for (Index i = 0; i < nodes; ++i) {
    constexpr std::array<Index, 7> kCounts{0, 1, 1, 1, 2, 2, 3};
    Index last = kNone;
    for (Index k = std::min(i, kCounts[draw.below(kCounts.size())]); k > 0; --k) {
      last = i - 1 - draw.below(std::min<std::size_t>(i, window));
      out.producers.add(last);  // the same one twice, at times
    }
    out.producers.end_row();
    first.push_back(last != kNone && draw.chance(keep) ? first[last] : draw.below(devices));
    std::vector<Index> can{first[i]};
    for (Index d = first[i] + 1; d < devices; ++d)
      if (draw.chance(50)) can.push_back(d);
    out.support_of.push_back(i);
    out.supports.add_row(can);
  }
  out.rank = draw.permutation(nodes);
  return out;
}

inline void add_values(Draw& draw, Problem& p) {
  const std::size_t n = p.node_count();
  std::vector<std::vector<Index>> readers(n);
  for (Index i = 0; i < n; ++i)
    for (const Index q : p.producers[i]) readers[q].push_back(i);
  for (Index i = 0; i < n; ++i) {
    // One result that all read, or two that some read.
    const bool two = draw.chance(20);
    p.values.push_back({i, draw.bytes(), readers[i].empty() || draw.chance(10)});
    if (!two) {
      p.readers.add_row(readers[i]);
      continue;
    }
    p.values.push_back({i, draw.bytes(), draw.chance(50)});
    std::array<std::vector<Index>, 2> split;
    for (const Index r : readers[i]) split[draw.below(2)].push_back(r);
    p.readers.add_row(split[0]);
    p.readers.add_row(split[1]);
  }
  for (Index input = draw.below(3); input > 0; --input) {
    p.values.push_back({kNone, draw.bytes(), draw.chance(10)});
    std::vector<Index> read;
    for (Index i = 0; i < n; ++i)
      if (draw.chance(20)) read.push_back(i);
    p.readers.add_row(read);
  }
}

inline Problem draw_problem(Draw& draw, std::size_t nodes, std::size_t devices) {
  Problem p = draw_graph(draw, nodes, devices);
  for (Index g = draw.chance(50) ? draw.below(4) : 0; g > 0; --g) {
    Group& group = p.groups.emplace_back(Group{static_cast<GroupKind>(draw.below(7)), {}});
    for (Index k = 1 + draw.below(4); k > 0; --k) group.nodes.push_back(draw.below(nodes));
  }
  if (draw.chance(70)) add_values(draw, p);
  const bool timed = draw.chance(15), limited = draw.chance(30), small = draw.chance(30);
  for (Device& d : p.devices) {
    d.connected = draw.chance(20);
    if (timed && draw.chance(80))
      d.cost = DeviceCost{draw.below(100'000), draw.below(1000), draw.below(3) * 1'000'000'000u,
                          1 + draw.below(1'000'000'000)};
    if (small && draw.chance(50)) d.min_nodes = draw.below(5);
    if (small && draw.chance(50)) d.max_subgraphs = draw.below(4);
    if (limited && draw.chance(70)) d.memory_bytes = draw.below(2) == 0 ? draw.below(200) : draw.below(3000);
  }
  if (timed)
    for (std::size_t k = 0; k < nodes * devices; ++k) p.node_ns.push_back(draw.below(20'000));
  if (limited && draw.chance(80)) {
    for (Index w = 0; w < nodes; ++w) p.weight_bytes.push_back(draw.bytes());
    for (Index i = 0; i < nodes; ++i) {
      for (Index k = draw.below(3); k > 0; --k) p.weights.add(draw.below(nodes));
      p.weights.end_row();
    }
  }
  return p;
}

// Lists in another order, whose items have other numbers.
inline Rows renumbered(const Rows& rows, const std::vector<Index>& row_number,
                       const std::vector<Index>& number) {
  std::vector<std::vector<Index>> lists(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (const Index item : rows[i]) lists[row_number[i]].push_back(number[item]);
  Rows out;
  for (const auto& list : lists) out.add_row(list);
  return out;
}

// Returns the same problem for nodes with other numbers, values and weights with them. number: by old number.
inline Problem renumbered(Draw& draw, const Problem& p, const std::vector<Index>& number) {
  Problem out = p;
  const std::size_t n = p.node_count(), k = p.devices.size();
  const std::vector<Index> value = draw.permutation(p.values.size());
  const std::vector<Index> weight = draw.permutation(p.weight_bytes.size());
  for (Index i = 0; i < n; ++i) {
    out.rank[number[i]] = p.rank[i];
    out.support_of[number[i]] = p.support_of[i];
    for (std::size_t d = 0; d < k && !p.node_ns.empty(); ++d)
      out.node_ns[number[i] * k + d] = p.node_ns[i * k + d];
  }
  out.producers = renumbered(p.producers, number, number);
  out.readers = renumbered(p.readers, value, number);
  if (p.weights.size() > 0) out.weights = renumbered(p.weights, number, weight);
  for (Index v = 0; v < value.size(); ++v) {
    out.values[value[v]] = p.values[v];
    if (p.values[v].producer != kNone) out.values[value[v]].producer = number[p.values[v].producer];
  }
  for (Index w = 0; w < weight.size(); ++w) out.weight_bytes[weight[w]] = p.weight_bytes[w];
  for (Group& g : out.groups) {
    for (Index& i : g.nodes) i = number[i];
    std::ranges::reverse(g.nodes);
  }
  std::ranges::reverse(out.groups);
  return out;
}

inline Partition renumbered(Partition p, const std::vector<Index>& number) {
  Rows nodes;
  for (std::size_t s = 0; s < p.nodes.size(); ++s) {
    for (const Index i : p.nodes[s]) nodes.add(number[i]);
    nodes.end_row();
  }
  p.nodes = std::move(nodes);
  std::vector<Index> home(p.subgraph_of.size());
  for (Index i = 0; i < home.size(); ++i) home[number[i]] = p.subgraph_of[i];
  p.subgraph_of = std::move(home);
  for (Move& m : p.moves)
    for (Index& i : m.nodes) i = number[i];
  return p;
}

inline constexpr std::array<Options, 6> kAllOptions{{{Algorithm::Grow, false},
                                                     {Algorithm::Grow, true},
                                                     {Algorithm::Fewest, false},
                                                     {Algorithm::Fewest, true},
                                                     {Algorithm::Depth, false},
                                                     {Algorithm::Depth, true}}};

// Returns what is wrong with the partitions of one random problem; empty if nothing is.
inline std::string check_random_problem(std::uint64_t seed) {
  Draw draw(seed);
  const std::size_t nodes = draw.below(33), devices = 1 + draw.below(4);
  const Problem problem = nodes == 0 ? draw_graph(draw, 0, devices) : draw_problem(draw, nodes, devices);
  const std::vector<Index> number = draw.permutation(nodes);
  const Problem other = renumbered(draw, problem, number);
  const Options options = kAllOptions[draw.below(kAllOptions.size())];
  const std::string name = "seed " + std::to_string(seed) + ": ";
  const Result<Partition> found = partition(problem, options), again = partition(other, options);
  if (!found) return name + to_string(found.error());
  if (!again) return name + to_string(again.error());
  if (const Status valid = validate(problem, options, *found); !valid) return name + to_string(valid.error());
  if (renumbered(*found, number) != *again) return name + "another partition for other numbers of the nodes";
  return {};
}

// Subgraphs: on accelerators, in all.
using Counts = std::pair<Index, std::size_t>;

// Returns the fewest subgraphs on accelerators, then in all, of the nodes on their first devices. Every
// sequence of sets of one device that read from themselves and earlier ones alone is tried. Precondition: at
// most 10 nodes, no groups.
inline Counts optimum(const Problem& p, bool connected) {
  const std::size_t n = p.node_count();
  std::vector<std::uint32_t> reads(n), near(n), color(p.devices.size());
  for (Index i = 0; i < n; ++i) {
    for (const Index q : p.producers[i]) {
      reads[i] |= 1u << q;
      near[i] |= 1u << q;
      near[q] |= 1u << i;
    }
    color[p.supports[p.support_of[i]][0]] |= 1u << i;
  }
  const std::uint32_t all = (1u << n) - 1;
  const auto is_connected = [&](std::uint32_t set) {
    std::uint32_t reached = set & ~(set - 1), before = 0;
    while (reached != before) {
      before = reached;
      for (Index i = 0; i < n; ++i)
        if ((reached >> i & 1) != 0) reached |= near[i] & set;
    }
    return reached == set;
  };
  std::vector<Counts> best(std::size_t{all} + 1, Counts(kNone, 0));
  best[0] = {0, 0};
  for (std::uint32_t done = 0; done < all; ++done) {
    if (best[done].first == kNone) continue;
    for (Index d = 0; d < color.size(); ++d) {
      const bool host = d == p.host();
      const std::uint32_t left = color[d] & ~done;
      for (std::uint32_t set = left; set != 0; set = (set - 1) & left) {
        bool ready = true;
        for (Index i = 0; i < n && ready; ++i) ready = (set >> i & 1) == 0 || (reads[i] & ~(done | set)) == 0;
        if (!ready || (connected && !host && !is_connected(set))) continue;
        const Counts next(best[done].first + (host ? 0 : 1), best[done].second + 1);
        best[done | set] = std::min(best[done | set], next);
      }
    }
  }
  return best[all];
}

// How the algorithms compare with the optimum.
struct Tally {
  std::size_t graphs = 0, grow = 0, connected = 0, fewest = 0, fewest_connected = 0;  // at the optimum
  std::size_t depth_fewer = 0;  // depth has fewer subgraphs than grow
  Counts worst_grow{0, 0};      // how far above
  std::string wrong;
};

inline void compare_with_optimum(std::uint64_t seed, Tally& tally) {
  Draw draw(seed);
  const Problem p = draw_graph(draw, 4 + draw.below(6), 2 + draw.below(3));
  const auto counts = [&](Algorithm algorithm, bool connected, bool* proven = nullptr) {
    const Result<Partition> found = partition(p, {algorithm, connected});
    if (!found) return Counts(kNone, 0);
    if (proven != nullptr) *proven = found->proven;
    return Counts(found->accelerator_count, found->size());
  };
  const Counts any = optimum(p, false), connected = optimum(p, true);
  bool proven = false, proven_connected = false;
  const Counts grow = counts(Algorithm::Grow, false), fewest = counts(Algorithm::Fewest, false, &proven);
  const Counts grow_connected = counts(Algorithm::Grow, true, &proven_connected);
  const Counts fewest_connected = counts(Algorithm::Fewest, true), depth = counts(Algorithm::Depth, false);
  ++tally.graphs;
  tally.grow += grow == any;
  tally.connected += grow_connected == connected;
  tally.fewest += fewest == any;
  tally.fewest_connected += fewest_connected == connected;
  tally.depth_fewer += depth < grow;
  tally.worst_grow = std::max(tally.worst_grow, Counts(grow.first - any.first, grow.second - any.second));
  const std::string name = "seed " + std::to_string(seed) + ": ";
  if (grow < any || fewest < any || depth < any || grow_connected < connected || fewest_connected < connected)
    tally.wrong = name + "fewer subgraphs than possible";
  if (fewest != any || !proven) tally.wrong = name + "fewest is not the optimum";
  if (proven_connected && grow_connected != connected) tally.wrong = name + "proven, but not the optimum";
  if (p.devices.size() == 2 && grow != any) tally.wrong = name + "grow is not the optimum for two devices";
}

}  // namespace graphopt::partition
