// Random problems: the validator is silent, the numbers of nodes do not matter, and few subgraphs are found.
// The long form is the program graphopt_partition_graphs.

#include <gtest/gtest.h>

#include "partition/partition.h"
#include "unit/partition_case.h"
#include "unit/partition_graphs.h"
#include "unit/rounds.h"

namespace graphopt::partition {
namespace {

TEST(PartitionProperty, RandomProblemsAreValidAndDoNotDependOnNumbers) {
  for (std::uint64_t seed = 1; seed <= std::uint64_t{rounds(600)}; ++seed) {
    const std::string wrong = check_random_problem(seed);
    ASSERT_TRUE(wrong.empty()) << wrong;
  }
}

TEST(PartitionProperty, SmallGraphsHaveTheFewestSubgraphs) {
  Tally tally;
  for (std::uint64_t seed = 1; seed <= std::uint64_t{rounds(400)}; ++seed) {
    compare_with_optimum(seed, tally);
    ASSERT_TRUE(tally.wrong.empty()) << tally.wrong;
  }
  EXPECT_EQ(tally.fewest, tally.graphs);
  EXPECT_GE(tally.grow, tally.graphs - 4);
  EXPECT_GE(tally.connected, tally.graphs - 4);
}

// Three devices, where a greedy sequence has two blocks of the host's, n2 and n3, that can be one.
TEST(PartitionProperty, BlocksOfAGreedySequenceAreMerged) {
  const Case c = read_case(nlohmann::json::parse(R"({
    "name": "greedy", "devices": [{"id": "npu", "priority": 0}, {"id": "gpu", "priority": 1},
                                  {"id": "cpu", "priority": 2}],
    "graph": {"inputs": ["x"], "initializers": {}, "outputs": ["v3", "v5", "v6"], "nodes": [
      {"name": "n0", "op": "A", "inputs": ["x"], "outputs": ["v0"], "devices": ["npu", "gpu", "cpu"]},
      {"name": "n2", "op": "A", "inputs": ["v0"], "outputs": ["v2"], "devices": ["cpu"]},
      {"name": "n3", "op": "A", "inputs": ["x"], "outputs": ["v3"], "devices": ["cpu"]},
      {"name": "n4", "op": "A", "inputs": ["x"], "outputs": ["v4"], "devices": ["gpu", "cpu"]},
      {"name": "n5", "op": "A", "inputs": ["v2", "v4"], "outputs": ["v5"], "devices": ["cpu"]},
      {"name": "n6", "op": "A", "inputs": ["v2"], "outputs": ["v6"], "devices": ["gpu", "cpu"]}]}})"));
  const Result<Partition> found = partition(c.problem, {});
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(std::pair(found->accelerator_count, found->size()), std::pair(Index{2}, std::size_t{4}));
}

}  // namespace
}  // namespace graphopt::partition
