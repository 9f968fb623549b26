#include "mapping/groups.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

namespace graphopt::mapping {
namespace {

std::vector<Index> constant_contents(const Side& side, Index op) {
  std::vector<Index> out;
  for (const Index v : side.inputs(op))
    if (const Constant* c = v == kNone ? nullptr : side.constant(v)) out.push_back(c->content);
  std::ranges::sort(out);
  return out;
}

std::size_t computed_operands(const Side& side, Index op) {
  return static_cast<std::size_t>(std::ranges::count_if(
      side.inputs(op), [&](Index v) { return v != kNone && side.constant(v) == nullptr; }));
}

constexpr std::size_t kMostInGroup = 1024;

class Grouping {
 public:
  Grouping(const Matching& m, const View& view, const Ends& ends, const KnownValues& known)
      : m_(m), view_(view), ends_(ends), known_(known) {
    for (const std::size_t s : kSides) {
      mates_[s].assign(m.side(s).value_count(), kNone);
      is_in_group_[s].assign(m.side(s).size(), false);
      seen_[s].assign(m.side(s).size(), 0);
    }
    ties_.assign(a().value_count(), Tie::None);
  }

  Groups all() {
    tie_values();
    for (const Pair& p : m_.pairs()) is_in_group_[0][p.a] = is_in_group_[1][p.b] = true;
    std::vector<Index> values;  // of A that correspond, in the order of their operators
    for (Index i = 0; i < a().size(); ++i)
      for (const Index v : a().outputs(i))
        if (v != kNone && mates_[0][v] != kNone) values.push_back(v);
    for (const auto& [x, y] : ends_.outputs)  // inputs that are outputs of one side
      if (!a().is_computed(x) && mates_[0][x] == y) values.push_back(x);
    for (const Index v : values) add_group(v, mates_[0][v]);
    for (Index i = 0; i < a().size(); ++i)
      if (!is_in_group_[0][i]) out_.push_back({{i}, {}, MapGroupKind::OnlyInA, kNone, kNone, Tie::None});
    for (Index j = 0; j < b().size(); ++j)
      if (!is_in_group_[1][j]) out_.push_back({{}, {j}, MapGroupKind::OnlyInB, kNone, kNone, Tie::None});
    return {std::move(out_), std::move(mates_[0])};
  }

 private:
  const Side& a() const { return m_.side(0); }
  const Side& b() const { return m_.side(1); }

  void tie(Index x, Index y, Tie why) {
    if (x == kNone || y == kNone || mates_[0][x] != kNone || mates_[1][y] != kNone) return;
    if (known_.unequal.contains({x, y})) return;
    ties_[x] = why;
    mates_[0][x] = y;
    mates_[1][y] = x;
  }

  void tie_results(bool unchanged) {
    for (Index i = 0; i < a().size(); ++i) {
      const Index j = m_.mate(0, i);
      if (j == kNone || is_unchanged(m_, i, j) != unchanged) continue;
      for (const auto& [x, y] : results_by_slot(a(), i, b(), j))
        tie(x, y, unchanged ? Tie::Unchanged : Tie::Results);
    }
  }

  // What is read, through transparent operators; of operators whose operands have no order those that
  // correspond to nothing yet.
  std::vector<Index> operands(std::size_t s, Index op) const {
    const Side& side = m_.side(s);
    std::vector<Index> out;
    for (const Index v : side.inputs(op)) {
      if (v == kNone || side.constant(v)) continue;
      const Index source = view_.source(s, v, false);
      if (!side.op(op).commutes || mates_[s][source] == kNone) out.push_back(source);
    }
    return out;
  }

  // The pair that a value comes from, through operators that are looked through; kNone: none.
  Index origin(std::size_t s, Index value) const {
    const Side& side = m_.side(s);
    const Index v = view_.source(s, value, true);
    if (v == kNone || !side.is_computed(v) || !m_.is_matched(s, side.producer(v).op)) return kNone;
    return m_.pair(s, side.producer(v).op);
  }

  // Keeps of the operands of two operators, whose order says nothing, those that come from one pair each.
  void by_origin(std::vector<Index>& of_a, std::vector<Index>& of_b) const {
    struct Found {
      std::array<std::size_t, 2> count = {};
      std::array<Index, 2> value = {};
    };
    std::unordered_map<Index, Found> all;
    const auto find = [&](std::size_t s, const std::vector<Index>& values) {
      for (const Index v : values) {
        Found& found = all[origin(s, v)];
        ++found.count[s];
        found.value[s] = v;
      }
    };
    find(0, of_a);
    find(1, of_b);
    std::vector<Index> kept_a, kept_b;
    for (const Index v : of_a) {
      const Index from = origin(0, v);
      const Found& found = all.at(from);
      if (from == kNone || found.count != std::array<std::size_t, 2>{1, 1}) continue;
      kept_a.push_back(v);
      kept_b.push_back(found.value[1]);
    }
    of_a = std::move(kept_a);
    of_b = std::move(kept_b);
  }

