#include "partition/unit_graph.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace graphopt::partition {
namespace {

// Contracted groups, then components: names of units in no particular order.
class Closure {
 public:
  explicit Closure(const Problem& problem) : problem_(problem), up_(problem.node_count()) {
    std::iota(up_.begin(), up_.end(), Index{0});
  }
  // Returns, for each node, a node that names its unit.
  std::vector<Index> run() {
    for (const Group& group : problem_.groups)
      for (const Index node : group.nodes) up_[find(node)] = find(group.nodes[0]);
    find_components(contracted());
    for (Index i = 0; i < up_.size(); ++i) up_[i] = find(i);
    return std::move(up_);
  }

 private:
  Index find(Index a) {
    while (up_[a] != a) a = up_[a] = up_[up_[a]];
    return a;
  }
  // Returns the producers of each contracted group, in the row of the node that names it.
  Rows contracted() {
    const std::size_t n = up_.size();
    std::vector<Index> first(n + 1), items(problem_.producers.item_count());
    for (Index i = 0; i < n; ++i) first[find(i) + 1] += static_cast<Index>(problem_.producers[i].size());
    std::partial_sum(first.begin(), first.end(), first.begin());
    std::vector<Index> at(first.begin(), first.end() - 1);
    for (Index i = 0; i < n; ++i)
      for (const Index p : problem_.producers[i]) items[at[find(i)]++] = find(p);
    return {std::move(first), std::move(items)};
  }
  void find_components(const Rows& edges) {
    const std::size_t n = up_.size();
    std::vector<Index> number(n, kNone), low(n), open, names(up_.size());
    std::vector<std::uint8_t> is_open(n);
    struct Frame {
      Index node, next;
    };
    std::vector<Frame> work;
    Index count = 0;
    for (Index i = 0; i < n; ++i) names[i] = find(i);
    const auto enter = [&](Index v) {
      number[v] = low[v] = count++;
      open.push_back(v);
      is_open[v] = 1;
      work.push_back({v, 0});
    };
    for (Index root = 0; root < n; ++root) {
      if (names[root] != root || number[root] != kNone) continue;
      enter(root);
      while (!work.empty()) {
        const Index v = work.back().node;
        const std::span<const Index> next = edges[v];
        if (work.back().next < next.size()) {
          const Index w = next[work.back().next++];
          if (number[w] == kNone) enter(w);
          else if (is_open[w] != 0) low[v] = std::min(low[v], number[w]);
          continue;
        }
        work.pop_back();
        if (!work.empty()) low[work.back().node] = std::min(low[work.back().node], low[v]);
        if (low[v] != number[v]) continue;
        for (Index w = kNone; w != v;) {
          w = open.back();
          open.pop_back();
          is_open[w] = 0;
          up_[w] = v;
        }
      }
    }
  }

