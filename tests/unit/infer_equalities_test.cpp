// Small graphs with equalities that inference must find, and some that it must not claim. Expected dims were
// written down from the operators' definitions before the first run; `fresh` is a dim that is not an
// expression over inputs.
#include "infer_case.h"

namespace graphopt {
namespace {

TEST(InferEqualities, ReshapeWithMinusOne) {
  const InferCase c(R"(g (float[b, s, 768] x) => (float[] z)
    <int64[4] heads = {0, 0, 12, 64}, int64[3] rows = {0, -1, 64}>
    { y = Reshape(x, heads)  z = Reshape(y, rows) })");
  EXPECT_EQ(c.type("y"), "float[b, s, 12, 64]");
  EXPECT_EQ(c.type("z"), "float[b, 12*s, 64]");  // b*s*12*64 / (b*64)
}

TEST(InferEqualities, ConcatOfSymbols) {
  const InferCase c(R"(g (float[b, 4, past, 8] k, float[b, 4, now, 8] n) => (float[] y)
    { all = Concat <axis = 2> (k, n)  s = Shape <start = 2, end = 3> (all)  y = Identity(all) })");
  EXPECT_EQ(c.type("y"), "float[b, 4, now + past, 8]");
  EXPECT_EQ(c.elements("s"), "now + past");
}

TEST(InferEqualities, GemmOverAFlattenedBatch) {
  const InferCase c(R"(g (float[b, s, 64] x, float[b, s, 32] r, float[64, 32] w) => (float[] y)
    <int64[2] flat = {-1, 64}, int64[1] n = {32}>
    {
      rows = Reshape(x, flat)
      p = Gemm(rows, w)
      lead = Shape <start = 0, end = 2> (x)
      back = Concat <axis = 0> (lead, n)
      q = Reshape(p, back)
      y = Add(q, r)
    })");
  EXPECT_EQ(c.type("rows"), "float[b*s, 64]");
  EXPECT_EQ(c.type("p"), "float[b*s, 32]");
  EXPECT_EQ(c.type("q"), "float[b, s, 32]");
  EXPECT_TRUE(c.facts->same_shape(c.value("q"), c.value("r")));
  EXPECT_EQ(c.type("y"), "float[b, s, 32]");
}

TEST(InferEqualities, ShapeArithmeticThroughCastAndWhere) {
  const InferCase c(R"(g (float[b, s] x) => (float[] y)
    <double two = {2.0}, int64 at = {1}, int64[1] one = {1}, int64[1] minus = {-1}, int64[1] axis = {0}>
    {
      all = Shape(x)
      s = Gather <axis = 0> (all, at)
      d = Cast <to = 11> (s)
      e = Mul(d, two)
      f = Cast <to = 7> (e)
      v = Unsqueeze(f, axis)
      is = Equal(v, minus)
      w = Where(is, one, v)
      y = ConstantOfShape(w)
    })");
  EXPECT_EQ(c.elements("f"), "2*s");
  EXPECT_EQ(c.elements("is"), "0");  // an extent is no -1
  EXPECT_EQ(c.type("y"), "float[2*s]");
}

TEST(InferEqualities, ContractedDimsAreOne) {
  const InferCase c(R"(g (float[a, k] x, float[m, n] y, float[k] u, float[m] v) => (float[] p, float[] q)
    { p = MatMul(x, y)  q = Add(u, v) })");
  EXPECT_EQ(c.type("p"), "float[a, n]");
  EXPECT_TRUE(c.facts->same_shape(c.value("u"), c.value("v")));
  EXPECT_TRUE(c.facts->same_shape(c.value("q"), c.value("u")));
}

TEST(InferEqualities, TwoStridedConvolutions) {
  const InferCase c(R"(g (float[b, 3, h, w] x, float[8, 3, 3, 3] k1, float[8, 8, 3, 3] k2) => (float[] z)
    {
      y = Conv <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]> (x, k1)
      z = Conv <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]> (y, k2)
    })");
  EXPECT_EQ(c.type("y"), "float[b, 8, floor((h + 1)/(2)), floor((w + 1)/(2))]");
  EXPECT_EQ(c.type("z"), "float[b, 8, floor((h + 3)/(4)), floor((w + 3)/(4))]");
}

