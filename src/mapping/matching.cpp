#include "mapping/matching.h"

#include <algorithm>
#include <unordered_map>

namespace graphopt::mapping {

bool Matching::add(Index a, Index b, double confidence, Why why) {
  if (is_matched(0, a) || is_matched(1, b) || is_excluded(a, b)) return false;
  mates_[0][a] = b;
  mates_[1][b] = a;
  pair_of_[a] = static_cast<Index>(pairs_.size());
  pairs_.push_back({a, b, confidence, why, confidence});
  return true;
}

bool Matching::exchange(Index x, Index y) {
  Pair &of_x = pairs_[pair_of_[x]], &of_y = pairs_[pair_of_[y]];
  const auto is_fact = [](const Pair& p) { return p.why == Why::Given || p.why == Why::Values; };
  if (is_fact(of_x) || is_fact(of_y) || is_excluded(x, of_y.b) || is_excluded(y, of_x.b)) return false;
  std::swap(of_x.b, of_y.b);
  for (const Pair& p : {of_x, of_y}) {
    mates_[0][p.a] = p.b;
    mates_[1][p.b] = p.a;
  }
  return true;
}

std::vector<std::pair<Index, Index>> results_by_slot(const Side& a, Index of_a, const Side& b, Index of_b) {
  std::vector<std::pair<Index, Index>> out;
  const auto xs = a.outputs(of_a), ys = b.outputs(of_b);
  for (std::size_t k = 0; k < std::min(xs.size(), ys.size()); ++k)
    if (xs[k] != kNone && ys[k] != kNone) out.emplace_back(xs[k], ys[k]);
  return out;
}

Seeds match_unique(Matching& m, const std::array<std::vector<Index>, 2>& keys, double confidence, Why why) {
  Index most = 0;
  for (const auto& of_side : keys)
    for (const Index k : of_side)
      if (k != kNone) most = std::max(most, k + 1);
  // Labels of a small body may be far above its operators: they are numbered anew.
  if (most > 16 * (m.side(0).size() + m.side(1).size()) + 1024) {
    std::unordered_map<Index, Index> numbers;
    std::array<std::vector<Index>, 2> dense = keys;
    for (auto& of_side : dense)
      for (Index& k : of_side)
        if (k != kNone) k = numbers.try_emplace(k, static_cast<Index>(numbers.size())).first->second;
    return match_unique(m, dense, confidence, why);
  }
  // By key: the only operator, kNone for none, kSeveral for several.
  constexpr Index kSeveral = kNone - 1;
  std::array<std::vector<Index>, 2> only{std::vector<Index>(most, kNone), std::vector<Index>(most, kNone)};
  for (const std::size_t s : kSides)
    for (Index i = 0; i < m.side(s).size(); ++i)
      if (const Index k = keys[s][i]; k != kNone && !m.is_matched(s, i))
        only[s][k] = only[s][k] == kNone ? i : kSeveral;
  Seeds out;
  for (Index i = 0; i < m.side(0).size(); ++i) {
    const Index k = keys[0][i];
    if (k == kNone || only[0][k] != i || only[1][k] >= kSeveral) continue;
    if (m.add(i, only[1][k], confidence, why)) out.emplace_back(i, only[1][k]);
  }
  return out;
}

}  // namespace graphopt::mapping
