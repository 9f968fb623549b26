// Extents of a Reshape whose target is computed: an element that is 0 in a run copies the operand's dim.
// Expected dims were written down from that rule before the first run.
#include "infer_case.h"

namespace graphopt {
namespace {

// x of [B, S, 4] becomes rows, and q the rows of 6 again in the shape of x.
std::string rows_and_back(const std::string& outputs, const std::string& more) {
  return "g (float[B, S, 4] x, float[B, S, 6] r, float[4, 6] w, bool c) => (" + outputs + R"()
    <int64[2] flat = {-1, 4}, int64[1] six = {6}>
    {
      rows = Reshape(x, flat)
      p = MatMul(rows, w)
      lead = Shape <start = 0, end = 2> (x)
      back = Concat <axis = 0> (lead, six)
      q = Reshape(p, back)
)" + more +
         "}";
}

TEST(InferReshape, TwoExtentsMayBeZeroInOneRun) {
  // [0, 6] to (0, 0, 6): the first element copies 0, the second one 6.
  const InferCase c(rows_and_back("float[] q", ""));
  EXPECT_EQ(c.type("q"), "float[B, S - 6*min(1, S) + 6, 6]");
}

TEST(InferReshape, AnAddThatWouldFailShowsThatAnExtentIsNotZero) {
  // Extents 6 and 0 do not broadcast, so S is 0 in no run.
  const InferCase c(rows_and_back("float[] y", "y = Add(q, r)"));
  EXPECT_EQ(c.type("q"), "float[B, S, 6]");
  EXPECT_EQ(c.type("y"), "float[B, S, 6]");
}

TEST(InferReshape, AnAddInABranchShowsNothingAboutOtherRuns) {
  const InferCase c(rows_and_back("float[] y, float[] q", R"(y = If (c) <
    then_branch = t () => (float[] a) { a = Add(q, r) },
    else_branch = e () => (float[] b) { b = Identity(q) }>)"));
  EXPECT_EQ(c.type("q"), "float[B, S - 6*min(1, S) + 6, 6]");
  EXPECT_EQ(c.type("a"), "float[B, S, 6]");  // it would have failed
}

TEST(InferReshape, AnotherReshapeOfTheSameTargetKeepsTheExtents) {
  const InferCase c(rows_and_back("float[] z", "all = Shape(q)  z = Reshape(q, back)  y = Reshape(p, all)"));
  EXPECT_EQ(c.type("z"), c.type("q"));
  EXPECT_EQ(c.type("y"), c.type("q"));
}

TEST(InferReshape, OneExtentMayBeZeroBesideMinusOne) {
  // [0, 2, 5] becomes [1, 2, 2, 0].
  const InferCase c(R"(g (float[D, 2, 5] x) => (float[] y) <int64[1] a = {1}, int64[2] b = {2, -1}>
    { d = Shape <start = 0, end = 1> (x)  t = Concat <axis = 0> (a, d, b)  y = Reshape(x, t) })");
  EXPECT_EQ(c.type("y"), "float[1, D - 2*min(1, D) + 2, 2, 5*min(1, D)]");
}

TEST(InferReshape, TheOnlyExtentThatMayBeZeroWouldMakeTheRunFail) {
  const InferCase c(R"(g (float[D, 2, 5] x) => (float[] y) <int64[1] a = {1}, int64[2] b = {2, 5}>
    { d = Shape <start = 0, end = 1> (x)  t = Concat <axis = 0> (a, d, b)  y = Reshape(x, t) })");
  EXPECT_EQ(c.type("y"), "float[1, D, 2, 5]");
}

TEST(InferReshape, AnExtentThatOtherInputsHaveMayCopy) {
  // D = 0 copies 4 of x, which is not empty: [4, 5] again.
  const InferCase c(R"(g (float[4, 5] x, float[D] other) => (float[] y) <int64[1] b = {5}>
    { d = Shape(other)  t = Concat <axis = 0> (d, b)  y = Reshape(x, t) })");
  EXPECT_EQ(c.type("y"), "float[D - 4*min(1, D) + 4, 5]");
}

TEST(InferReshape, AllowzeroAndTheSameExtentAreExact) {
  const InferCase c(R"(g (float[B, S, 768] x) => (float[] y, float[] z) <int64[2] heads = {12, 64}>
    { d = Shape <start = 0, end = 2> (x)  t = Concat <axis = 0> (d, heads)
      y = Reshape(x, t)
      u = Shape <start = 1, end = 2> (x)
      v = Shape <start = 0, end = 1> (x)
      w = Concat <axis = 0> (u, v, heads)
      z = Reshape <allowzero = 1> (x, w) })");
  EXPECT_EQ(c.type("y"), "float[B, S, 12, 64]");
  EXPECT_EQ(c.type("z"), "float[S, B, 12, 64]");
}

}  // namespace
}  // namespace graphopt