  void tie_operands() {
    std::map<std::pair<Index, Index>, std::size_t> votes;
    for (Index i = 0; i < a().size(); ++i) {
      const Index j = m_.mate(0, i);
      if (j == kNone) continue;
      auto of_a = operands(0, i), of_b = operands(1, j);
      if (a().op(i).commutes && (of_a.size() != 1 || of_b.size() != 1)) by_origin(of_a, of_b);
      if (of_a.size() != of_b.size()) continue;
      for (std::size_t k = 0; k < of_a.size(); ++k)
        if (mates_[0][of_a[k]] == kNone && mates_[1][of_b[k]] == kNone && a().is_computed(of_a[k]) &&
            b().is_computed(of_b[k]))
          ++votes[{of_a[k], of_b[k]}];
    }
    std::vector<std::tuple<std::size_t, Use, Use, Index, Index>> order;  // most votes first, then in order
    for (const auto& [pair, count] : votes)
      order.emplace_back(~count, a().producer(pair.first), b().producer(pair.second), pair.first,
                         pair.second);
    std::ranges::sort(order);
    for (const auto& [count, x, y, of_a, of_b] : order) tie(of_a, of_b, Tie::Operands);
  }

  void tie_values() {
    for (const auto& [x, y] : ends_.outputs) tie(x, y, Tie::Ends);
    for (const auto& [x, y] : ends_.inputs) tie(x, y, Tie::Ends);
    for (const auto& [x, y] : known_.equal) tie(x, y, Tie::Values);
    tie_results(true);
    tie_operands();
    tie_results(false);
  }

  // The operators that make a value, up to values that correspond; ascending. None where there are too many:
  // such a group says nothing, and many of them would hold the graph many times.
  std::vector<Index> cone(std::size_t s, Index value) {
    const Side& side = m_.side(s);
    ++epoch_;
    std::vector<Index> out, open{value};
    while (!open.empty()) {
      const Index v = open.back();
      open.pop_back();
      if (v == kNone || !side.is_computed(v) || (v != value && mates_[s][v] != kNone)) continue;
      const Index op = side.producer(v).op;
      if (seen_[s][op] == epoch_) continue;
      seen_[s][op] = epoch_;
      if (out.size() == kMostInGroup) return {};
      out.push_back(op);
      open.insert(open.end(), side.inputs(op).begin(), side.inputs(op).end());
    }
    std::ranges::sort(out);
    return out;
  }

  std::vector<Index> beside(std::size_t s, const std::vector<Index>& group, Index maker) const {
    std::vector<Index> out;
    for (const Index op : group)
      if (op != maker && !m_.is_matched(s, op)) out.push_back(op);
    return out;
  }

  void note(std::size_t s, const std::vector<Index>& group) {
    for (const Index op : group) is_in_group_[s][op] = true;
  }

  void add_group(Index x, Index y) {
    std::vector<Index> of_a = cone(0, x), of_b = cone(1, y);
    if (a().is_computed(x) && b().is_computed(y)) {
      const Index i = a().producer(x).op, j = b().producer(y).op;
      if (is_unchanged(m_, i, j)) {
        const auto rest_a = beside(0, of_a, i), rest_b = beside(1, of_b, j);
        if (rest_a.empty() || rest_b.empty()) {
          std::erase_if(of_a, [&](Index op) { return std::ranges::binary_search(rest_a, op); });
          std::erase_if(of_b, [&](Index op) { return std::ranges::binary_search(rest_b, op); });
          note(0, of_a);
          note(1, of_b);
          return;
        }
        note(0, of_a);
        note(1, of_b);
        return emit(rest_a, rest_b, x, y);
      }
    }
    if (of_a.empty() || of_b.empty()) return;
    const bool are_single = of_a.size() == 1 && of_b.size() == 1;
    // Operators that are pairs with others are no group.
    if (are_single && (m_.is_matched(0, of_a[0]) || m_.is_matched(1, of_b[0]))) return;
    note(0, of_a);
    note(1, of_b);
    emit(of_a, of_b, x, y);
  }

  void emit(const std::vector<Index>& of_a, const std::vector<Index>& of_b, Index x, Index y) {
    const MapGroupKind kind = of_a.size() > 1 && of_b.size() == 1   ? MapGroupKind::Fused
                              : of_a.size() == 1 && of_b.size() > 1 ? MapGroupKind::Decomposed
                                                                    : MapGroupKind::Rewritten;
    // An operator with several results ends one group.
    if (!out_.empty() && out_.back().a == of_a && out_.back().b == of_b) return;
    out_.push_back({of_a, of_b, kind, x, y, ties_[x]});
  }

  const Matching& m_;
  const View& view_;
  const Ends& ends_;
  const KnownValues& known_;
  std::array<std::vector<Index>, 2> mates_;         // by side and value
  std::vector<Tie> ties_;                           // by value of A
  std::array<std::vector<bool>, 2> is_in_group_;    // or in a pair
  std::array<std::vector<std::uint32_t>, 2> seen_;  // by operator: the last cone that has it
  std::uint32_t epoch_ = 0;
  std::vector<Group> out_;
};

}  // namespace

bool is_unchanged(const Matching& m, Index a, Index b) {
  const Side &x = m.side(0), &y = m.side(1);
  return x.op(a).type == y.op(b).type && x.op(a).attributes == y.op(b).attributes &&
         computed_operands(x, a) == computed_operands(y, b) &&
         constant_contents(x, a) == constant_contents(y, b);
}

Groups find_groups(const Matching& m, const View& view, const Ends& ends, const KnownValues& known) {
  return Grouping(m, view, ends, known).all();
}

}  // namespace graphopt::mapping
