// From groups of units to the partition that the caller gets.
#pragma once

#include "partition/problem.h"
#include "partition/result.h"
#include "partition/unit_graph.h"

namespace graphopt::partition {

// Fills all but the moves, the cuts, need_bytes and `proven`. Precondition: the quotient over the labels has
// no cycle.
Partition finish(const Problem& problem, const UnitGraph& graph, const Labels& labels);

// Returns all nodes by depth, then rank: the canonical execution order.
std::vector<Index> execution_order(const Problem& problem, const UnitGraph& graph);

}  // namespace graphopt::partition
