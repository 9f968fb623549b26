#include "partition/sequences.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <ranges>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace graphopt::partition {
namespace {

using Bits = std::vector<std::uint64_t>;

// By used device and unit: the most blocks of the device on a path that starts at the unit.
std::vector<std::vector<Index>> runs_below(const UnitGraph& graph, const std::vector<Index>& used) {
  std::vector<std::vector<Index>> out(used.size(), std::vector<Index>(graph.size()));
  for (std::size_t d = 0; d < used.size(); ++d)
    for (const Index u : std::views::reverse(graph.order)) {
      const bool mine = graph.color[u] == used[d];
      Index& runs = out[d][u];
      runs = mine ? 1 : 0;
      for (const Index c : graph.consumers[u])
        runs = std::max(runs, out[d][c] + (mine && graph.color[c] != used[d] ? 1 : 0));
    }
  return out;
}

// The blocks that a sequence of devices gives; devices without ready units are passed over.
class Sequence {
 public:
  explicit Sequence(const UnitGraph& graph)
      : graph_(graph), ready_(std::size_t{graph.host} + 1), waiting_(graph.size()) {
    blocks_.of.resize(graph.size());
    for (Index u = 0; u < graph.size(); ++u) {
      waiting_[u] = static_cast<Index>(graph.producers[u].size());
      if (waiting_[u] == 0) ready_[graph.color[u]].push_back(u);
    }
  }
  const std::vector<Index>& ready(Index device) const { return ready_[device]; }
  bool finished() const { return done_ == graph_.size(); }
  // Appends a block; calls see(unit) for each unit of another device that becomes ready.
  template <class See> void append(Index device, See see) {
    if (ready_[device].empty()) return;
    const auto block = static_cast<Index>(blocks_.color.size());
    blocks_.color.push_back(device);
    stack_.swap(ready_[device]);
    while (!stack_.empty()) {
      const Index u = stack_.back();
      stack_.pop_back();
      blocks_.of[u] = block;
      ++done_;
      for (const Index c : graph_.consumers[u]) {
        if (--waiting_[c] != 0) continue;
        if (graph_.color[c] == device) {
          stack_.push_back(c);
        } else {
          ready_[graph_.color[c]].push_back(c);
          see(c);
        }
      }
    }
  }
  Blocks take() { return std::move(blocks_); }

 private:
  const UnitGraph& graph_;
  std::vector<std::vector<Index>> ready_;
  std::vector<Index> waiting_, stack_;
  std::size_t done_ = 0;
  Blocks blocks_;
};

Blocks blocks_of(const UnitGraph& graph, const std::vector<Index>& devices) {
  Sequence out(graph);
  for (const Index d : devices) out.append(d, [](Index) {});
  return out.take();
}

// A set of finished units, with the units that are ready now, by used device.
struct State {
  Bits done;
  std::vector<std::vector<Index>> ready;
  Index parent = kNone, device = kNone;  // the used device of its last block
  Index accelerators = 0, blocks = 0;
};

// Steps from sets of finished units to the next ones.
class Search {
 public:
  explicit Search(const UnitGraph& graph)
      : graph(graph),
        used(used_devices(graph)),
        runs_(runs_below(graph, used)),
        number_(std::size_t{graph.host} + 1) {
    for (Index d = 0; d < used.size(); ++d) number_[used[d]] = d;
  }
  State start() const {
    State out;
    out.done.resize((graph.size() + 63) / 64);
    out.ready.resize(used.size());
    for (Index u = 0; u < graph.size(); ++u)
      if (graph.producers[u].empty()) out.ready[number_[graph.color[u]]].push_back(u);
    return out;
  }
  bool is_host(Index device) const { return used[device] == graph.host; }

  // Precondition: units of the used device are ready.
  State next(const State& from, Index device) const {
    State out = from;
    out.device = device;
    out.accelerators += is_host(device) ? 0 : 1;
    ++out.blocks;
    std::vector<Index> stack;
    stack.swap(out.ready[device]);
    for (const Index u : stack) out.done[u / 64] |= std::uint64_t{1} << u % 64;
    while (!stack.empty()) {
      const Index u = stack.back();
      stack.pop_back();
      for (const Index c : graph.consumers[u]) {
        if (has(out.done, c) || !all_done(out.done, c)) continue;
        if (number_[graph.color[c]] == device) {
          out.done[c / 64] |= std::uint64_t{1} << c % 64;
          stack.push_back(c);
        } else {
          out.ready[number_[graph.color[c]]].push_back(c);
        }
      }
    }
    for (auto& list : out.ready) {  // a unit may have been met from several producers
      std::ranges::sort(list);
      list.erase(std::unique(list.begin(), list.end()), list.end());
    }
    return out;
  }

  // Blocks that must follow: of accelerators, in all.
  std::pair<Index, Index> rest(const State& state) const {
    Index accelerators = 0, all = 0;
    for (Index d = 0; d < used.size(); ++d) {
      Index most = 0;
      for (const auto& list : state.ready)
        for (const Index u : list) most = std::max(most, runs_[d][u]);
      all += most;
      accelerators += is_host(d) ? 0 : most;
    }
    return {accelerators, all};
  }

  const UnitGraph& graph;
  const std::vector<Index> used;

 private:
  static bool has(const Bits& bits, Index u) { return (bits[u / 64] >> u % 64 & 1) != 0; }
  bool all_done(const Bits& done, Index u) const {
    return std::ranges::all_of(graph.producers[u], [&](Index p) { return has(done, p); });
  }

