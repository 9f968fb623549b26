// Partitions a graph over devices.
#pragma once

#include "graphopt/error.h"
#include "partition/problem.h"
#include "partition/result.h"

namespace graphopt::partition {

// Returns the partition; an error if the problem is ill-formed. Every node goes to the first device that
// takes it and all of its atomic unit, except what Partition::moves records.
Result<Partition> partition(const Problem& problem, const Options& options);

// Returns what a partition breaks of the promises of result.h and of the problem's conditions. It shares no
// code with partition(). Place::node is "#i" for node i, Place::slot "subgraph i".
Status validate(const Problem& problem, const Options& options, const Partition& partition);

}  // namespace graphopt::partition
