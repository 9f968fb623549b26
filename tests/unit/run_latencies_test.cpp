// Percentiles of latencies in bounded memory.

#include <gtest/gtest.h>

#include "commands/run_figures.h"

namespace graphopt {
namespace {

TEST(RunLatencies, AreThoseOfAllWhereThereAreFew) {
  Latencies few;
  EXPECT_FALSE(few.figures().has_value());
  few.add(3);
  EXPECT_EQ(few.figures()->p50, 3);
  EXPECT_EQ(few.figures()->p99, 3);
  for (int i = 100; i > 0; --i) few.add(i);  // 1 to 100, and 3 again
  EXPECT_EQ(few.figures()->p50, 50);
  EXPECT_EQ(few.figures()->p90, 90);
  EXPECT_EQ(few.figures()->p99, 99);
  EXPECT_EQ(few.figures()->longest, 100);
}

// A sample of n has percentiles that are off by a few times sqrt(p (1 - p) / n): below 0.01 here.
TEST(RunLatencies, AreThoseOfASampleWhereThereAreMany) {
  constexpr int kCount = 20 * Latencies::kMostLatencies;
  Latencies many;
  for (int i = 0; i < kCount; ++i)
    many.add(static_cast<double>(i) / kCount);  // the last ones are the longest
  const auto found = many.figures();
  EXPECT_NEAR(found->p50, 0.5, 0.01);
  EXPECT_NEAR(found->p90, 0.9, 0.01);
  EXPECT_NEAR(found->p99, 0.99, 0.003);
  EXPECT_EQ(found->longest, static_cast<double>(kCount - 1) / kCount);
}

}  // namespace
}  // namespace graphopt
