#include "partition/group_order.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>

namespace graphopt::partition {
namespace {

constexpr std::size_t kTestGroups = 4096;   // that one test may visit
constexpr std::int64_t kTestEdges = 65536;  // that one test may look at
constexpr std::size_t kManyEdges = 64;
constexpr Index kSlotsPerStep = 16;  // rewriting a slot is that much cheaper than visiting a group

// Numbers groups in the order of their least units. Returns their number.
Index renumber(Labels& labels) {
  std::vector<Index> number;
  Index count = 0;
  for (Index& label : labels) {
    if (label >= number.size()) number.resize(std::size_t{label} + 1, kNone);
    if (number[label] == kNone) number[label] = count++;
    label = number[label];
  }
  return count;
}

// The edges of a quotient, each once.
struct Quotient {
  std::vector<std::vector<Index>> consumers, producers;
};

Quotient quotient(const UnitGraph& graph, const Labels& label, Index groups) {
  std::vector<Index> first(std::size_t{groups} + 1), units(label.size());
  for (const Index g : label) ++first[g + 1];
  std::partial_sum(first.begin(), first.end(), first.begin());
  std::vector<Index> at(first.begin(), first.end() - 1), seen(groups, kNone);
  for (Index u = 0; u < label.size(); ++u) units[at[label[u]]++] = u;
  Quotient out;
  out.consumers.resize(groups);
  out.producers.resize(groups);
  for (Index g = 0; g < groups; ++g)
    for (Index i = first[g]; i < first[g + 1]; ++i)
      for (const Index c : graph.consumers[units[i]]) {
        const Index to = label[c];
        if (to == g || seen[to] == g) continue;
        seen[to] = g;
        out.consumers[g].push_back(to);
        out.producers[to].push_back(g);
      }
  return out;
}

// Groups are numbered by their least unit, so the least number is taken first.
std::vector<Index> sort(const Quotient& q) {
  std::vector<Index> waiting(q.producers.size()), out;
  std::priority_queue<Index, std::vector<Index>, std::greater<>> ready;
  for (Index g = 0; g < waiting.size(); ++g) {
    waiting[g] = static_cast<Index>(q.producers[g].size());
    if (waiting[g] == 0) ready.push(g);
  }
  while (!ready.empty()) {
    const Index g = ready.top();
    ready.pop();
    out.push_back(g);
    for (const Index c : q.consumers[g])
      if (--waiting[c] == 0) ready.push(c);
  }
  return out;
}

}  // namespace

GroupOrder::GroupOrder(const UnitGraph& graph, const Labels& labels, Budget& budget,
                       const std::vector<Index>* sequence)
    : budget_(budget), label_(labels) {
  const Index groups = renumber(label_);
  up_.resize(groups);
  std::iota(up_.begin(), up_.end(), Index{0});
  color_.resize(groups);
  key_.assign(groups, kNone);
  size_.resize(groups);
  seen_.resize(groups);
  reached_.resize(groups);
  for (Index u = 0; u < label_.size(); ++u) {
    color_[label_[u]] = graph.color[u];
    key_[label_[u]] = std::min(key_[label_[u]], u);
    ++size_[label_[u]];
  }
  Quotient q = quotient(graph, label_, groups);
  if (sequence != nullptr)
    for (const Index u : *sequence) sequence_.push_back(label_[u]);
  else sequence_ = sort(q);
  consumers_ = std::move(q.consumers);
  producers_ = std::move(q.producers);
  slot_.resize(groups);
  compact();
}

void GroupOrder::compact() {
  std::erase(sequence_, kNone);
  for (Index s = 0; s < sequence_.size(); ++s) slot_[sequence_[s]] = s;
}

std::vector<Index>& GroupOrder::tidy(std::vector<Index>& list, Index group) {
  ++seen_epoch_;
  std::size_t kept = 0;
  for (const Index entry : list) {
    const Index g = find(entry);
    if (g == group || seen_[g] == seen_epoch_) continue;
    seen_[g] = seen_epoch_;
    list[kept++] = g;
  }
  list.resize(kept);
  return list;
}

// Marks what `from` reaches before it comes to the slot of `to`, forwards or backwards; returns false if that
// is `to` itself, but for a single edge, or a limit was reached.
bool GroupOrder::search(Index from, Index to, bool forward) {
  const auto& edges = forward ? consumers_ : producers_;
  const Index end = slot_[to];
  ++reached_epoch_;
  reached_count_ = 0;
  stack_.assign(1, from);
  std::int64_t steps = kTestEdges;
  bool free = true;
  while (!stack_.empty() && free) {
    const Index g = stack_.back();
    stack_.pop_back();
    for (const Index entry : edges[g]) {
      --steps;
      const Index c = find(entry);
      if (c == to) {
        if (g == from) continue;
        free = false;
        break;
      }
      const bool beyond = forward ? slot_[c] > end : slot_[c] < end;
      if (beyond || c == from || reached_[c] == reached_epoch_) continue;
      reached_[c] = reached_epoch_;
      ++reached_count_;
      stack_.push_back(c);
    }
    if (steps < 0 || reached_count_ > kTestGroups) free = false;
  }
  budget_.steps -= kTestEdges - steps + 1;
  return free;
}

// Gives the slots from `low` to `high` out anew: what must come before the merged group, this, the others.
// What stands before (forwards; backwards: behind) all that the search reached can stay.
void GroupOrder::rewrite(Index a, Index b, Index low, Index high, bool forward) {
  Index kept_from = low, kept_to = high;
  sequence_[low] = sequence_[high] = kNone;
  if (reached_count_ == 0) {
    slot_[a] = forward ? high : low;
    sequence_[slot_[a]] = a;
    return;
  }
  const auto is_reached = [&](Index slot) {
    const Index g = sequence_[slot];
    return g != kNone && reached_[g] == reached_epoch_;
  };
  if (forward)
    while (!is_reached(kept_from)) ++kept_from;
  else
    while (!is_reached(kept_to)) --kept_to;
  before_.clear();
  after_.clear();
  for (Index s = kept_from; s <= kept_to; ++s) {
    const Index g = sequence_[s];
    if (g == kNone || g == a || g == b) continue;
    (reached_[g] == reached_epoch_ ? !forward : forward) ? before_.push_back(g) : after_.push_back(g);
    sequence_[s] = kNone;
  }
  budget_.steps -= (kept_to - kept_from) / kSlotsPerStep;
  before_.push_back(a);
  before_.insert(before_.end(), after_.begin(), after_.end());
  Index to = forward ? high + 1 - static_cast<Index>(before_.size()) : low;
  for (const Index g : before_) slot_[g] = to, sequence_[to++] = g;
}

bool GroupOrder::merge(Index a, Index b) {
  const Index low = std::min(slot_[a], slot_[b]), high = std::max(slot_[a], slot_[b]);
  const Index from = sequence_[low], to = sequence_[high];
  // From a group with many edges, a search from the other end is mostly shorter.
  const std::size_t out = consumers_[from].size(), in = producers_[to].size();
  const bool forward = out <= kManyEdges || out <= in;
  if (!(forward ? search(from, to, true) : search(to, from, false))) return false;
  rewrite(a, b, low, high, forward);

  up_[b] = a;
  key_[a] = std::min(key_[a], key_[b]);
  size_[a] += size_[b];
  for (auto* lists : {&consumers_, &producers_}) {
    std::vector<Index>&x = (*lists)[a], &y = (*lists)[b];
    if (x.size() < y.size()) x.swap(y);
    x.insert(x.end(), y.begin(), y.end());
    std::vector<Index>().swap(y);
  }
  return true;
}

Labels GroupOrder::labels() {
  std::vector<Index> number(up_.size(), kNone);
  Index count = 0;
  for (const Index g : sequence_)
    if (g != kNone) number[g] = count++;
  Labels out(label_.size());
  for (Index u = 0; u < out.size(); ++u) out[u] = number[group_of(u)];
  return out;
}

Labels in_order(const UnitGraph& graph, const Labels& labels) {
  Labels label = labels;
  const Index groups = renumber(label);
  const std::vector<Index> sequence = sort(quotient(graph, label, groups));
  if (sequence.size() != groups) return {};
  std::vector<Index> number(groups);
  for (Index i = 0; i < groups; ++i) number[sequence[i]] = i;
  for (Index& l : label) l = number[l];
  return label;
}

}  // namespace graphopt::partition