  const std::vector<std::vector<Index>> runs_;
  std::vector<Index> number_;
};

bool finished(const State& state) {
  return std::ranges::all_of(state.ready, [](const auto& list) { return list.empty(); });
}

struct HashBits {
  std::size_t operator()(const Bits& bits) const {
    std::uint64_t h = 0xCBF29CE484222325u;
    for (const std::uint64_t w : bits) h = (h ^ w) * 0x100000001B3u, h ^= h >> 29;
    return h;
  }
};

}  // namespace

Blocks greedy_blocks(const UnitGraph& graph, NextDevice next) {
  const std::vector<Index> used = used_devices(graph);
  const std::vector<Index> below = switch_levels(graph, true);
  std::vector<Index> most(std::size_t{graph.host} +
                          1);  // blocks that follow, counted from 1; 0: none is ready
  const auto see = [&](Index u) { most[graph.color[u]] = std::max(most[graph.color[u]], below[u] + 1); };
  Sequence out(graph);
  for (const Index d : used)
    for (const Index u : out.ready(d)) see(u);
  Index last = kNone;
  while (!out.finished()) {
    Index best = kNone;
    const auto better = [&](Index d) {
      if (best == kNone) return true;
      if (next == NextDevice::RoundRobin) {
        const auto turns = [&](Index x) { return (x + graph.host - last) % (graph.host + 1); };
        return last != kNone && turns(d) < turns(best);
      }
      if (next == NextDevice::HostLast && best == graph.host) return true;
      if (next == NextDevice::HostLast && d == graph.host) return false;
      if (next == NextDevice::HostFirst && d == graph.host) return true;
      return most[d] > most[best];
    };
    for (const Index d : used)
      if (most[d] != 0 && better(d)) best = d;
    most[best] = 0;
    out.append(best, see);
    last = best;
  }
  return out.take();
}

std::optional<Blocks> fewest_blocks(const UnitGraph& graph, std::size_t states) {
  const Search search(graph);
  std::vector<State> known{search.start()};
  std::unordered_map<Bits, Index, HashBits> index{{known[0].done, 0}};  // looked up, never walked
  // Estimated accelerator blocks and blocks in all; then those that are least left, then the oldest.
  using Entry = std::tuple<Index, Index, Index, Index, Index, Index>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
  const auto push = [&](Index state) {
    const State& s = known[state];
    const auto [accelerators, all] = search.rest(s);
    open.emplace(s.accelerators + accelerators, s.blocks + all, all, state, s.accelerators, s.blocks);
  };
  push(0);
  for (std::size_t closed = 0; !open.empty();) {
    const auto [a, b, rest, state, accelerators, blocks] = open.top();
    open.pop();
    if (known[state].accelerators != accelerators || known[state].blocks != blocks) continue;  // outdated
    if (finished(known[state])) {
      std::vector<Index> devices;
      for (Index s = state; known[s].parent != kNone; s = known[s].parent)
        devices.push_back(search.used[known[s].device]);
      std::ranges::reverse(devices);
      return blocks_of(graph, devices);
    }
    if (++closed > states) return std::nullopt;
    for (Index d = 0; d < search.used.size(); ++d) {
      if (known[state].ready[d].empty()) continue;
      State next = search.next(known[state], d);
      next.parent = state;
      const auto [at, fresh] = index.emplace(next.done, static_cast<Index>(known.size()));
      if (fresh) {
        known.push_back(std::move(next));
      } else {
        State& old = known[at->second];
        if (std::tie(old.accelerators, old.blocks) <= std::tie(next.accelerators, next.blocks)) continue;
        old = std::move(next);
      }
      push(at->second);
    }
  }
  return std::nullopt;
}

Blocks beam_blocks(const UnitGraph& graph, std::size_t width, bool host_first) {
  const Search search(graph);
  std::vector<State> all{search.start()};
  std::vector<Index> beam{0};
  // Fewest blocks to come first, then fewest so far on accelerators, then fewest ready units, then these
  // units.
  using Key = std::tuple<Index, Index, std::size_t, std::vector<Index>>;
  while (graph.size() > 0) {
    std::map<std::vector<Index>, std::pair<Key, State>> next;  // by ready units, which tell what is finished
    for (const Index at : beam) {
      for (Index d = 0; d < search.used.size(); ++d) {
        const State& from = all[at];
        if (from.ready[d].empty()) continue;
        const Index host = static_cast<Index>(search.used.size() - 1);
        if (host_first && search.is_host(host) && d != host && !from.ready[host].empty()) continue;
        State to = search.next(from, d);
        to.parent = at;
        const auto [accelerators, rest] = search.rest(to);
        std::vector<Index> front;
        for (const auto& list : to.ready) front.insert(front.end(), list.begin(), list.end());
        std::ranges::sort(front);
        Key key{to.accelerators + accelerators, rest, front.size(), front};
        if (rest == 0) {
          std::vector<Index> devices{search.used[d]};
          for (Index s = at; all[s].parent != kNone; s = all[s].parent)
            devices.push_back(search.used[all[s].device]);
          std::ranges::reverse(devices);
          return blocks_of(graph, devices);
        }
        const auto found = next.find(front);
        if (found == next.end()) next.emplace(std::move(front), std::pair(std::move(key), std::move(to)));
        else if (key < found->second.first) found->second = {std::move(key), std::move(to)};
      }
    }
    std::vector<std::pair<Key, State>> found;
    for (auto& [front, entry] : next) found.push_back(std::move(entry));
    std::ranges::sort(found, [](const auto& x, const auto& y) { return x.first < y.first; });
    if (found.size() > width) found.resize(width);
    for (const Index at : beam) {  // only the path is needed of what was expanded
      all[at].done = {};
      all[at].ready = {};
    }
    beam.clear();
    for (auto& entry : found) {
      beam.push_back(static_cast<Index>(all.size()));
      all.push_back(std::move(entry.second));
    }
  }
  return {};
}

}  // namespace graphopt::partition
