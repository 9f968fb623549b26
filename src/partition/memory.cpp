#include "partition/memory.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

namespace graphopt::partition {
namespace {

// Sums at places 0 .. n-1: adds to a range, tells the largest of a range.
class RangeSums {
 public:
  explicit RangeSums(std::size_t n) {
    while (leaves_ < n) leaves_ *= 2;
    most_.resize(2 * leaves_);
    added_.resize(2 * leaves_);
  }
  void add(Index first, Index last, std::int64_t value) {
    std::size_t low = first + leaves_, high = last + leaves_;
    const std::size_t first_leaf = low, last_leaf = high;
    for (++high; low < high; low /= 2, high /= 2) {
      if (low % 2 == 1) apply(low++, value);
      if (high % 2 == 1) apply(--high, value);
    }
    for (const std::size_t leaf : {first_leaf, last_leaf})
      for (std::size_t p = leaf / 2; p > 0; p /= 2)
        most_[p] = std::max(most_[2 * p], most_[2 * p + 1]) + added_[p];
  }
  // Precondition: first <= last.
  std::int64_t most(Index first, Index last) {
    for (const std::size_t leaf : {first + leaves_, last + leaves_})
      for (std::size_t level = leaves_; level > 1; level /= 2) push(leaf / level);
    std::int64_t out = std::numeric_limits<std::int64_t>::min();
    std::size_t low = first + leaves_, high = last + leaves_ + 1;
    for (; low < high; low /= 2, high /= 2) {
      if (low % 2 == 1) out = std::max(out, most_[low++]);
      if (high % 2 == 1) out = std::max(out, most_[--high]);
    }
    return out;
  }

 private:
  void apply(std::size_t p, std::int64_t value) {
    most_[p] += value;
    added_[p] += value;
  }
  void push(std::size_t p) {
    if (added_[p] == 0) return;
    apply(2 * p, added_[p]);
    apply(2 * p + 1, added_[p]);
    added_[p] = 0;
  }

  std::size_t leaves_ = 1;
  std::vector<std::int64_t> most_, added_;
};

std::int64_t as_signed(std::uint64_t bytes) { return static_cast<std::int64_t>(bytes); }

}  // namespace

// What an interval of the nodes that the model has entered needs, while its ends move forward.
class MemoryWindow {
 public:
  explicit MemoryWindow(MemoryModel& model) : model_(model), alive_(model.count_) {}

  void extend(Index node) {
    for (const Index v : model_.reads_[node]) {
      const Index producer = model_.problem_.values[v].producer;
      if (producer != kNone && model_.inside(producer) && model_.at_[producer] >= first_) continue;
      const bool read = model_.read_epoch_[v] == model_.epoch_ && model_.read_at_[v] >= first_;
      add(read ? model_.read_at_[v] + 1 : first_, end_, v, 1);
      model_.read_epoch_[v] = model_.epoch_;
      model_.read_at_[v] = end_;
    }
    for (const Index v : model_.makes_[node]) add(end_, model_.last_place(v), v, 1);
    each_weight(node, [&](Index w) {
      if (model_.used_epoch_[w] != model_.epoch_) model_.used_[w] = 0;
      model_.used_epoch_[w] = model_.epoch_;
      if (model_.used_[w]++ == 0) weights_ += std::min(model_.problem_.weight_bytes[w], kMaxBytes);
    });
    ++end_;
  }
  void drop(Index node) {
    for (const Index v : model_.makes_[node]) {  // now it is read from outside, where it still is
      add(first_, model_.last_place(v), v, -1);
      Index last = kNone;
      for (const Index reader : model_.problem_.readers[v])
        if (const Index at = model_.at_[reader]; model_.inside(reader) && at > first_ && at < end_)
          last = last == kNone ? at : std::max(last, at);
      if (last == kNone) continue;
      add(first_ + 1, last, v, 1);
      model_.read_epoch_[v] = model_.epoch_;
      model_.read_at_[v] = last;
    }
    each_weight(node, [&](Index w) {
      if (--model_.used_[w] == 0) weights_ -= std::min(model_.problem_.weight_bytes[w], kMaxBytes);
    });
    ++first_;
  }
  std::uint64_t need() { return weights_ + static_cast<std::uint64_t>(alive_.most(first_, end_ - 1)); }

 private:
  void add(Index first, Index last, Index value, int sign) {
    if (first <= last) alive_.add(first, last, sign * as_signed(model_.value_bytes(value)));
  }
  template <class Each> void each_weight(Index node, Each each) {
    if (model_.problem_.weights.size() > 0)
      for (const Index w : model_.problem_.weights[node]) each(w);
  }

