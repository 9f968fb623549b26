#include "mapping/alignment.h"

#include <algorithm>
#include <tuple>

namespace graphopt::mapping {

Alignment::Alignment(const Matching& m, const Ends& ends, const Scores& scores, bool shapes)
    : m_(m), ends_(ends), scores_(scores), shapes_(shapes) {}

void Alignment::make_lines() {
  if (!at_[0].empty() || !at_[1].empty()) return;
  for (const std::size_t s : kSides) {
    lines_[s] = line(s);
    at_[s].assign(m_.side(s).size(), kNone);
    for (std::size_t i = 0; i < lines_[s].size(); ++i) at_[s][lines_[s][i]] = static_cast<Index>(i);
  }
}

// Depth first with a stack of its own: operators after what they read.
std::vector<Index> Alignment::line(std::size_t s) const {
  const Side& side = m_.side(s);
  struct Frame {
    Index op;
    std::vector<Index> producers;
    std::size_t next = 0;
  };
  std::vector<Index> out;
  std::vector<bool> seen(side.size());
  std::vector<Frame> stack;
  const auto enter = [&](Index op) {
    if (seen[op]) return;
    seen[op] = true;
    Frame frame{op, {}, 0};
    for (const Index v : side.inputs(op))
      if (v != kNone && side.is_computed(v)) frame.producers.push_back(side.producer(v).op);
    if (side.op(op).commutes)
      std::ranges::stable_sort(frame.producers, [&](Index x, Index y) {
        const Operator &a = side.op(x), &b = side.op(y);
        return std::tuple(b.depth, shapes_ ? a.shape : 0, a.family) <
               std::tuple(a.depth, shapes_ ? b.shape : 0, b.family);
      });
    stack.push_back(std::move(frame));
  };
  std::vector<std::pair<Index, Index>> outputs;  // by their number
  for (const Index v : side.graph_outputs())
    if (side.is_computed(v)) outputs.emplace_back(ends_.output[s][v], side.producer(v).op);
  std::ranges::sort(outputs);
  for (const auto& [number, op] : outputs) {
    enter(op);
    while (!stack.empty()) {
      Frame& top = stack.back();
      if (top.next < top.producers.size()) {
        enter(top.producers[top.next++]);
      } else {
        out.push_back(top.op);
        stack.pop_back();
      }
    }
  }
  return out;
}

bool Alignment::are_alike(Index a, Index b) const {
  const Operator &x = m_.side(0).op(a), &y = m_.side(1).op(b);
  return x.family == y.family && (!shapes_ || x.shape == y.shape);
}

// What a match of the two adds; at most 0: they do not match.
float Alignment::weight(Index a, Index b) const {
  if (!are_alike(a, b)) return -1;
  const Operator &x = m_.side(0).op(a), &y = m_.side(1).op(b);
  float out = 1;
  if (x.combines && (x.main == kNone) != (y.main == kNone)) out -= 0.6F;
  if (x.main != kNone && y.main != kNone) out += x.main == y.main ? 1.0F : -2.0F;
  if (out <= 0) return out;
  for (const Colours& c : scores_.colours())
    if (c[0][a] == c[1][b]) out += 0.5F;
  return out;
}

void Alignment::align_gap(std::size_t a_begin, std::size_t a_end, std::size_t b_begin, std::size_t b_end,
                          std::vector<Index>& places) const {
  const auto unmatched = [&](std::size_t s, std::size_t begin, std::size_t end) {
    std::vector<Index> out;
    for (std::size_t i = begin; i < end; ++i)
      if (!m_.is_matched(s, lines_[s][i])) out.push_back(lines_[s][i]);
    return out;
  };
  const std::vector<Index> of_a = unmatched(0, a_begin, a_end), of_b = unmatched(1, b_begin, b_end);
  if (of_a.empty() || of_b.empty() || of_a.size() > kMostCells / of_b.size()) return;
  enum Step : std::uint8_t { kMatch, kSkipA, kSkipB };
  const std::size_t width = of_b.size();
  std::vector<std::uint8_t> steps(of_a.size() * width);
  std::vector<float> before(width + 1, 0), now(width + 1, 0);
  for (std::size_t i = 0; i < of_a.size(); ++i) {
    for (std::size_t j = 0; j < width; ++j) {
      const float w = weight(of_a[i], of_b[j]);
      std::uint8_t step = before[j + 1] >= now[j] ? kSkipA : kSkipB;
      float best = std::max(before[j + 1], now[j]);
      if (w > 0 && before[j] + w >= best) {
        best = before[j] + w;
        step = kMatch;
      }
      now[j + 1] = best;
      steps[i * width + j] = step;
    }
    std::swap(before, now);
  }
  for (std::size_t i = of_a.size(), j = width; i > 0 && j > 0;) {
    const std::uint8_t step = steps[(i - 1) * width + j - 1];
    if (step == kMatch) places[of_a[i - 1]] = of_b[j - 1];
    if (step != kSkipB) --i;
    if (step != kSkipA) --j;
  }
}

std::vector<Index> Alignment::places() {
  make_lines();
  // The longest chain of pairs that rises on both lines: patience sorting.
  std::vector<Index> tails, before(lines_[0].size(), kNone);  // places on A's line
  const auto other = [&](Index at) { return at_[1][m_.mate(0, lines_[0][at])]; };
  for (Index i = 0; i < lines_[0].size(); ++i) {
    const Index mate = m_.mate(0, lines_[0][i]);
    if (mate == kNone || at_[1][mate] == kNone) continue;
    const auto place = std::ranges::lower_bound(tails, at_[1][mate], {}, other);
    if (place != tails.begin()) before[i] = *std::prev(place);
    if (place == tails.end()) tails.push_back(i);
    else *place = i;
  }
  std::vector<Index> chain;
  for (Index i = tails.empty() ? kNone : tails.back(); i != kNone; i = before[i]) chain.push_back(i);
  std::ranges::reverse(chain);
  std::vector<Index> out(m_.side(0).size(), kNone);
  std::size_t a = 0, b = 0;
  for (const Index i : chain) {
    align_gap(a, i, b, other(i), out);
    a = i + 1;
    b = other(i) + 1;
  }
  align_gap(a, lines_[0].size(), b, lines_[1].size(), out);
  return out;
}

std::vector<Alignment::Aligned> Alignment::proposals() {
  const double floor = shapes_ ? 2.6 : 1.6;
  constexpr double kLeastEvidence = -0.6;
  const std::vector<Index> found = places();
  std::vector<Aligned> out;
  for (const Index a : lines_[0]) {
    const Index b = found[a];
    if (b == kNone) continue;
    const Score score = scores_.of(a, b);
    if (score.total >= floor && score.evidence > kLeastEvidence) out.push_back({score.total, a, b});
  }
  return out;
}

}  // namespace graphopt::mapping
