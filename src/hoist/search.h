// The search over moves: candidates in canonical order, each tried, cleaned up, priced and kept or undone.
//
// Sweeps over the nodes go on until one keeps nothing. Ends: a move is kept only if the cost falls, a pair of
// naturals compared in order, so there are finitely many. The result is a fixpoint of the moves for this
// graph, not a normal form of all equivalent graphs.
#pragma once

#include <cstdint>

#include "rewrite/context.h"

namespace graphopt {

struct MoveKinds {
  bool merge = false;   // b2, b3
  bool common = false;  // b4
  bool rebase = false;  // b5
};

struct SearchResult {
  std::uint64_t kept = 0, refused = 0;
};

// All graphs of the model, bodies and functions included, each by itself.
SearchResult search_moves(PassContext& c, const MoveKinds& kinds);

}  // namespace graphopt
