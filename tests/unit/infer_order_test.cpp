// Facts that nodes assert about other values: they reach nodes before them, only nodes that every run
// computes assert any, and nothing is left of them when such a node is gone. Expected dims follow from what
// the operators require of their operands.
#include "infer_case.h"

namespace graphopt {
namespace {

// MatMul requires M = 3; then Mul's operands have D and 3, so its result has 3.
constexpr const char* kBefore = R"(g (float[D] x, float[M] k, float[2, 3] w) => (float[] c, float[] y)
    { y = MatMul(w, k)  c = Mul(x, k) })";
constexpr const char* kAfter = R"(g (float[D] x, float[M] k, float[2, 3] w) => (float[] c, float[] y)
    { c = Mul(x, k)  y = MatMul(w, k) })";

TEST(InferOrder, AFactReachesNodesBeforeIt) {
  for (const char* text : {kBefore, kAfter}) {
    const InferCase c(text);
    EXPECT_EQ(c.type("k"), "float[3]") << text;
    EXPECT_EQ(c.type("c"), "float[3]") << text;
  }
}

// Each fact follows from the one of the next line: C = 3, then B = 3 (3 is not 1), then A.
TEST(InferOrder, AChainAgainstTheOrderOfNodes) {
  const InferCase c(
      R"(g (float[A] a, float[B] b, float[C] c, float[3, 2] w) => (float[] r, float[] v, float[] y)
    <int64[1] zero = {0}>
    {
      r = Add(a, b)
      p = Concat <axis = 0> (b, b)
      q = Concat <axis = 0> (c, c)
      v = MatMul(p, q)
      y = MatMul(c, w)
    })");
  EXPECT_EQ(c.type("c"), "float[3]");
  EXPECT_EQ(c.type("p"), "float[6]");
  EXPECT_EQ(c.type("r"), "float[3]");
}

TEST(InferOrder, ADimThatWasFreshBecomesKnown) {
  const InferCase c(R"(g (float[D] x, float[M] k, float[2, 3] w) => (float[] e, float[] y)
    { c = Mul(x, k)  d = Relu(c)  e = Concat <axis = 0> (c, d)  y = MatMul(w, k) })");
  EXPECT_EQ(c.type("d"), "float[3]");
  EXPECT_EQ(c.type("e"), "float[6]");
}

TEST(InferOrder, BodiesAssertNothing) {
  const InferCase c(R"(g (bool t, int64 m, float[M] k, float[N] l, float[2, 3] w) => (float[] y, float[] last)
    <bool go = {1}, float[2] zeros = {0, 0}>
    {
      y = If (t) <then_branch = yes () => (float[] a) { a = MatMul(w, k) },
                  else_branch = no () => (float[] b) { b = Identity(zeros) }>
      last = Loop (m, go, zeros) <body = step (int64 i, bool go_in, float[] p) => (bool go_out, float[] q) {
        go_out = Identity(go_in)
        q = MatMul(w, l)
      }>
    })");
  EXPECT_EQ(c.type("k"), "float[M]");
  EXPECT_EQ(c.type("l"), "float[N]");
}

TEST(InferOrder, DeadNodesAssertNothing) {
  const InferCase c(R"(g (float[M] k, float[2, 3] w) => (float[] y)
    { d = MatMul(w, k)  y = Relu(k) })");
  EXPECT_EQ(c.type("y"), "float[M]");
}

// A Squeeze runs only if the dim is 1. Together with an Unsqueeze it would then change nothing, and without
// it nothing would require that any more.
TEST(InferOrder, NodesThatOnlyMoveElementsAssertNothing) {
  const InferCase c(R"(g (float[A, 3] x) => (float[] y)
    <int64[1] zero = {0}>
    { s = Squeeze(x, zero)  y = Unsqueeze(s, zero) })");
  EXPECT_EQ(c.type("x"), "float[A, 3]");
  EXPECT_EQ(c.type("y"), "float[1, 3]");
}

TEST(InferOrder, ARunForgetsWhatNodesAssertedThatAreGone) {
  InferCase c(kAfter);
  c.model->set_op(c.node_of("y"), c.model->intern_op(OpKind::Add, "", "Add"));  // M may be 1 now
  c.facts->run();
  EXPECT_EQ(c.type("k"), "float[M]");
  EXPECT_EQ(c.type("c"), "float[fresh]");
}

TEST(InferOrder, APoolForgetsAliasesAndRanges) {
  DimPool p;
  const DimId a = p.symbol("a"), b = p.symbol("b"), sum = p.add(a, b);
  EXPECT_EQ(p.learned_at(sum), 0u);
  EXPECT_TRUE(p.assert_equal(a, p.constant(3)));
  EXPECT_TRUE(p.assert_range(b, {2, 7}));
  EXPECT_EQ(p.print(sum), "b + 3");
  EXPECT_EQ(p.learned_at(sum), p.clock());
  p.forget();
  EXPECT_EQ(p.clock(), 0u);
  EXPECT_EQ(p.learned_at(sum), 0u);
  EXPECT_EQ(p.print(sum), "a + b");
  EXPECT_EQ(p.range(b), Range{});
  EXPECT_FALSE(p.value(p.canonical(a)).has_value());
}

}  // namespace
}  // namespace graphopt
