// Groups: what several operators of one graph are in the other.
//
// Problem: a fused, a decomposed or a rewritten computation has no operator that is its counterpart. Method:
// values correspond, in this order: the inputs and outputs of the graphs; results, slot by slot, of pairs
// that did not change; what pairs read at equal slots, or, where slots say nothing, what comes from one pair,
// the values that most pairs agree on first; results of the other pairs. A value corresponds to one at most.
// A group is what makes such a value on either side: its upstream cones, cut at values that correspond. What
// stands beside an unchanged pair on one side alone is no part of its group.
//
//   Gemm (x, w, c)  <->  m = MatMul (x, w), Add (m, c)    =>    {Gemm} <-> {MatMul, Add}, decomposed
#pragma once

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "graphopt/map_enums.h"
#include "graphopt/words.h"
#include "mapping/ends.h"
#include "mapping/matching.h"
#include "mapping/view.h"

namespace graphopt::mapping {

// Why the values that end a group correspond.
enum class Tie : std::uint8_t { None, Ends, Values, Unchanged, Operands, Results };

struct Group {
  std::vector<Index> a, b;  // operators, ascending
  MapGroupKind kind = MapGroupKind::Rewritten;
  // The values that correspond and end it, of A and of B; kNone: it is in one graph alone.
  Index value_a = kNone, value_b = kNone;
  Tie tie = Tie::None;
};

struct Groups {
  // In the order of the operators that make their values; those in one graph alone come last.
  std::vector<Group> all;
  std::vector<Index> mates;  // by value of A: the value of B that corresponds; kNone: none
};

// What is known of values before: of A and of B.
struct KnownValues {
  std::vector<std::pair<Index, Index>> equal;
  std::set<std::pair<Index, Index>> unequal;
};

Groups find_groups(const Matching& m, const View& view, const Ends& ends, const KnownValues& known);

// Returns whether a pair has one operator, equal attributes and constants, and as many computed operands.
bool is_unchanged(const Matching& m, Index a, Index b);

}  // namespace graphopt::mapping

namespace graphopt {

template <> struct Words<mapping::Tie> {
  static constexpr std::string_view plural = "reasons of groups";
  static constexpr std::array<std::string_view, 6> all = {
      "no counterpart",    "inputs and outputs of the graphs",
      "equal values",      "results of an unchanged pair",
      "operands of pairs", "results of a pair"};
};

}  // namespace graphopt
