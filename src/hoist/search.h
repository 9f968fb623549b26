// The search over moves: each candidate, in canonical order, is tried, canonicalized, priced, and kept or
// undone.
//
// Sweeps over the nodes repeat until one keeps nothing. The search ends, since a move is kept only if the
// cost falls, and the cost is a pair of natural numbers compared in order (cost.h says what `clean-up` does,
// which may keep the cost). The result is a fixpoint of the moves for this graph, not a normal form of all
// equivalent graphs. docs/hoisting.md describes the moves; search_limits.h bounds the work.
#pragma once

#include <cstdint>

#include "rewrite/context.h"

namespace graphopt {

struct MoveKinds {
  bool merge = false;   // equal elementwise nodes on the branches of a Concat or a Split
  bool common = false;  // deformations or Transposes common to branches, and Slices or Gathers of an axis
  // deformations and Transposes past elementwise nodes and operators that work along axes
  bool rebase = false;
};

struct SearchResult {
  std::uint64_t kept = 0, refused = 0;  // candidates; refused ones of the last sweep of each graph
};

// Searches every graph of the model, bodies and functions included, each by itself. Writes what it kept to
// the model, and infers types and shapes again if it kept anything. With a memory (search_memory.h) it
// records kept and refused candidates, costs and limits there.
SearchResult search_moves(PassContext& c, const MoveKinds& kinds);

}  // namespace graphopt
