// How much faster requests can be answered when devices work on several of them at once.
//
// Source: with times t_s of subgraphs that do not change, no schedule of R requests ends before the device
// with most to do has done it: head + R * load / workers + tail, where head and tail are the shortest ways
// before its first and after its last subgraph. For many requests the gain over one thread tends to the sum
// of all times over the largest load of a worker.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "schedule/problem.h"

namespace graphopt::schedule {

struct Throughput {
  std::vector<std::uint64_t> load_ns;  // by device: of one request
  std::uint64_t critical_path_ns = 0;  // no request is answered in less
  Index bottleneck = 0;  // the device with the largest load for each of its workers, the first of equals
  std::uint64_t limit_percent = 100;  // of the gain over one thread, rounded down
  std::uint64_t window = 1;           // requests in flight that are enough for it
};

// `workers`: by device, at least 1. Returns nothing where a time is not known, none is above 0, or their sum
// is 2^53 ns (100 days) or more. Linear.
std::optional<Throughput> throughput(const Problem& p, const Order& order,
                                     const std::vector<std::uint64_t>& workers);

// Returns a time before which no schedule of so many requests ends, in ns. The times are those of
// throughput(), which is not nothing.
double earliest_end_ns(const Problem& p, const Order& order, const std::vector<std::uint64_t>& workers,
                       std::uint64_t requests);

}  // namespace graphopt::schedule
