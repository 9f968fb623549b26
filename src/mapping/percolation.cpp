#include "mapping/percolation.h"

#include <algorithm>
#include <cmath>
#include <queue>
#include <tuple>
#include <unordered_map>

namespace graphopt::mapping {
namespace {

constexpr double kMargin = 0.4;           // by which a pair has to be better than its rivals
constexpr double kFloor = 3.0;            // below it nothing is proposed
constexpr double kSame = 1e-9;            // scores that are equal up to rounding
constexpr std::size_t kMostCrossed = 16;  // operands without order that are proposed for each other
constexpr std::size_t kMostAlike = 16;    // readers of one family next to a pair that are proposed

class Percolation {
 public:
  Percolation(Matching& m, const View& view, Scores& scores, Alignment& alignment)
      : m_(m), view_(view), scores_(scores), alignment_(alignment) {
    for (const std::size_t s : kSides) rivals_[s].resize(m.side(s).size());
  }

  void run(const Seeds& seeds, const Seeds& proposals) {
    for (const auto& [a, b] : seeds) expand(a, b);
    propose_all(proposals);
    while (!open_.empty() || !waiting_.empty()) {
      if (open_.empty()) take_waiting();
      else take_open();
    }
  }

 private:
  struct Proposal {
    double score = 0, distance = 0;
    Index a = 0, b = 0;
    // The best one is the greatest.
    bool operator<(const Proposal& o) const {
      return std::tie(score, o.distance, o.a, o.b) < std::tie(o.score, distance, a, b);
    }
  };

  bool is_free(Index a, Index b) const { return !m_.is_matched(0, a) && !m_.is_matched(1, b); }

  void propose(Index a, Index b) {
    if (!is_free(a, b)) return;
    const double score = scores_.of(a, b).total;
    std::vector<Index>& of_a = rivals_[0][a];
    const bool is_known = std::ranges::find(of_a, b) != of_a.end();
    if (score < kFloor || (of_a.size() >= kMostRivals && !is_known)) return;
    if (!is_known) {
      of_a.push_back(b);
      rivals_[1][b].push_back(a);
    }
    open_.push({score, 0, a, b});
  }

  void propose_all(Seeds proposals) {
    std::ranges::sort(proposals);
    const auto rest = std::ranges::unique(proposals);
    proposals.erase(rest.begin(), rest.end());
    for (const auto& [a, b] : proposals) propose(a, b);
  }

  void expand(Index a, Index b) {
    Seeds found;
    const Side &x = m_.side(0), &y = m_.side(1);
    for (std::size_t k = 0; k < std::min(x.outputs(a).size(), y.outputs(b).size()); ++k)
      if (x.outputs(a)[k] != kNone && y.outputs(b)[k] != kNone)
        add_readers(x.outputs(a)[k], y.outputs(b)[k], found);
    const auto in_a = present(x.flat_inputs(a)), in_b = present(y.flat_inputs(b));
    const bool crosses = x.op(a).commutes && std::max(in_a.size(), in_b.size()) <= kMostCrossed;
    for (std::size_t p = 0; p < in_a.size(); ++p) {
      if (!crosses) {
        if (p < in_b.size()) add_producers(in_a[p], in_b[p], found);
        continue;
      }
      for (const Index w : in_b) add_producers(in_a[p], w, found);
    }
    propose_all(std::move(found));
  }

  static std::vector<Index> present(std::span<const Index> values) {
    std::vector<Index> out(values.begin(), values.end());
    std::erase(out, kNone);
    return out;
  }

  void add_readers(Index value_a, Index value_b, Seeds& found) const {
    const Side &x = m_.side(0), &y = m_.side(1);
    std::unordered_map<Index, std::vector<Use>> by_family;
    for (const Use& use : view_.uses(1, value_b))
      if (!m_.is_matched(1, use.op)) by_family[y.op(use.op).family].push_back(use);
    for (const Use& use : view_.uses(0, value_a)) {
      if (m_.is_matched(0, use.op)) continue;
      const auto alike = by_family.find(x.op(use.op).family);
      if (alike == by_family.end()) continue;
      for (std::size_t i = 0; i < std::min(kMostAlike, alike->second.size()); ++i)
        if (alike->second[i].slot == use.slot || x.op(use.op).commutes)
          found.emplace_back(use.op, alike->second[i].op);
    }
  }