  const Problem& problem_;
  std::vector<Index> up_;
};

// Numbers the units by their least rank and lists their members.
void number_units(const Problem& problem, const std::vector<Index>& by_rank, UnitGraph& out) {
  const std::size_t n = problem.node_count();
  out.unit_of.assign(n, kNone);
  const bool grouped = std::ranges::any_of(problem.groups, [](const Group& g) { return g.nodes.size() > 1; });
  std::size_t units = 0;
  if (!grouped) {
    for (Index i = 0; i < n; ++i) out.unit_of[i] = problem.rank[i];
    units = n;
  } else {
    const std::vector<Index> name = Closure(problem).run();
    std::vector<Index> number(n, kNone);
    for (const Index node : by_rank) {
      Index& unit = number[name[node]];
      if (unit == kNone) unit = static_cast<Index>(units++);
      out.unit_of[node] = unit;
    }
  }
  std::vector<Index> first(units + 1), items(n);
  for (const Index u : out.unit_of) ++first[u + 1];
  std::partial_sum(first.begin(), first.end(), first.begin());
  std::vector<Index> at(first.begin(), first.end() - 1);
  for (const Index node : by_rank) items[at[out.unit_of[node]]++] = node;
  out.members = Rows(std::move(first), std::move(items));
}

Rows reversed(const Rows& rows) {
  std::vector<Index> first(rows.size() + 1), items(rows.item_count());
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (const Index p : rows[i]) ++first[p + 1];
  std::partial_sum(first.begin(), first.end(), first.begin());
  std::vector<Index> at(first.begin(), first.end() - 1);
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (const Index p : rows[i]) items[at[p]++] = static_cast<Index>(i);
  return {std::move(first), std::move(items)};
}

void connect(const Problem& problem, UnitGraph& out) {
  const std::size_t units = out.members.size();
  std::vector<Index> seen(units, kNone), row;
  Rows producers;
  producers.reserve(units, problem.producers.item_count());
  for (Index u = 0; u < units; ++u) {
    row.clear();
    for (const Index node : out.members[u])
      for (const Index p : problem.producers[node]) {
        const Index v = out.unit_of[p];
        if (v == u || seen[v] == u) continue;
        seen[v] = u;
        row.push_back(v);
      }
    std::ranges::sort(row);
    producers.add_row(row);
  }
  out.producers = std::move(producers);
  out.consumers = reversed(out.producers);
}

// Depths, and a topological order in which a unit follows close after its last producer.
void sort(UnitGraph& out) {
  const std::size_t n = out.members.size();
  std::vector<Index> waiting(n), stack;
  out.depth.assign(n, 0);
  out.order.reserve(n);
  for (Index u = 0; u < n; ++u) waiting[u] = static_cast<Index>(out.producers[u].size());
  for (Index root = 0; root < n; ++root) {
    if (!out.producers[root].empty()) continue;
    stack.push_back(root);
    while (!stack.empty()) {
      const Index u = stack.back();
      stack.pop_back();
      out.order.push_back(u);
      for (const Index c : out.consumers[u]) {
        out.depth[c] = std::max(out.depth[c], out.depth[u] + 1);
        if (--waiting[c] == 0) stack.push_back(c);
      }
    }
  }
  Index deepest = 0;
  for (const Index d : out.depth) deepest = std::max(deepest, d);
  std::vector<Index> at(std::size_t{deepest} + 2);
  for (const Index d : out.depth) ++at[d + 1];
  std::partial_sum(at.begin(), at.end(), at.begin());
  out.by_depth.resize(n);
  for (Index u = 0; u < n; ++u) out.by_depth[at[out.depth[u]]++] = u;
}

// The devices of each unit: those that all members have in common.
void support(const Problem& problem, UnitGraph& out) {
  const Index host = problem.host();
  std::map<std::vector<Index>, Index> known;
  const auto intern = [&](const std::vector<Index>& set) {
    const auto [at, fresh] = known.emplace(set, static_cast<Index>(out.sets.size()));
    if (fresh) out.sets.add_row(set);
    return at->second;
  };
  std::vector<std::vector<Index>> sets(problem.supports.size());
  std::vector<Index> interned;
  for (std::size_t s = 0; s < sets.size(); ++s) {
    for (const Index d : problem.supports[s])
      if (d != host) sets[s].push_back(d);
    interned.push_back(intern(sets[s]));
  }
  const std::size_t units = out.members.size();
  out.host = host;
  out.set_of.resize(units);
  out.color.resize(units);
  std::vector<Index> common, rest;
  for (Index u = 0; u < units; ++u) {
    const std::span<const Index> nodes = out.members[u];
    if (nodes.size() == 1) {
      out.set_of[u] = interned[problem.support_of[nodes[0]]];
    } else {
      Index last = problem.support_of[nodes[0]];
      common = sets[last];
      for (const Index node : nodes) {
        if (problem.support_of[node] == last) continue;
        last = problem.support_of[node];
        rest.clear();
        std::ranges::set_intersection(common, sets[last], std::back_inserter(rest));
        common.swap(rest);
      }
      out.set_of[u] = intern(common);
    }
    const std::span<const Index> devices = out.sets[out.set_of[u]];
    out.color[u] = devices.empty() ? host : devices[0];
  }
}

// Keeps what borders may depend on: values that a unit gives to others.
class ValuesOfUnits {
 public:
  explicit ValuesOfUnits(UnitGraph& out) : out_(out), seen_(out.size(), kNone) {}
  void start(Index producer) {
    producer_ = producer;
    row_.clear();
    ++epoch_;
  }
  void read(Index reader) {
    if (reader == producer_ || seen_[reader] == epoch_) return;
    seen_[reader] = epoch_;
    row_.push_back(reader);
  }
  void end(std::uint64_t bytes) {
    if (row_.empty()) return;
    out_.value_producer.push_back(producer_);
    out_.value_bytes.push_back(std::min(bytes, kMaxBytes));
    out_.value_readers.add_row(row_);
  }