  MemoryModel& model_;
  RangeSums alive_;
  std::uint64_t weights_ = 0;
  Index first_ = 0, end_ = 0;
};

MemoryModel::MemoryModel(const Problem& problem, const UnitGraph& graph, std::vector<Index> order)
    : problem_(problem), graph_(graph), order_(std::move(order)) {
  for (const Device& d : problem.devices) limited_ = limited_ || d.memory_bytes;
  if (!limited_) return;
  const std::size_t n = problem.node_count(), values = problem.values.size();
  place_.resize(n);
  for (Index k = 0; k < n; ++k) place_[order_[k]] = k;
  std::vector<Index> made(n + 1), read(n + 1);
  for (Index v = 0; v < values; ++v) {
    if (problem.values[v].producer != kNone) ++made[problem.values[v].producer + 1];
    for (const Index reader : problem.readers[v]) ++read[reader + 1];
  }
  std::partial_sum(made.begin(), made.end(), made.begin());
  std::partial_sum(read.begin(), read.end(), read.begin());
  std::vector<Index> made_at(made.begin(), made.end() - 1), read_at(read.begin(), read.end() - 1);
  std::vector<Index> made_items(made.back()), read_items(read.back());
  for (Index v = 0; v < values; ++v) {
    if (problem.values[v].producer != kNone) made_items[made_at[problem.values[v].producer]++] = v;
    for (const Index reader : problem.readers[v]) read_items[read_at[reader]++] = v;
  }
  makes_ = Rows(std::move(made), std::move(made_items));
  reads_ = Rows(std::move(read), std::move(read_items));
  entered_.resize(n);
  at_.resize(n);
  read_epoch_.resize(values);
  read_at_.resize(values);
  used_epoch_.resize(problem.weight_bytes.size());
  used_.resize(problem.weight_bytes.size());
}

void MemoryModel::enter(std::span<const Index> nodes) {
  ++epoch_;
  count_ = static_cast<Index>(nodes.size());
  for (Index k = 0; k < count_; ++k) entered_[nodes[k]] = epoch_, at_[nodes[k]] = k;
}

std::uint64_t MemoryModel::value_bytes(Index value) const {
  const Value& v = problem_.values[value];
  return std::min(std::max(v.bytes, v.least_bytes), kMaxBytes);
}

// The last place at which a value that is made here is alive.
Index MemoryModel::last_place(Index value) const {
  Index last = at_[problem_.values[value].producer];
  bool leaves = problem_.values[value].network_output;
  for (const Index reader : problem_.readers[value])
    if (inside(reader)) last = std::max(last, at_[reader]);
    else leaves = true;
  return leaves ? count_ - 1 : last;
}

std::uint64_t MemoryModel::need(std::span<const Index> nodes) {
  enter(nodes);
  std::vector<std::int64_t> change(nodes.size() + 1);
  std::uint64_t weights = 0;
  const auto alive = [&](Index first, Index last, Index v) {
    if (first > last) return;
    change[first] += as_signed(value_bytes(v));
    change[last + 1] -= as_signed(value_bytes(v));
  };
  std::vector<Index> used;
  for (Index k = 0; k < count_; ++k) {
    for (const Index v : makes_[nodes[k]]) alive(k, last_place(v), v);
    for (const Index v : reads_[nodes[k]]) {
      const Index producer = problem_.values[v].producer;
      if (producer != kNone && inside(producer)) continue;
      alive(read_epoch_[v] == epoch_ ? read_at_[v] + 1 : 0, k, v);
      read_epoch_[v] = epoch_;
      read_at_[v] = k;
    }
    if (problem_.weights.size() > 0)
      used.insert(used.end(), problem_.weights[nodes[k]].begin(), problem_.weights[nodes[k]].end());
  }
  std::ranges::sort(used);
  used.erase(std::unique(used.begin(), used.end()), used.end());
  for (const Index w : used) weights += std::min(problem_.weight_bytes[w], kMaxBytes);
  std::int64_t now = 0, peak = 0;
  for (const std::int64_t c : change) peak = std::max(peak, now += c);
  return weights + static_cast<std::uint64_t>(peak);
}

std::vector<std::uint64_t> MemoryModel::needs(const Labels& labels, std::size_t groups) {
  std::vector<std::vector<Index>> nodes(groups);
  for (const Index node : order_) nodes[labels[graph_.unit_of[node]]].push_back(node);
  std::vector<std::uint64_t> out;
  for (const auto& list : nodes) out.push_back(need(list));
  return out;
}

// By place of a unit: bytes that are made before it and read at it or later. first: the place of each unit's
// first node, and the end.
std::vector<std::uint64_t> MemoryModel::crossing(std::span<const Index> nodes,
                                                 std::span<const Index> first) const {
  std::vector<Index> unit(first.back());  // by place
  for (Index u = 0; u + 1 < first.size(); ++u)
    for (Index k = first[u]; k < first[u + 1]; ++k) unit[k] = u;
  std::vector<std::int64_t> change(first.size() + 1);
  for (const Index node : nodes)
    for (const Index v : makes_[node]) {
      const Index made = unit[at_[node]];
      Index last = made;
      for (const Index reader : problem_.readers[v])
        if (inside(reader)) last = std::max(last, unit[at_[reader]]);
      change[made + 1] += as_signed(value_bytes(v));
      change[last + 1] -= as_signed(value_bytes(v));
    }
  std::vector<std::uint64_t> out;
  std::int64_t now = 0;
  for (const std::int64_t c : change) out.push_back(static_cast<std::uint64_t>(now += c));
  return out;
}

// Returns the fewest intervals of units that fit, then the fewest bytes over cuts. A unit that does not fit
// alone is an interval of its own. alone: by unit, what it needs where it had to be alone, else 0.
std::vector<std::vector<Index>> MemoryModel::intervals(std::span<const Index> units, std::uint64_t limit,
                                                       std::vector<std::uint64_t>* alone) {
  std::vector<Index> nodes, first{0};
  for (const Index u : units) {
    std::vector<Index> members(graph_.members[u].begin(), graph_.members[u].end());
    std::ranges::sort(members, {}, [&](Index i) { return place_[i]; });
    nodes.insert(nodes.end(), members.begin(), members.end());
    first.push_back(static_cast<Index>(nodes.size()));
  }
  enter(nodes);
  const std::vector<std::uint64_t> crosses = crossing(nodes, first);
  struct Cuts {
    std::size_t pieces;
    std::uint64_t bytes;
    Index from;
  };
  std::vector<Cuts> best{{0, 0, 0}};  // by the number of units that are in intervals
  std::deque<Index> starts;           // of the last interval, each better than those behind it
  const auto price = [&](Index b) {
    return std::tuple(best[b].pieces, best[b].bytes + (b > 0 ? crosses[b] : 0), b);
  };
  MemoryWindow window(*this);
  Index begin = 0;
  alone->assign(units.size(), 0);
  for (Index end = 1; end <= units.size(); ++end) {
    for (Index k = first[end - 1]; k < first[end]; ++k) window.extend(nodes[k]);
    std::uint64_t need = window.need();
    for (; need > limit && begin + 1 < end; need = window.need()) {
      for (Index k = first[begin]; k < first[begin + 1]; ++k) window.drop(nodes[k]);
      ++begin;
    }
    if (need > limit) (*alone)[begin] = need;
    while (!starts.empty() && price(starts.back()) > price(end - 1)) starts.pop_back();
    starts.push_back(end - 1);
    while (starts.front() < begin) starts.pop_front();
    const auto [pieces, bytes, from] = price(starts.front());
    best.push_back({pieces + 1, bytes, from});
  }
  std::vector<std::vector<Index>> out;
  for (auto end = static_cast<Index>(units.size()); end > 0; end = best[end].from)
    out.emplace_back(units.begin() + best[end].from, units.begin() + end);
  std::ranges::reverse(out);
  return out;
}

// Returns pieces that fit, but for units that are too large; these are noted.
std::vector<std::vector<Index>> MemoryModel::pieces(std::span<const Index> units, std::uint64_t limit,
                                                    MemoryCuts& out) {
  std::vector<std::uint64_t> alone;
  for (std::uint64_t aim = limit;;) {
    std::vector<std::vector<Index>> found = intervals(units, aim, &alone);
    for (std::size_t u = 0; u < alone.size(); ++u)
      if (alone[u] > limit && graph_.color[units[u]] != graph_.host)
        out.too_large.push_back({units[u], alone[u]});
    if (!out.too_large.empty() || graph_.size() == order_.size()) return found;
    // Members of units stand together here, but not in the order of execution, where they may need more.
    std::uint64_t over = 0;
    for (const auto& piece : found) {
      if (piece.size() == 1) continue;
      std::vector<Index> nodes;
      for (const Index u : piece)
        nodes.insert(nodes.end(), graph_.members[u].begin(), graph_.members[u].end());
      std::ranges::sort(nodes, {}, [&](Index i) { return place_[i]; });
      const std::uint64_t needed = need(nodes);
      if (needed > limit) over = std::max(over, needed - limit);
    }
    if (over == 0) return found;
    aim -= std::min(aim, std::max(over, aim / 16));
  }
}

MemoryCuts MemoryModel::cut(const Labels& labels) {
  MemoryCuts out;
  out.labels = labels;
  Index groups = 0;
  for (const Index l : labels) groups = std::max(groups, l + 1);
  const std::vector<std::uint64_t> need = needs(labels, groups);
  std::vector<std::vector<Index>> units(groups);
  for (const Index u : graph_.by_depth) units[labels[u]].push_back(u);
  Index next = groups;
  for (Index g = 0; g < groups; ++g) {
    if (units[g].empty()) continue;
    const Index device = graph_.color[units[g][0]];
    const auto limit = problem_.devices[device].memory_bytes;
    if (!limit || need[g] <= *limit) continue;
    const auto found = pieces(units[g], *limit, out);
    if (found.size() == 1) continue;
    MemoryCuts::Whole& whole = out.cut.emplace_back(MemoryCuts::Whole{device, need[g], {}});
    for (const auto& piece : found) {
      whole.units.push_back(piece[0]);
      for (const Index u : piece) out.labels[u] = next;
      ++next;
    }
  }
  return out;
}

}  // namespace graphopt::partition
