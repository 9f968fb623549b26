// Which nodes of one model become int32 for the devices of a run (lower/narrow.h).
//
// Problem: a set of nodes that a device takes in int32 may leave the model in more subgraphs than before: its
// Casts run on the host, or it lies between nodes that do.
// Method: the sets are written in a clone, and its partition is compared with that of the model: no more
// subgraphs, no more nodes on the host, and less of one. Where all sets together are worse, halves of them
// are tried, and halves of these, within a bound. Ends: a list is halved or decided, at most kMostPlans
// times.
#pragma once

#include <functional>
#include <unordered_set>

#include "driver/run.h"
#include "graphopt/error.h"
#include "graphopt/options.h"

namespace graphopt {

// Adds nodes that are to keep int64 to `kept`: those of sets that make the partition no better. Returns
// whether any set is left. The model stays as it is.
Result<bool> find_narrowed(const Options& options, Work& work, const std::function<bool()>& should_stop,
                           std::unordered_set<NodeId>& kept);

}  // namespace graphopt
