#include "mapping/literal.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <span>
#include <utility>

#include "mapping/assignment.h"

namespace graphopt::mapping {
namespace {

constexpr double kStay = 1e-6;  // what an operator gains at the position where it is

// The operators of a partition by side, in canonical order.
using Members = std::array<std::vector<Index>, 2>;

std::size_t positions_of(const Members& members) { return std::max(members[0].size(), members[1].size()); }

struct Partitions {
  std::vector<Members> homogeneous;
  Members mixed;
};

Partitions find_partitions(const Side& a, const Side& b) {
  std::map<std::pair<Index, Index>, Members> by_key;  // type and dims
  const std::array<const Side*, 2> sides{&a, &b};
  for (const std::size_t s : kSides)
    for (Index i = 0; i < sides[s]->size(); ++i) {
      const Operator& o = sides[s]->op(i);
      by_key[{o.type, o.shape}][s].push_back(i);
    }
  Partitions out;
  for (auto& [key, members] : by_key)
    if (!members[0].empty() && !members[1].empty()) {
      out.homogeneous.push_back(std::move(members));
    } else {
      for (const std::size_t s : kSides)
        out.mixed[s].insert(out.mixed[s].end(), members[s].begin(), members[s].end());
    }
  for (auto& of_side : out.mixed) std::ranges::sort(of_side);
  return out;
}

// A footprint matrix: by operator, the ones of its column and of its row. Both are ascending.
struct Footprint {
  explicit Footprint(const Side& side) : before(side.size()), after(side.size()) {
    for (Index i = 0; i < side.size(); ++i) {
      for (const Index v : side.inputs(i))
        if (v != kNone && side.is_computed(v)) before[i].push_back(side.producer(v).op);
      std::ranges::sort(before[i]);
      const auto repeated = std::ranges::unique(before[i]);
      before[i].erase(repeated.begin(), repeated.end());
      for (const Index p : before[i]) after[p].push_back(i);
    }
  }
  // The square of the length of a feature vector.
  std::size_t features(Index op) const { return before[op].size() + after[op].size(); }

  std::vector<std::vector<Index>> before, after;
};

// Puts the operators of one side of a partition in order of homogeneous depth; equal ones stay in canonical
// order, which is topological.
void sort_by_depth(const Footprint& footprint, std::vector<Index>& members) {
  if (members.size() < 2) return;
  std::vector<bool> is_member(footprint.before.size());
  for (const Index i : members) is_member[i] = true;
  std::vector<Index> depth(footprint.before.size());
  for (Index i = members.front(); i <= members.back(); ++i)
    for (const Index p : footprint.before[i])
      depth[i] = std::max(depth[i], depth[p] + static_cast<Index>(is_member[p]));
  std::ranges::stable_sort(members, {}, [&](Index i) { return depth[i]; });
}

class Literal {
 public:
  Literal(const Side& a, const Side& b) : footprints_{Footprint(a), Footprint(b)} {
    Partitions partitions = find_partitions(a, b);
    at_[0].resize(a.size());
    at_[1].resize(b.size());
    for (Members& members : partitions.homogeneous) {
      for (const std::size_t s : kSides) sort_by_depth(footprints_[s], members[s]);
      place(members);
      ends_.push_back(size());
    }
    place(partitions.mixed);
    similarity_.resize(size() * size());
    compare();
  }

  LiteralMapping map(const LiteralOptions& options) {
    LiteralMapping out;
    while (out.rounds < options.rounds) {
      ++out.rounds;
      if (!reorder()) break;
      compare();
    }
    for (Index i = 0; i < at_[0].size(); ++i) {
      const std::size_t position = at_[0][i];
      if (position >= mixed_begin()) {
        if (auto top = advice(position, options.top_k); !top.empty())
          out.advice.push_back({i, std::move(top)});
      } else if (const Index j = order_[1][position]; j != kNone) {
        out.pairs.push_back({i, j, row(position)[position], Why::Literal});
      }
    }
    return out;
  }

 private:
  std::size_t size() const { return order_[0].size(); }
  std::size_t mixed_begin() const { return ends_.empty() ? 0 : ends_.back(); }
  std::span<float> row(std::size_t position) {
    return std::span(similarity_).subspan(position * size(), size());
  }

  // Adds the positions of a partition.
  void place(const Members& members) {
    const std::size_t end = size() + positions_of(members);
    for (const std::size_t s : kSides) {
      for (const Index i : members[s]) {
        at_[s][i] = order_[s].size();
        order_[s].push_back(i);
      }
      order_[s].resize(end, kNone);
    }
  }

