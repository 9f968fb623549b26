// An order of subgraphs that needs little memory.
//
// Problem: of the orders in which producers come first, some hold large values longer than others. To find
// the one with the lowest peak is NP-hard in general (Sethi 1975, for registers); trees (Liu 1987) and
// series-parallel graphs (Kayaaslan et al. 2018) have polynomial algorithms.
// Method: which values are on a device depends on the set of subgraphs that have run, and not on their order.
// Sets are built up by one subgraph at a time, and of equal sets the one with the lower peak is kept. Of each
// size the best most_sets are kept (a beam): those with the lowest peak, then with the fewest bytes now, then
// the first that was made. With one device and all sets, the result is exact. The file's order is taken where
// nothing better is found. Ends: each step adds a subgraph.
//
//   f -> small (50) -> j, f -> big (90) -> big2 (6) -> j    =>    f, big, big2, small, j: 106 bytes and not
//   150
#pragma once

#include <cstddef>

#include "schedule/problem.h"

namespace graphopt::schedule {

struct LeastMemoryOptions {
  std::size_t most_sets = 256;         // of one size that are kept
  std::size_t most_steps = 4'000'000;  // readers that are looked at; above it one set of each size is kept,
                                       // and above twice as many the file's order is taken
};

// Returns the order with the lowest sum of the accelerators' peaks that was found, of equal ones that with
// the lowest peak of the host, of equal ones the file's; file_order(p) where the size of a value is not
// known. A device's peak is that of account() without a budget.
Order least_memory_order(const Problem& p, const LeastMemoryOptions& options = {});

}  // namespace graphopt::schedule
