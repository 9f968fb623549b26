// What a node costs: a launch, bytes, or nothing in the epilogue of a heavy node.

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>

#include "infer_case.h"
#include "rewrite/cost.h"

namespace graphopt {
namespace {

NodeCost cost(const InferCase& given, const std::string& result) {
  return cost_of(*given.model, *given.facts, given.model->value(given.value(result)).def);
}

TEST(NodeCost, CountsTheBytesOfAllResults) {
  const InferCase given(R"(g (float[2,6] x, float[n] z) => (float[2,3] a, float[2,3] b, float[n] c) {
    a, b = Split <axis = 1, num_outputs = 2> (x)
    c = Exp (z)
  })");
  EXPECT_EQ(cost(given, "a").bytes, std::uint64_t{2 * 2 * 3 * 4});
  EXPECT_TRUE(cost(given, "a").launches);
  EXPECT_EQ(cost(given, "c").bytes, std::nullopt);
}

TEST(NodeCost, OfADeformationIsNoLaunch) {
  const InferCase given(R"(g (float[2,3] x) => (float[6] y) <int64[1] t = {6}> { y = Reshape (x, t) })");
  EXPECT_FALSE(cost(given, "y").launches);
  EXPECT_FALSE(cost(given, "y").absorbed);
}

TEST(NodeCost, OfAnEpilogueIsNothing) {
  const InferCase given(R"(g (float[2,3] x) => (float[2,4] y)
    <float[3,4] w = {1,2,3,4,5,6,7,8,9,10,11,12}, float[4] b = {1,2,3,4}> {
    p = MatMul (x, w)
    q = Add (b, p)
    y = Relu (q)
  })");
  EXPECT_TRUE(cost(given, "p").launches);
  for (const char* name : {"q", "y"}) {
    EXPECT_TRUE(cost(given, name).absorbed) << name;
    EXPECT_FALSE(cost(given, name).launches) << name;
  }
}

// A value with a second reader, an operand that is computed, another shape, a second result of the heavy
// node.
TEST(NodeCost, EndsAnEpilogueWhereItCannotGoOn) {
  const InferCase given(R"(g (float[2,3] x, float[2,4] z) => (float[2,4] y, float[2,4] w1, float[1,2,4] v)
    <float[3,4] w = {1,2,3,4,5,6,7,8,9,10,11,12}, float[1,1,1] one = {1}> {
    p = MatMul (x, w)
    y = Relu (p)
    w1 = Exp (p)
    q = MatMul (x, w)
    t = Add (q, z)
    u = MatMul (x, w)
    v = Add (u, one)
    y2 = Neg (t)
  })");
  for (const char* name : {"y", "w1", "t", "v"}) {
    EXPECT_FALSE(cost(given, name).absorbed) << name;
    EXPECT_TRUE(cost(given, name).launches) << name;
  }
}

}  // namespace
}  // namespace graphopt
