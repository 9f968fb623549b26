// What a report says of a partition, and what a user is warned of.
#pragma once

#include <string>
#include <vector>

#include "deploy/partitioned.h"
#include "graphopt/stages/partition.h"
#include "infer/infer.h"
#include "ir/model.h"
#include "placement/assignment.h"

namespace graphopt {

// Fills devices, subgraphs, what was refused and moved, and the figures of the boundary. Interns expressions
// in the model's pool; nothing else changes.
void describe_partition(Model& m, const Inference& inference, const Partitioned& p,
                        PartitionStage::Report& report);

// Returns warnings: limits of memory that were not checked in full, and operators that profiles do not see
// inside of functions.
std::vector<std::string> partition_warnings(const Model& m, const Partitioned& p);

// Returns why the partition did not leave a node on this device, which supports it.
std::string why_moved(const Partitioned& p, NodeId n, std::size_t device);

// Counts the nodes that run where the model says, and returns warnings: which of them a profile refuses, and
// which nodes cannot run there.
std::vector<std::string> describe_given(const Model& m, const Partitioned& p, const Assignments& assigned,
                                        PartitionStage::Report& report);

}  // namespace graphopt
