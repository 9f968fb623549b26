#include "mapping/ends.h"

#include <algorithm>
#include <span>
#include <unordered_map>

namespace graphopt::mapping {
namespace {

struct Inferred {
  const Side& side;
  const Inference& inference;

  // Values of one type and dims have one key. Open dims are alike, whatever their names.
  Hash128 likeness(Index v) const {
    const ValueId x = side.value(v);
    Key key(KeyKind::Type);
    key.add(static_cast<std::uint64_t>(inference.dtype(x))).add(inference.has_rank(x));
    if (inference.has_rank(x))
      for (const DimId d : inference.dims(x))
        key.add(static_cast<std::uint64_t>(side.model().dims.value(d).value_or(-1)));
    return key.hash();
  }
  Hash128 name(Index v) const { return Key(KeyKind::Name).add(side.name(v)).hash(); }
};

class Pairing {
 public:
  Pairing(const Inferred& a, std::span<const Index> of_a, const Inferred& b, std::span<const Index> of_b,
          std::array<std::vector<Index>, 2>& numbers, std::vector<std::pair<Index, Index>>& pairs)
      : a_(a),
        b_(b),
        numbers_(numbers),
        pairs_(pairs),
        left_a_(of_a.begin(), of_a.end()),
        left_b_(of_b.begin(), of_b.end()) {
    numbers_[0].assign(a.side.value_count(), kNone);
    numbers_[1].assign(b.side.value_count(), kNone);
  }

  // Pairs each value of A that is left with the first of B that has its key.
  void by(Hash128 (Inferred::*key)(Index) const) {
    std::unordered_map<Hash128, std::vector<Index>, LowHash> of_b;  // the first ones last
    for (std::size_t i = left_b_.size(); i-- > 0;) of_b[(b_.*key)(left_b_[i])].push_back(left_b_[i]);
    for (const Index v : left_a_) {
      const auto found = of_b.find((a_.*key)(v));
      if (found == of_b.end()) continue;
      std::vector<Index>& alike = found->second;
      while (!alike.empty() && is_taken(1, alike.back())) alike.pop_back();
      if (!alike.empty()) pair(v, alike.back());
    }
    drop_pairs();
  }
  void by_position() {
    if (left_a_.size() != left_b_.size()) return;
    for (std::size_t i = 0; i < left_a_.size(); ++i) pair(left_a_[i], left_b_[i]);
    drop_pairs();
  }
  // Values that are pairs elsewhere.
  void add(const std::vector<std::pair<Index, Index>>& pairs) {
    for (const auto& [v, w] : pairs) pair(v, w);
  }
  void number_rest() {
    for (const Index v : left_a_)
      if (!is_taken(0, v)) numbers_[0][v] = next_++;
    for (const Index w : left_b_)
      if (!is_taken(1, w)) numbers_[1][w] = next_++;
  }

 private:
  bool is_taken(std::size_t s, Index v) const { return numbers_[s][v] != kNone; }
  // Does nothing for a value that has a counterpart: an output may be there twice.
  void pair(Index v, Index w) {
    if (is_taken(0, v) || is_taken(1, w)) return;
    numbers_[0][v] = numbers_[1][w] = next_++;
    pairs_.emplace_back(v, w);
  }
  void drop_pairs() {
    std::erase_if(left_a_, [&](Index v) { return is_taken(0, v); });
    std::erase_if(left_b_, [&](Index w) { return is_taken(1, w); });
  }

  const Inferred &a_, &b_;
  std::array<std::vector<Index>, 2>& numbers_;
  std::vector<std::pair<Index, Index>>& pairs_;
  std::vector<Index> left_a_, left_b_;
  Index next_ = 0;
};

}  // namespace

Ends find_ends(const Side& a, const Inference& of_a, const Side& b, const Inference& of_b) {
  Ends out;
  const Inferred first{a, of_a}, second{b, of_b};
  const auto pair_up = [&](std::span<const Index> x, std::span<const Index> y,
                           std::array<std::vector<Index>, 2>& numbers,
                           std::vector<std::pair<Index, Index>>& pairs) {
    Pairing pairing(first, x, second, y, numbers, pairs);
    pairing.by(&Inferred::name);
    pairing.by(&Inferred::likeness);
    pairing.by_position();
    pairing.number_rest();
  };
  pair_up(a.graph_inputs(), b.graph_inputs(), out.input, out.inputs);
  pair_up(a.graph_outputs(), b.graph_outputs(), out.output, out.outputs);
  return out;
}

Ends find_body_ends(const Side& a, const Inference& of_a, const Side& b, const Inference& of_b,
                    const std::vector<ValueId>& around) {
  std::unordered_map<ValueId, Index> outer_of_b;
  for (const Index w : b.outer()) outer_of_b.emplace(b.value(w), w);
  std::vector<std::pair<Index, Index>> captured;
  for (const Index v : a.outer())
    if (const ValueId mate = around[a.value(v).index()])
      if (const auto w = outer_of_b.find(mate); w != outer_of_b.end()) captured.emplace_back(v, w->second);
  Ends out;
  const Inferred first{a, of_a}, second{b, of_b};
  const auto pair_up = [&](std::span<const Index> x, std::span<const Index> y,
                           std::array<std::vector<Index>, 2>& numbers,
                           std::vector<std::pair<Index, Index>>& pairs, bool are_inputs) {
    Pairing pairing(first, x, second, y, numbers, pairs);
    pairing.by_position();
    pairing.by(&Inferred::likeness);
    if (are_inputs) pairing.add(captured);
    pairing.number_rest();
  };
  pair_up(a.graph_inputs(), b.graph_inputs(), out.input, out.inputs, true);
  pair_up(a.graph_outputs(), b.graph_outputs(), out.output, out.outputs, false);
  return out;
}

}  // namespace graphopt::mapping
