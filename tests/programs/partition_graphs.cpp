// The long form of tests/unit/partition_property_test.cpp.
//
//   graphopt_partition_graphs [PROBLEMS [GRAPHS [SEED]]]
//
// Partitions 200,000 random problems of at most 32 nodes, validates each and repeats it with other numbers of
// the nodes; then compares the subgraphs of 20,000 graphs of 4 to 9 nodes with the optimum. Prints the first
// problem that is wrong and ends with status 1.
#include <cstdio>
#include <cstdlib>

#include "unit/partition_graphs.h"

int main(int argc, char** argv) {
  using namespace graphopt::partition;
  const auto number = [&](int at, std::uint64_t otherwise) {
    return argc > at ? std::strtoull(argv[at], nullptr, 10) : otherwise;
  };
  const std::uint64_t problems = number(1, 200'000), graphs = number(2, 20'000), seed = number(3, 1'000'000);
  for (std::uint64_t i = 0; i < problems; ++i)
    if (const std::string wrong = check_random_problem(seed + i); !wrong.empty()) {
      std::puts(wrong.c_str());
      return 1;
    }
  std::printf("%llu problems: all valid, none depends on the numbers of its nodes\n",
              static_cast<unsigned long long>(problems));
  Tally tally;
  for (std::uint64_t i = 0; i < graphs; ++i) {
    compare_with_optimum(seed + i, tally);
    if (!tally.wrong.empty()) {
      std::puts(tally.wrong.c_str());
      return 1;
    }
  }
  std::printf(
      "%zu graphs at the optimum: grow %zu (at worst %u and %zu more), grow connected %zu, fewest %zu, "
      "fewest connected %zu; depth has fewer subgraphs than grow on %zu\n",
      tally.graphs, tally.grow, tally.worst_grow.first, tally.worst_grow.second, tally.connected,
      tally.fewest, tally.fewest_connected, tally.depth_fewer);
  return 0;
}
