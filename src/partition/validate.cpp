// Whether a partition is what it promises. Only the problem is believed; everything else is computed anew, by
// other means than partition() uses: maps and sets where that has arrays, paths where that has searches.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "partition/partition.h"

namespace graphopt::partition {
namespace {

class Validator {
 public:
  Validator(const Problem& problem, const Options& options, const Partition& partition)
      : problem_(problem), options_(options), partition_(partition) {}

  Status run() {
    if (lists()) {
      (void)(devices() && order() && nodes_in_order() && quotient() && groups() && connected() && limits() &&
             memory() && figures() && records());
    }
    if (!found_) return Done{};
    return Error{ErrorKind::Internal, std::move(place_), std::move(fact_), ""};
  }

 private:
  // Notes a broken promise; returns false.
  bool no(std::string fact, Index subgraph = kNone, Index node = kNone) {
    found_ = true;
    fact_ = "partition: " + std::move(fact);
    if (node != kNone) place_.node = fmt::format("#{}", node);
    if (subgraph != kNone) place_.slot = fmt::format("subgraph {}", subgraph);
    return false;
  }

  Index subgraph(Index node) const { return partition_.subgraph_of[node]; }
  bool is_host(Index s) const { return partition_.devices[s] == problem_.host(); }

  // Every node is in exactly one subgraph, and none is empty.
  bool lists() {
    const std::size_t n = problem_.node_count(), k = partition_.size();
    if (partition_.nodes.size() != k || partition_.depends.size() != k || partition_.stages.size() != k)
      return no("lists of subgraphs differ in length");
    if (partition_.subgraph_of.size() != n) return no("nodes and their subgraphs differ in number");
    std::vector<Index> home(n, kNone);
    for (Index s = 0; s < k; ++s) {
      if (partition_.nodes[s].empty()) return no("the subgraph is empty", s);
      if (partition_.devices[s] >= problem_.devices.size()) return no("the device does not exist", s);
      for (const Index i : partition_.nodes[s]) {
        if (i >= n) return no("a node does not exist", s, i);
        if (home[i] != kNone) return no(fmt::format("the node is in subgraph {}, too", home[i]), s, i);
        home[i] = s;
      }
    }
    for (Index i = 0; i < n; ++i) {
      if (home[i] == kNone) return no("the node is in no subgraph", kNone, i);
      if (home[i] != subgraph(i))
        return no(fmt::format("the node is said to be in {}", subgraph(i)), home[i], i);
    }
    return true;
  }

  bool devices() {
    for (Index i = 0; i < problem_.node_count(); ++i) {
      const Index device = partition_.devices[subgraph(i)];
      const auto can = problem_.supports[problem_.support_of[i]];
      if (device != problem_.host() && std::ranges::find(can, device) == can.end())
        return no(fmt::format("device {} does not take the node", device), subgraph(i), i);
    }
    return true;
  }

  // Subgraphs stand in a topological order of the quotient, which so has no cycle.
  bool order() {
    for (Index i = 0; i < problem_.node_count(); ++i)
      for (const Index p : problem_.producers[i])
        if (subgraph(p) > subgraph(i))
          return no(fmt::format("the node reads node {} of the later subgraph {}", p, subgraph(p)),
                    subgraph(i), i);
    return true;
  }

  // Within a subgraph, nodes stand by depth, then rank. (An order by depths that fit the edges is
  // topological.)
  bool nodes_in_order() {
    std::vector<Index> depth(problem_.node_count()), open(problem_.node_count());
    std::multimap<Index, Index> readers;
    std::vector<Index> ready;
    for (Index i = 0; i < open.size(); ++i) {
      open[i] = static_cast<Index>(problem_.producers[i].size());
      if (open[i] == 0) ready.push_back(i);
      for (const Index p : problem_.producers[i]) readers.emplace(p, i);
    }
    for (std::size_t at = 0; at < ready.size(); ++at) {
      const auto [first, last] = readers.equal_range(ready[at]);
      for (auto edge = first; edge != last; ++edge) {
        depth[edge->second] = std::max(depth[edge->second], depth[ready[at]] + 1);
        if (--open[edge->second] == 0) ready.push_back(edge->second);
      }
    }
    for (Index s = 0; s < partition_.size(); ++s) {
      const auto nodes = partition_.nodes[s];
      for (std::size_t k = 1; k < nodes.size(); ++k)
        if (std::pair(depth[nodes[k - 1]], problem_.rank[nodes[k - 1]]) >=
            std::pair(depth[nodes[k]], problem_.rank[nodes[k]]))
          return no(fmt::format("the node stands behind node {}", nodes[k - 1]), s, nodes[k]);
    }
    return true;
  }

