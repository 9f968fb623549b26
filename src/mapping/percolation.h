// Percolation: pairs propose the pairs next to them.
//
// Problem: cones that differ anywhere have other value numbers, and repeated blocks have equal colours; what
// is left is told apart by its neighbours alone. Method: a pair proposes what it reads and what reads it at
// equal slots, of equal families. The best proposal is taken first; it becomes a pair if it is the best for
// both of its operators by a margin, and waits otherwise. When only such are left, the canonical lines are
// aligned once (alignment.h), and who stands at one place of them wins; such pairs are said to be ambiguous.
// Scores grow with the pairs, and are computed again when a proposal is looked at.
// Why it ends: each proposal is made once for each pair that makes it, an operator has at most kMostRivals of
// them, and one that is put back has a lower score each time.
// Source: Yartseva and Grossglauser, "On the performance of percolation graph matching", 2013.
#pragma once

#include "mapping/alignment.h"
#include "mapping/matching.h"
#include "mapping/scores.h"

namespace graphopt::mapping {

inline constexpr std::size_t kMostRivals = 24;

// `seeds`: pairs that are in the matching. `proposals`: operators that may be pairs, beside those next to
// seeds.
void percolate(Matching& m, const View& view, Scores& scores, Alignment& alignment, const Seeds& seeds,
               const Seeds& proposals);

}  // namespace graphopt::mapping