 private:
  UnitGraph& out_;
  std::vector<Index> seen_, row_;
  Index producer_ = kNone, epoch_ = 0;
};

void add_values(const Problem& problem, UnitGraph& out) {
  ValuesOfUnits values(out);
  if (!problem.values.empty()) {
    for (Index v = 0; v < problem.values.size(); ++v) {
      if (problem.values[v].producer == kNone) continue;
      values.start(out.unit_of[problem.values[v].producer]);
      for (const Index reader : problem.readers[v]) values.read(out.unit_of[reader]);
      values.end(problem.values[v].bytes);
    }
    return;
  }
  if (out.size() == problem.node_count()) {
    out.value_readers.reserve(out.size(), out.edge_count());
    for (Index u = 0; u < out.size(); ++u) {
      values.start(u);
      for (const Index reader : out.consumers[u]) values.read(reader);
      values.end(1);
    }
    return;
  }
  const Rows consumers = reversed(problem.producers);
  for (Index node = 0; node < problem.node_count(); ++node) {
    values.start(out.unit_of[node]);
    for (const Index reader : consumers[node]) values.read(out.unit_of[reader]);
    values.end(1);
  }
}

}  // namespace

UnitGraph make_units(const Problem& problem, const Options& options) {
  UnitGraph out;
  std::vector<Index> by_rank(problem.node_count());
  for (Index i = 0; i < by_rank.size(); ++i) by_rank[problem.rank[i]] = i;
  number_units(problem, by_rank, out);
  connect(problem, out);
  sort(out);
  support(problem, out);
  for (Index d = 0; d < problem.devices.size(); ++d)
    out.connected.push_back(d != out.host && (options.connected || problem.devices[d].connected) ? 1 : 0);
  add_values(problem, out);
  return out;
}

Labels singles(const UnitGraph& graph) {
  Labels out(graph.size());
  std::iota(out.begin(), out.end(), Index{0});
  return out;
}

Score score(const UnitGraph& graph, const Labels& labels) {
  Score out;
  std::vector<std::uint8_t> used;
  for (Index u = 0; u < graph.size(); ++u) {
    if (labels[u] >= used.size()) used.resize(std::size_t{labels[u]} + 1);
    if (used[labels[u]] != 0) continue;
    used[labels[u]] = 1;
    ++out.groups;
    out.accelerators += graph.color[u] != graph.host ? 1 : 0;
  }
  std::vector<Index> seen(used.size(), kNone);
  for (Index v = 0; v < graph.value_producer.size(); ++v) {
    const Index home = labels[graph.value_producer[v]];
    for (const Index reader : graph.value_readers[v]) {
      const Index to = labels[reader];
      if (to == home || seen[to] == v) continue;
      seen[to] = v;
      ++out.transfers;
      out.border_bytes += graph.value_bytes[v];
    }
  }
  return out;
}

}  // namespace graphopt::partition