  // The edges, the order with the least ranks first, and the stages.
  bool quotient() {
    const auto k = static_cast<Index>(partition_.size());
    std::vector<std::set<Index>> before(k), after(k);
    std::vector<Index> least(k, kNone);
    for (Index i = 0; i < problem_.node_count(); ++i) {
      least[subgraph(i)] = std::min(least[subgraph(i)], problem_.rank[i]);
      for (const Index p : problem_.producers[i]) {
        if (subgraph(p) == subgraph(i)) continue;
        before[subgraph(i)].insert(subgraph(p));
        after[subgraph(p)].insert(subgraph(i));
      }
    }
    std::vector<std::size_t> open(k);
    std::map<Index, Index> ready;  // by least rank
    for (Index s = 0; s < k; ++s) {
      const auto said = partition_.depends[s];
      if (!std::ranges::equal(before[s], said)) return no("it reads from other subgraphs than is said", s);
      Index stage = 0;
      for (const Index p : before[s]) stage = std::max(stage, partition_.stages[p] + 1);
      if (stage != partition_.stages[s])
        return no(fmt::format("its stage is {}, not {}", stage, partition_.stages[s]), s);
      open[s] = before[s].size();
      if (open[s] == 0) ready.emplace(least[s], s);
    }
    for (Index s = 0; s < k; ++s) {
      if (ready.begin()->second != s)
        return no(fmt::format("subgraph {} comes before it", ready.begin()->second), s);
      ready.erase(ready.begin());
      for (const Index r : after[s])
        if (--open[r] == 0) ready.emplace(least[r], r);
    }
    return true;
  }

  bool groups() {
    for (const Group& group : problem_.groups)
      for (const Index i : group.nodes)
        if (subgraph(i) != subgraph(group.nodes[0]))
          return no(fmt::format("the group of node {} is cut", group.nodes[0]), subgraph(i), i);
    return true;
  }

  // A group counts as one vertex: its members are joined.
  bool connected() {
    const std::size_t n = problem_.node_count();
    std::vector<Index> up(n);
    for (Index i = 0; i < n; ++i) up[i] = i;
    const auto find = [&](Index i) {
      while (up[i] != i) i = up[i] = up[up[i]];
      return i;
    };
    for (Index i = 0; i < n; ++i)
      for (const Index p : problem_.producers[i])
        if (subgraph(p) == subgraph(i)) up[find(p)] = find(i);
    for (const Group& group : problem_.groups)
      for (const Index i : group.nodes) up[find(i)] = find(group.nodes[0]);
    for (Index s = 0; s < partition_.size(); ++s) {
      if (is_host(s) || (!options_.connected && !problem_.devices[partition_.devices[s]].connected)) continue;
      for (const Index i : partition_.nodes[s])
        if (find(i) != find(partition_.nodes[s][0]))
          return no(fmt::format("it is not connected: node {} and this one", partition_.nodes[s][0]), s, i);
    }
    return true;
  }

  bool limits() {
    if (options_.assigned) return true;
    std::map<Index, Index> count;
    for (Index s = 0; s < partition_.size(); ++s) {
      if (is_host(s)) continue;
      const Device& device = problem_.devices[partition_.devices[s]];
      const std::size_t nodes = partition_.nodes[s].size();
      if (nodes < device.min_nodes)
        return no(fmt::format("{} nodes of at least {}", nodes, device.min_nodes), s);
      if (++count[partition_.devices[s]] > device.max_subgraphs.value_or(kNone))
        return no(fmt::format("its device takes {} subgraphs", *device.max_subgraphs), s);
    }
    return true;
  }

  std::uint64_t bytes(std::uint64_t value) const { return std::min(value, kMaxBytes); }

