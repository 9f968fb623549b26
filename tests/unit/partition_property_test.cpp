// Random problems: the validator is silent, the numbers of nodes do not matter, and few subgraphs are found.
// The long form is the program graphopt_partition_graphs.

#include <gtest/gtest.h>

#include "partition/partition.h"
#include "unit/partition_graphs.h"

namespace graphopt::partition {
namespace {

TEST(PartitionProperty, RandomProblemsAreValidAndDoNotDependOnNumbers) {
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    const std::string wrong = check_random_problem(seed);
    ASSERT_TRUE(wrong.empty()) << wrong;
  }
}

TEST(PartitionProperty, SmallGraphsHaveTheFewestSubgraphs) {
  Tally tally;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    compare_with_optimum(seed, tally);
    ASSERT_TRUE(tally.wrong.empty()) << tally.wrong;
  }
  EXPECT_EQ(tally.fewest, tally.graphs);
  EXPECT_GE(tally.grow, tally.graphs - 4);
  EXPECT_GE(tally.connected, tally.graphs - 4);
}

}  // namespace
}  // namespace graphopt::partition