TEST(InferEqualities, PositionsCutToATable) {
  // min(512, s) rows broadcast with s: equal to s, or the run fails.
  const InferCase c(R"(g (float[b, s, 16] x, float[1, 512, 16] table) => (float[] y)
    <int64[1] zero = {0}, int64[1] axis = {1}>
    { e = Shape <start = 1, end = 2> (x)  t = Slice(table, zero, e, axis)  y = Add(x, t) })");
  EXPECT_EQ(c.type("t"), "float[1, min(512, s), 16]");
  EXPECT_EQ(c.type("y"), "float[b, s, 16]");
}

TEST(InferEqualities, PositionsByNonZero) {
  const InferCase c(R"(g (float[b, s] x) => (int64[] y)
    { e = Shape <start = 1, end = 2> (x)  ones = ConstantOfShape <value = int64[1] {1}> (e)
      i = NonZero(ones)  y = Transpose <perm = [1, 0]> (i) })");
  EXPECT_EQ(c.type("i"), "int64[1, s]");
  EXPECT_EQ(c.type("y"), "int64[s, 1]");
}

TEST(InferEqualities, SplitUndoesConcat) {
  const InferCase c(R"(g (float[b, s] x) => (float[] l, float[] r)
    { two = Concat <axis = 1> (x, x)  l, r = Split <axis = 1, num_outputs = 2> (two) })");
  EXPECT_EQ(c.type("two"), "float[b, 2*s]");
  EXPECT_EQ(c.type("l"), "float[b, s]");
  EXPECT_EQ(c.type("r"), "float[b, s]");
}

TEST(InferEqualities, ProductOfExtents) {
  const InferCase c(R"(g (float[b, s, 64] x) => (float[] y)
    <int64[1] n = {64}, int64[1] zero = {0}>
    { l = Shape <start = 0, end = 2> (x)  p = ReduceProd <keepdims = 1> (l, zero)
      t = Concat <axis = 0> (p, n)  y = Reshape(x, t) })");
  EXPECT_EQ(c.elements("t"), "b*s, 64");
  EXPECT_EQ(c.type("y"), "float[b*s, 64]");
}

TEST(InferEqualities, RangeAndTileAndResize) {
  constexpr const char* kText = R"(g (float[b, 3, h, w] x) => (int64[] i, float[] t, float[] z)
    <int64 zero = {0}, int64 one = {1}, int64 three = {3}, int64[4] reps = {1, 1, 2, 1},
     float[4] scales = {1.0, 1.0, 2.0, 3.0}>
    {
      s = Shape(x)
      n = Gather <axis = 0> (s, three)
      i = Range(zero, n, one)
      t = Tile(x, reps)
      z = Resize <mode = "nearest"> (x, , scales)
    })";
  const InferCase c(kText);
  EXPECT_EQ(c.type("i"), "int64[w]");
  EXPECT_EQ(c.type("t"), "float[b, 3, 2*h, w]");
  EXPECT_EQ(c.type("z"), "float[fresh, 3, fresh, fresh]");  // float32 does not have every extent above 2^24
  constexpr std::int64_t kMost = std::int64_t{1} << 24;
  const InferCase d(
      kText, {.ranges = {{"b", {0, kMost}}, {"h", {0, kMost / 2}}, {"w", {0, kMost / 3}}}, .shapes = {}});
  EXPECT_EQ(d.type("z"), "float[b, 3, 2*h, 3*w]");
  const InferCase e(kText, {.ranges = {{"b", {0, kMost + 1}}, {"h", {0, kMost / 2 + 1}}}, .shapes = {}});
  EXPECT_EQ(e.type("z"), "float[fresh, 3, fresh, fresh]");
}

TEST(InferEqualities, BranchesThatAgree) {
  const InferCase c(R"(g (bool c, float[b, s] x, float[b, t] y) => (float[] r, float[] q)
    {
      r = If (c) <then_branch = yes () => (float[] a) { a = Relu(x) },
                  else_branch = no () => (float[] d) { d = Neg(x) }>
      q = If (c) <then_branch = yes2 () => (float[] a2) { a2 = Relu(x) },
                  else_branch = no2 () => (float[] d2) { d2 = Neg(y) }>
    })");
  EXPECT_EQ(c.type("r"), "float[b, s]");
  EXPECT_EQ(c.type("q"), "float[b, fresh]");  // s or t
  EXPECT_EQ(c.type("d2"), "float[b, t]");
}

