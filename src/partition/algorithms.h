// The algorithms that cut a graph of units into groups, for the devices that the units have now.
//
// All results are sound: the quotient over the groups has no cycle, and groups on devices that take connected
// subgraphs alone are connected.
#pragma once

#include "partition/unit_graph.h"

namespace graphopt::partition {

struct Found {
  Labels labels;
  bool proven = false;  // none has fewer groups of accelerators, or as many and fewer in all
};

// Grow: candidates from several starts; the best by (accelerator groups, groups, border bytes, order of
// starts) is taken. In graphs of more than kSmall units, only starts whose cost is nearly linear.
Found grow(const UnitGraph& graph);

// Fewest: proven where no device asks for connected subgraphs and at most two are in use, or a search over
// sets of finished units ends within its budget; otherwise a beam search. Never worse than grow.
Found fewest(const UnitGraph& graph);

// Depth: a unit joins a neighbour of its device if their depths differ by one or one of them has no other
// neighbour on that side, and if no cycle arises. Consecutive units of the host share a group.
Found depth(const UnitGraph& graph);

inline constexpr std::size_t kSmall = 2048;

}  // namespace graphopt::partition