  void add_producers(Index value_a, Index value_b, Seeds& found) const {
    const auto of_b = view_.producers(1, value_b);
    for (const Index i : view_.producers(0, value_a))
      for (const Index j : of_b)
        if (m_.side(0).op(i).family == m_.side(1).op(j).family) found.emplace_back(i, j);
  }

  // The best score of a rival of either operator.
  double best_rival(Index a, Index b) const {
    double out = kMisfit;
    for (const Index j : rivals_[0][a])
      if (j != b && !m_.is_matched(1, j)) out = std::max(out, scores_.of(a, j).total);
    for (const Index i : rivals_[1][b])
      if (i != a && !m_.is_matched(0, i)) out = std::max(out, scores_.of(i, b).total);
    return out;
  }

  std::size_t rivals_from(Index a, Index b, double score) const {
    std::size_t out = 0;
    for (const Index j : rivals_[0][a])
      if (j != b && !m_.is_matched(1, j) && scores_.of(a, j).total >= score) ++out;
    for (const Index i : rivals_[1][b])
      if (i != a && !m_.is_matched(0, i) && scores_.of(i, b).total >= score) ++out;
    return out;
  }

  void take_open() {
    const Proposal top = open_.top();
    open_.pop();
    if (!is_free(top.a, top.b)) return;
    const Score now = scores_.of(top.a, top.b);
    if (now.total < top.score - kSame) {
      if (now.total >= kFloor) open_.push({now.total, 0, top.a, top.b});
      return;
    }
    const double rival = best_rival(top.a, top.b);
    if (now.total - rival < kMargin) {
      waiting_.push({now.total, distance(top.a, top.b), top.a, top.b});
      return;
    }
    const double lead = std::min(now.total - rival, 4.0) + std::min(now.evidence, 6.0) / 2 - 1;
    if (m_.add(top.a, top.b, 1 / (1 + std::exp(-lead)), Why::Neighbours)) expand(top.a, top.b);
  }

  void take_waiting() {
    if (!scores_.has_hint() && !scores_.colours().empty()) {
      scores_.set_hint(alignment_.places());
      std::priority_queue<Proposal> again;
      for (; !waiting_.empty(); waiting_.pop()) {
        const Proposal& p = waiting_.top();
        if (is_free(p.a, p.b)) again.push({scores_.of(p.a, p.b).total, p.distance, p.a, p.b});
      }
      waiting_ = std::move(again);
      return;
    }
    const Proposal top = waiting_.top();
    waiting_.pop();
    if (!is_free(top.a, top.b)) return;
    const double now = scores_.of(top.a, top.b).total;
    if (now < top.score - kSame) {
      if (now >= kFloor) waiting_.push({now, top.distance, top.a, top.b});
      return;
    }
    const std::size_t ties = 1 + rivals_from(top.a, top.b, now - kMargin);
    const double confidence = ties == 1 ? 0.6 : 1.0 / static_cast<double>(ties);
    if (m_.add(top.a, top.b, confidence, Why::Tied)) expand(top.a, top.b);
  }

  double distance(Index a, Index b) const {
    return std::abs(m_.side(0).op(a).place - m_.side(1).op(b).place);
  }

  Matching& m_;
  const View& view_;
  Scores& scores_;
  Alignment& alignment_;
  std::priority_queue<Proposal> open_, waiting_;
  std::array<std::vector<std::vector<Index>>, 2> rivals_;  // by side and operator
};

}  // namespace

void percolate(Matching& m, const View& view, Scores& scores, Alignment& alignment, const Seeds& seeds,
               const Seeds& proposals) {
  Percolation(m, view, scores, alignment).run(seeds, proposals);
}

}  // namespace graphopt::mapping
