// Where the nodes are that --explain all:NODE names, with devices.
#pragma once

#include <vector>

#include "driver/run.h"
#include "graphopt/stages/partition.h"

namespace graphopt {

// Returns for each NODE the nodes of the main graph that have the name, or the result of that name: on which
// device each is, and why on none before it; a node inside of a body counts as the one that holds the body.
// Where there is none any more: what the stage lower wrote in its place, or which nodes now make its results.
// Not for names that the model never had. `work` is the model that run.partitioned cut.
std::vector<PartitionStage::Explained> explain_nodes(const Run& run, Work& work);

}  // namespace graphopt