TEST(InferEqualities, WhatALoopCarries) {
  const InferCase c(R"(g (int64 m, float[b, 4] x, float[b, 4] y) => (float[] last, float[] grown, float[] all)
    <bool go = {1}>
    {
      last, grown, all = Loop (m, go, x, y) <body = step (int64 i, bool go_in, float[] p, float[] q)
          => (bool go_out, float[] p2, float[] q2, float[] out) {
        go_out = Identity(go_in)
        p2 = Relu(p)
        q2 = Concat <axis = 0> (q, x)
        out = Neg(p)
      }>
    })");
  EXPECT_EQ(c.type("last"), "float[b, 4]");
  EXPECT_EQ(c.type("grown"), "float[fresh, 4]");
  EXPECT_EQ(c.type("all"),
            "float[...]");  // m may be 0: then `all` has the dims that `out` declares, and it declares none
  EXPECT_EQ(c.type("p2"), "float[b, 4]");
}

// Without iterations ONNX Runtime takes the dims that the body's output declares, 0 for symbols. So where
// there may be none, only declared numbers hold.
TEST(InferEqualities, TripCountOfALoop) {
  const auto loop = [](const std::string& trips, const std::string& row) {
    return "g (float[t, 7] x) => (float[] all)\n<bool go = {1}, int64 zero = {0}, int64 three = {3}>\n"
           "{\n  s = Shape(x)\n  m = Gather <axis = 0> (s, zero)\n  all = Loop (" +
           trips + ", go) <body = step (int64 i, bool go_in) => (bool go_out, float" + row +
           " row) {\n    go_out = Identity(go_in)\n    row = Gather <axis = 0> (x, i)\n  }>\n}";
  };
  EXPECT_EQ(InferCase(loop("m", "[7]")).type("all"), "float[t, 7]");
  EXPECT_EQ(InferCase(loop("m", "[k]")).type("all"), "float[t, fresh]");
  EXPECT_EQ(InferCase(loop("m", "[]")).type("all"), "float[...]");
  EXPECT_EQ(InferCase(loop("three", "[]")).type("all"), "float[3, 7]");
}

TEST(InferEqualities, AFunctionCalledTwice) {
  const InferCase c(R"(g (float[b, 4] x, float[2, s] y) => (float[] p, float[] q, int64[] n, int64[] m)
    { p = local.double(x)  q = local.double(y)  n = local.where(x)  m = local.where(y) }
    <domain: "local", opset_import: ["" : 21]>
    double (v) => (w) { w = Concat <axis = 0> (v, v) }
    <domain: "local", opset_import: ["" : 21]>
    where (v) => (i) { i = NonZero(v) })");
  EXPECT_EQ(c.type("p"), "float[2*b, 4]");
  EXPECT_EQ(c.type("q"), "float[4, s]");
  EXPECT_EQ(c.type("n"), "int64[2, fresh]");
  EXPECT_FALSE(c.facts->same_shape(c.value("n"), c.value("m")));  // two counts, one place in the body
}

// --- what must not be claimed ------------------------------------------------------------------------------

TEST(InferEqualities, UnequalSymbolsBroadcastToNeither) {
  const InferCase c(R"(g (float[p] x, float[q] y) => (float[] z) { z = Add(x, y) })");
  EXPECT_EQ(c.type("z"), "float[fresh]");  // p = 1 gives q and the other way round
  EXPECT_FALSE(c.facts->same_shape(c.value("x"), c.value("y")));
}

TEST(InferEqualities, RangesDecideBroadcasting) {
  InferOptions o;
  o.ranges.push_back({"p", {2, 100}});
  const InferCase c(R"(g (float[p] x, float[q] y) => (float[] z) { z = Add(x, y) })", o);
  EXPECT_EQ(c.type("z"), "float[p]");
}

TEST(InferEqualities, EmptyOperandsOfConcat) {
  // With b = 0 in x alone ONNX Runtime gives y's extent.
  const InferCase c(R"(g (float[a, 2] x, float[b, 2] y) => (float[] z) { z = Concat <axis = 1> (x, y) })");
  EXPECT_EQ(c.type("z"), "float[fresh, 4]");
}

