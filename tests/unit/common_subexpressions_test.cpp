// A walk merges all equal nodes of a graph, also beside users that nothing reads: these go with the first of
// their operands that is merged.

#include <gtest/gtest.h>

#include <string>

#include "infer_case.h"
#include "passes/pipeline.h"

namespace graphopt {
namespace {

TEST(CommonSubexpressions, OneWalkMergesAllBesideUnreadUsers) {
  constexpr std::size_t kPairs = 50;
  std::string results, nodes;
  for (std::size_t i = 0; i < kPairs; ++i) {
    const std::string k = std::to_string(i);
    results += (i == 0 ? "float[2] y" : ", float[2] y") + k;
    nodes += "a" + k + " = Neg (x" + k + ") b" + k + " = Neg (x" + k + ") d" + k + " = Abs (b" + k + ") y" +
             k + " = Add (a" + k + ", b" + k + ") ";
  }
  std::string inputs;
  for (std::size_t i = 0; i < kPairs; ++i)
    inputs += (i == 0 ? "float[2] x" : ", float[2] x") + std::to_string(i);
  InferCase given("g (" + inputs + ") => (" + results + ") { " + nodes + "}");
  PipelineOptions o;
  o.passes = {"common-subexpressions"};
  o.verify_each = true;
  given.facts->run();
  const auto report = run_pipeline(*given.model, *given.facts, o);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->rewrites, kPairs);
  EXPECT_EQ(report->passes.front().runs, 2u) << "the second run finds nothing";
}

}  // namespace
}  // namespace graphopt
