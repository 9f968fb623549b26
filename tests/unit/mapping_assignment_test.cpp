// The best assignment, against all of them.

#include "mapping/assignment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace graphopt::mapping {
namespace {

using Gains = std::vector<std::vector<double>>;

double sum_of(const Gains& gains, const std::vector<std::size_t>& columns) {
  double out = 0;
  for (std::size_t r = 0; r < gains.size(); ++r) out += gains[r][columns[r]];
  return out;
}

double best_sum(const Gains& gains) {
  std::vector<std::size_t> columns(gains[0].size());
  std::iota(columns.begin(), columns.end(), 0);
  double best = sum_of(gains, columns);
  while (std::ranges::next_permutation(columns).found) best = std::max(best, sum_of(gains, columns));
  return best;
}

TEST(MappingAssignment, HasTheGreatestSum) {
  std::mt19937 rng(7);
  for (int i = 0; i < 400; ++i) {
    const std::size_t rows = 1 + rng() % 5, columns = rows + rng() % 3;
    Gains gains(rows, std::vector<double>(columns));
    for (auto& row : gains)
      for (double& gain : row) gain = static_cast<double>(rng() % 21) - 10;
    const auto found = best_assignment(gains);
    ASSERT_EQ(found.size(), rows);
    std::vector<std::size_t> distinct = found;
    std::ranges::sort(distinct);
    EXPECT_TRUE(std::ranges::adjacent_find(distinct) == distinct.end());
    EXPECT_EQ(sum_of(gains, found), best_sum(gains));
  }
}

TEST(MappingAssignment, OfNothingIsNothing) { EXPECT_TRUE(best_assignment({}).empty()); }

TEST(MappingAssignment, TakesTheFirstOfEqualSums) {
  EXPECT_EQ(best_assignment({{1, 1, 1}, {1, 1, 1}}), (std::vector<std::size_t>{0, 1}));
}

}  // namespace
}  // namespace graphopt::mapping
