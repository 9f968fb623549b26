// What is known of a mapping while it is made: pairs of operators, one to one, and why they are pairs.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <span>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "graphopt/words.h"
#include "mapping/side.h"

namespace graphopt::mapping {

enum class Why : std::uint8_t {
  Given,       // the user says so
  Values,      // equal results in a run
  Cones,       // equal upstream and downstream cones, which no other operator has
  Constants,   // equal contents of constants
  Upstream,    // an equal upstream cone
  Downstream,  // an equal downstream cone
  Colour,      // an equal neighbourhood of a few steps
  LateColour,  // the same, once others were pairs
  Neighbours,  // neighbours of pairs, with the best score
  Tied,        // the same, but others have scores as good; the canonical order decides
  Ambiguous,   // nothing but the order of operands that has none tells it from others (twins.h)
  Aligned,     // at one place of the canonical lines
  Block,       // the best assignment within a block of equal operators
  Literal,     // at one position of a homogeneous partition (literal.h)
};

struct Pair {
  Index a = 0, b = 0;
  double confidence = 0;  // by rule, until calibrate() makes it the share of such pairs that is right
  Why why = Why::Given;
  double raw = 0;  // what it was by rule
};

// The operators of B that are most like an operator of A without a counterpart, best first. Scores are from 0
// to 1.
struct Advice {
  Index a = 0;
  std::vector<std::pair<Index, double>> top;
};

class Matching {
 public:
  // `a`, `b` outlive it.
  Matching(const Side& a, const Side& b) : sides_{&a, &b} {
    for (const std::size_t s : kSides) mates_[s].assign(sides_[s]->size(), kNone);
    pair_of_.assign(a.size(), kNone);
  }

  const Side& side(std::size_t s) const { return *sides_[s]; }
  // The counterpart of an operator of side s; kNone: it has none.
  Index mate(std::size_t s, Index op) const { return mates_[s][op]; }
  bool is_matched(std::size_t s, Index op) const { return mates_[s][op] != kNone; }
  // The pair of an operator under one number for both sides: that of its operator of A. Precondition: it is
  // matched.
  Index pair(std::size_t s, Index op) const { return s == 0 ? op : mates_[1][op]; }

  // From now on add() refuses the pair.
  void exclude(Index a, Index b) { excluded_.emplace(a, b); }
  bool is_excluded(Index a, Index b) const { return !excluded_.empty() && excluded_.contains({a, b}); }
  // Returns false, and does nothing, if one of them has a counterpart, or the pair is excluded.
  bool add(Index a, Index b, double confidence, Why why);
  // Gives each of two operators of A, which have counterparts, the other one's. Returns false, and does
  // nothing, if one of the pairs is a fact, or one of the new ones is excluded.
  bool exchange(Index x, Index y);
  // Operators of pairs that are known for what they are, and so tell their neighbours apart.
  void set_known(Index a, Index b) {
    known_[0].insert(a);
    known_[1].insert(b);
  }
  bool is_known(std::size_t s, Index op) const { return !known_[s].empty() && known_[s].contains(op); }
  std::span<const Pair> pairs() const { return pairs_; }  // in the order in which they were found

 private:
  std::array<const Side*, 2> sides_;
  std::array<std::vector<Index>, 2> mates_;
  std::vector<Pair> pairs_;
  std::vector<Index> pair_of_;  // by operator of A: of pairs_
  std::set<std::pair<Index, Index>> excluded_;
  std::array<std::unordered_set<Index>, 2> known_;
};

// The results of two operators at equal slots, where both are there: of A and of B.
std::vector<std::pair<Index, Index>> results_by_slot(const Side& a, Index of_a, const Side& b, Index of_b);

// Pairs that are seeds of others: operators of A and B.
using Seeds = std::vector<std::pair<Index, Index>>;

// Adds the pairs of unmatched operators with keys that one operator of each side has. `keys`: by side and
// operator; kNone: it has no key. Returns them.
Seeds match_unique(Matching& m, const std::array<std::vector<Index>, 2>& keys, double confidence, Why why);

}  // namespace graphopt::mapping

namespace graphopt {

template <> struct Words<mapping::Why> {
  static constexpr std::string_view plural = "reasons";
  static constexpr std::array<std::string_view, 14> all = {"given",
                                                           "equal values",
                                                           "equal upstream and downstream cones",
                                                           "equal constants",
                                                           "equal upstream cone",
                                                           "equal downstream cone",
                                                           "unique neighbourhood",
                                                           "unique neighbourhood of pairs",
                                                           "neighbours and labels",
                                                           "tie by canonical order",
                                                           "ambiguous",
                                                           "aligned in canonical order",
                                                           "assignment within equal operators",
                                                           "position in homogeneous partition"};
};

}  // namespace graphopt