  // Computes the similarities. What both vectors have a 1 at is counted by way of the operator of B at the
  // position of each neighbour of the operator of A.
  void compare() {
    std::ranges::fill(similarity_, 0.0F);
    std::vector<std::size_t> met;  // positions of B
    for (Index i = 0; i < at_[0].size(); ++i) {
      const std::span<float> similar = row(at_[0][i]);
      met.clear();
      const auto count = [&](const std::vector<Index>& neighbours,
                             const std::vector<std::vector<Index>>& back) {
        for (const Index n : neighbours) {
          const Index other = order_[1][at_[0][n]];
          if (other == kNone) continue;
          for (const Index j : back[other]) {
            float& entry = similar[at_[1][j]];
            if (entry == 0) met.push_back(at_[1][j]);
            ++entry;
          }
        }
      };
      count(footprints_[0].after[i], footprints_[1].before);
      count(footprints_[0].before[i], footprints_[1].after);
      for (const std::size_t q : met) {
        const std::size_t squares = footprints_[0].features(i) * footprints_[1].features(order_[1][q]);
        similar[q] = static_cast<float>(similar[q] / std::sqrt(static_cast<double>(squares)));
      }
    }
  }

  // Returns false if each operator of A stays where it is.
  bool reorder() {
    bool changed = false;
    std::size_t begin = 0;
    for (const std::size_t end : ends_) {
      for (const auto& positions : similar_positions(begin, end)) changed |= assign(positions);
      begin = end;
    }
    for (std::size_t p = 0; p < size(); ++p)
      if (const Index i = order_[0][p]; i != kNone) at_[0][i] = p;
    return changed;
  }

  // Splits positions into sets; what stands in one of them is similar to nothing of the others. The best
  // order of all is made of the best ones of the sets. Sets of one position are left out.
  std::vector<std::vector<std::size_t>> similar_positions(std::size_t begin, std::size_t end) {
    std::vector<std::size_t> first(end - begin);  // by position: an earlier one of its set, or itself
    std::iota(first.begin(), first.end(), 0);
    const auto find = [&](std::size_t i) {
      while (first[i] != i) i = first[i] = first[first[i]];
      return i;
    };
    for (std::size_t p = begin; p < end; ++p) {
      const std::span<const float> similar = row(p);
      for (std::size_t q = begin; q < end; ++q) {
        if (similar[q] == 0) continue;
        const std::size_t x = find(p - begin), y = find(q - begin);
        first[std::max(x, y)] = std::min(x, y);
      }
    }
    std::vector<std::vector<std::size_t>> out(first.size());
    for (std::size_t i = 0; i < first.size(); ++i) out[find(i)].push_back(begin + i);
    std::erase_if(out, [](const auto& positions) { return positions.size() < 2; });
    return out;
  }

  // Returns false if each operator of A stays where it is. Pseudo-operators, if there are any, are rows: a
  // row of zeros takes any free column at once. As columns they would be what rows try last.
  bool assign(std::span<const std::size_t> positions) {
    std::vector<Index> operators;
    for (const std::size_t p : positions) operators.push_back(order_[0][p]);
    const bool turned = std::ranges::find(operators, kNone) == operators.end();
    const std::size_t count = positions.size();
    std::vector<std::vector<double>> gains(count, std::vector<double>(count));
    for (std::size_t i = 0; i < count; ++i) {
      const std::span<const float> similar = row(positions[i]);
      for (std::size_t j = 0; j < count; ++j)
        (turned ? gains[j][i] : gains[i][j]) = similar[positions[j]] + (i == j ? kStay : 0);
    }
    const auto columns = best_assignment(gains);
    bool changed = false;
    for (std::size_t r = 0; r < count; ++r) {
      const std::size_t from = turned ? columns[r] : r, to = turned ? r : columns[r];
      order_[0][positions[to]] = operators[from];
      changed |= from != to;
    }
    return changed;
  }

  std::vector<std::pair<Index, double>> advice(std::size_t position, std::size_t top_k) {
    std::vector<std::pair<Index, double>> out;
    const std::span<const float> similar = row(position);
    for (std::size_t q = mixed_begin(); q < size(); ++q)
      if (similar[q] > 0) out.emplace_back(order_[1][q], similar[q]);
    std::ranges::stable_sort(out, std::ranges::greater{}, &std::pair<Index, double>::second);
    out.resize(std::min(out.size(), top_k));
    return out;
  }

  std::array<Footprint, 2> footprints_;
  std::array<std::vector<Index>, 2> order_;     // by side and position: operators; kNone: a pseudo-operator
  std::array<std::vector<std::size_t>, 2> at_;  // by side and operator: its position
  std::vector<std::size_t> ends_;               // of the homogeneous partitions, one behind the other
  std::vector<float> similarity_;               // by position of A, then of B
};

}  // namespace

std::uint64_t literal_bytes(const Side& a, const Side& b) {
  const Partitions partitions = find_partitions(a, b);
  std::uint64_t all = positions_of(partitions.mixed), most = 0;
  for (const Members& members : partitions.homogeneous) {
    all += positions_of(members);
    most = std::max<std::uint64_t>(most, positions_of(members));
  }
  return all * all * sizeof(float) + most * most * sizeof(double);
}

LiteralMapping map_literally(const Side& a, const Side& b, const LiteralOptions& options) {
  return Literal(a, b).map(options);
}

}  // namespace graphopt::mapping
