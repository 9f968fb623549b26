// Merging groups of one device until nothing merges any more.
//
// Method: groups are visited in their order, or backwards; each is merged with the nearest group of its
// device that shares an edge with it, then, where the device takes unconnected subgraphs, with unrelated ones
// near in the order. Passes are repeated until one changes nothing. Ends: each pass but the last lowers the
// number of groups; a spent budget ends it earlier.
#pragma once

#include <cstdint>
#include <vector>

#include "partition/group_order.h"
#include "partition/unit_graph.h"

namespace graphopt::partition {

struct MergeOptions {
  bool unrelated = false;           // merge unrelated groups of devices that take unconnected subgraphs, too
  bool backward = false;            // visit groups in the reverse of their order
  bool accelerators_first = false;  // a merge on the host only adds constraints
};

// Returns merged groups. Host groups are merged with unrelated ones in any case. Labels are an order.
Labels merge_groups(const UnitGraph& graph, const Labels& start, MergeOptions options, Budget& budget);

struct SweepOptions {
  bool backward = false;
  bool largest = false;  // the largest neighbour first, else the nearest
};

// Returns groups that grew unit by unit: accelerators' units in the order (backwards), each merged with the
// groups of the neighbours that were passed already; then to the fixpoint. `order`: a topological order, else
// the one that takes the least unit first.
Labels merge_units(const UnitGraph& graph, SweepOptions options, const std::vector<Index>* order,
                   Budget& budget);

// Returns a topological order that depends on the seed and on the numbers of units alone.
std::vector<Index> drawn_order(const UnitGraph& graph, std::uint64_t seed);

}  // namespace graphopt::partition