  // Weights, each once, and the largest sum over the nodes of the values that are alive at one. A value that
  // the subgraph reads is alive until its last reader there; one that it makes, until its last reader or,
  // where another subgraph or the network's caller reads it, the end.
  bool memory() {
    bool limited = false;
    for (const Device& d : problem_.devices) limited = limited || d.memory_bytes;
    if (partition_.need_bytes.size() != (limited ? partition_.size() : 0))
      return no("not every subgraph has its memory stated");
    if (!limited) return true;
    const std::size_t n = problem_.node_count();
    std::vector<Index> place(n);
    for (Index s = 0; s < partition_.size(); ++s)
      for (Index k = 0; k < partition_.nodes[s].size(); ++k) place[partition_.nodes[s][k]] = k;
    std::vector<std::map<Index, std::int64_t>> change(partition_.size());  // of bytes alive, by place
    const auto alive = [&](Index s, Index first, Index last, std::uint64_t size) {
      change[s][first] += static_cast<std::int64_t>(size);
      change[s][last + 1] -= static_cast<std::int64_t>(size);
    };
    for (Index v = 0; v < problem_.values.size(); ++v) {
      const Value& value = problem_.values[v];
      const std::uint64_t size = bytes(std::max(value.bytes, value.least_bytes));
      std::map<Index, Index> last;  // reader, by subgraph
      for (const Index i : problem_.readers[v]) last[subgraph(i)] = std::max(last[subgraph(i)], place[i]);
      if (value.producer != kNone) {
        const Index home = subgraph(value.producer);
        const bool leaves = value.network_output || last.size() > last.count(home);
        const Index end = static_cast<Index>(partition_.nodes[home].size()) - 1;
        const Index start = place[value.producer];
        alive(home, start, leaves ? end : last.contains(home) ? last[home] : start, size);
        last.erase(home);
      }
      for (const auto& [s, reader] : last) alive(s, 0, reader, size);
    }
    for (Index s = 0; s < partition_.size(); ++s) {
      std::int64_t now = 0, peak = 0;
      for (const auto& [at, by] : change[s]) peak = std::max(peak, now += by);
      std::set<Index> weights;
      if (problem_.weights.size() > 0)
        for (const Index i : partition_.nodes[s])
          weights.insert(problem_.weights[i].begin(), problem_.weights[i].end());
      auto need = static_cast<std::uint64_t>(peak);
      for (const Index w : weights) need += bytes(problem_.weight_bytes[w]);
      if (need != partition_.need_bytes[s])
        return no(fmt::format("it needs {} bytes, not {}", need, partition_.need_bytes[s]), s);
      const auto limit = problem_.devices[partition_.devices[s]].memory_bytes;
      if (limit && need > *limit && !is_host(s)) return no(fmt::format("{} bytes of {}", need, *limit), s);
    }
    return true;
  }

  bool figures() {
    Index accelerators = 0;
    for (Index s = 0; s < partition_.size(); ++s) accelerators += is_host(s) ? 0 : 1;
    if (accelerators != partition_.accelerator_count)
      return no("the number of accelerators' subgraphs differs");
    if (partition_.bound.accelerator > accelerators || partition_.bound.all > partition_.size())
      return no("a lower bound is above the numbers of subgraphs");
    std::uint64_t transfers = 0, total = 0;
    const auto transfer = [&](Index home, const std::set<Index>& readers, std::uint64_t size) {
      const std::uint64_t count = readers.size() - readers.count(home);
      transfers += count;
      total += count * bytes(size);
    };
    std::vector<std::set<Index>> readers(problem_.values.empty() ? problem_.node_count() : 0);
    for (Index i = 0; i < problem_.node_count() && problem_.values.empty(); ++i)
      for (const Index p : problem_.producers[i]) readers[p].insert(subgraph(i));
    for (Index i = 0; i < readers.size(); ++i) transfer(subgraph(i), readers[i], 1);
    for (Index v = 0; v < problem_.values.size(); ++v) {
      if (problem_.values[v].producer == kNone) continue;
      std::set<Index> read;
      for (const Index i : problem_.readers[v]) read.insert(subgraph(i));
      transfer(subgraph(problem_.values[v].producer), read, problem_.values[v].bytes);
    }
    if (transfers != partition_.border_values || total != partition_.border_bytes)
      return no(fmt::format("{} transfers of {} bytes, not {} of {}", transfers, total,
                            partition_.border_values, partition_.border_bytes));
    return true;
  }

  // A node that is not on the first device that takes it has a record that says why.
  bool records() {
    std::map<Index, Index> device;  // where records say that a node is
    for (const Move& move : partition_.moves) {
      if (move.nodes.empty() || move.from >= move.to) return no("a record moves nothing, or upwards");
      for (const Index i : move.nodes) {
        const auto known = device.find(i);
        if (move.from != (known == device.end() ? first_device(i) : known->second))
          return no("a record moves it from a device that it is not on", kNone, i);
        device[i] = move.to;
      }
    }
    for (Index i = 0; i < problem_.node_count(); ++i) {
      const Index is = partition_.devices[subgraph(i)];
      if (is != (device.contains(i) ? device[i] : first_device(i)))
        return no(fmt::format("no record says why it is on device {}", is), subgraph(i), i);
    }
    for (const Cut& cut : partition_.cuts)
      for (const Index s : cut.subgraphs)
        if (s >= partition_.size() || partition_.devices[s] != cut.device)
          return no("a record of a cut names a subgraph of another device", s);
    return true;
  }
  Index first_device(Index node) const {
    const auto can = problem_.supports[problem_.support_of[node]];
    return can.empty() ? problem_.host() : can[0];
  }

  const Problem& problem_;
  const Options& options_;
  const Partition& partition_;
  bool found_ = false;
  Place place_;
  std::string fact_;
};

}  // namespace

Status validate(const Problem& problem, const Options& options, const Partition& partition) {
  return Validator(problem, options, partition).run();
}

}  // namespace graphopt::partition