TEST(InferEqualities, Int32MayWrap) {
  const InferCase c(R"(g (float[s] x) => (float[] y)
    <int32 two = {2}, int64 zero = {0}, int64[1] axis = {0}>
    { all = Shape(x)  s = Gather <axis = 0> (all, zero)  n = Cast <to = 6> (s)  m = Mul(n, two)
      l = Cast <to = 7> (m)  v = Unsqueeze(l, axis)  y = ConstantOfShape(v) })");
  EXPECT_EQ(c.elements("n"), "s");
  EXPECT_EQ(c.type("y"), "float[fresh]");  // 2*s leaves int32 from s = 2^30 on
}

TEST(InferEqualities, FalseClaimsAreNamed) {
  const InferCase c(R"(g (float[2, 3] x) => (float[3, 2] y) <float[2, 3] t> { t = Relu(x)  y = Neg(t) })");
  ASSERT_EQ(c.facts->false_claims().size(), 1U);
  EXPECT_EQ(c.facts->false_claims()[0].value, c.value("y"));
  EXPECT_EQ(c.type("y"), "float[2, 3]");
}

// --- incremental -------------------------------------------------------------------------------------------

TEST(InferIncremental, OnlyWhatFollowsIsInferredAgain) {
  std::string text = "g (float[b, 4] x) => (float[] v200) {\n v0 = Relu(x)\n";
  for (int i = 1; i <= 200; ++i)
    text += " v" + std::to_string(i) + " = Relu(v" + std::to_string(i - 1) + ")\n";
  InferCase c(text + "}");
  const auto first = c.facts->inferred();
  EXPECT_EQ(first, 201U);
  // Same type: nothing follows.
  c.model->set_op(c.node_of("v100"), c.model->intern_op(OpKind::Neg, "", "Neg"));
  c.facts->update();
  EXPECT_EQ(c.facts->inferred(), first + 1);
  // Another type: all that follow, once each.
  c.model->set_op(c.node_of("v100"), c.model->intern_op(OpKind::IsNaN, "", "IsNaN"));
  c.facts->update();
  EXPECT_EQ(c.facts->inferred(), first + 1 + 101);
  EXPECT_EQ(c.type("v200"), "bool[b, 4]");
  c.facts->update();
  EXPECT_EQ(c.facts->inferred(), first + 1 + 101);
}

TEST(InferIncremental, AChangeReachesBodies) {
  InferCase c(R"(g (bool c, float[b, s] x) => (float[] r)
    { t = Identity(x)
      r = If (c) <then_branch = yes () => (float[] a) { a = Relu(t) },
                  else_branch = no () => (float[] d) { d = Neg(t) }> })");
  EXPECT_EQ(c.type("r"), "float[b, s]");
  c.model->set_op(c.node_of("t"), c.model->intern_op(OpKind::Transpose, "", "Transpose"));
  c.facts->update();
  EXPECT_EQ(c.type("a"), "float[s, b]");
  EXPECT_EQ(c.type("r"), "float[s, b]");
}

TEST(InferIncremental, ALoopSettlesAgain) {
  InferCase c(R"(g (int64 m, float[b, s] x) => (float[] last)
    <bool go = {1}>
    { t = Identity(x)
      last = Loop (m, go, t) <body = step (int64 i, bool go_in, float[] p) => (bool go_out, float[] q) {
        go_out = Identity(go_in)
        q = Relu(p)
      }> })");
  EXPECT_EQ(c.type("last"), "float[b, s]");
  c.model->set_op(c.node_of("t"), c.model->intern_op(OpKind::Transpose, "", "Transpose"));
  c.facts->update();
  EXPECT_EQ(c.type("q"), "float[s, b]");
  EXPECT_EQ(c.type("last"), "float[s, b]");
  // A body that shapes differently: what is carried has no fixed extents any more.
  c.model->set_op(c.node_of("q"), c.model->intern_op(OpKind::Transpose, "", "Transpose"));
  c.facts->update();
  EXPECT_EQ(c.type("last"), "float[fresh, fresh]");
}

TEST(InferIncremental, FreshSymbolsStay) {
  InferCase c(R"(g (float[b] x) => (int64[] y) { t = Relu(x)  i = NonZero(t)  y = Identity(i) })");
  const TypeId before = c.facts->type(c.value("y"));
  c.model->set_op(c.node_of("t"), c.model->intern_op(OpKind::Neg, "", "Neg"));
  c.model->set_op(c.node_of("y"), c.model->intern_op(OpKind::Abs, "", "Abs"));
  c.facts->update();
  EXPECT_EQ(c.facts->type(c.value("y")), before);
}

}  // namespace
}  // namespace graphopt
