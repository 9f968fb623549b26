// The schedule of a partitioned model (`schedule` of a manifest), made of its subgraphs by src/schedule.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "deploy/manifest.h"
#include "schedule/problem.h"

namespace graphopt::deploy {

// What the subgraphs do not say.
struct ScheduleFigures {
  std::function<Size(const std::string& value)> size_of;
  std::vector<std::optional<std::uint64_t>> budgets;  // by device, bytes
  std::vector<std::optional<std::uint64_t>> run_ns;   // by subgraph
};

// The subgraphs of a network as plain numbers, and the names of their values.
struct ScheduleProblem {
  schedule::Problem problem;
  std::vector<ScheduledValue> values;  // by value of the problem; counts and places are not set
};
// The subgraphs are those of a manifest that is right (partitioned_reader.h); the host is the last device of
// the manifest.
ScheduleProblem schedule_problem(const PartitionedNetwork& network, std::size_t devices,
                                 const ScheduleFigures& figures);

// Returns the schedule of the network's order, for `devices` devices. The subgraphs and the order are those
// of a manifest that is right (partitioned_reader.h).
Schedule make_schedule(const PartitionedNetwork& network, std::size_t devices,
                       const ScheduleFigures& figures);

// Returns the order in which the subgraphs need the least memory that was found (schedule/least_memory.h);
// the network's own `order` is not looked at.
std::vector<Index> least_memory_order(const PartitionedNetwork& network, std::size_t devices,
                                      const ScheduleFigures& figures);

}  // namespace graphopt::deploy
