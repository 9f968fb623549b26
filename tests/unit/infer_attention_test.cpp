// Extents of Attention and its like where ONNX Runtime has no kernel and runs the function's body: nothing is
// stated that the body does not ensure. Expected dims were found by runs of ONNX Runtime 1.32.0.
#include "infer_case.h"

namespace graphopt {
namespace {

InferCase at(int opset, const std::string& text) {
  return InferCase("g " + text, {}, "<ir_version: 10, opset_import: [\"\" : " + std::to_string(opset) + "]>");
}

constexpr const char* kUnlike =
    "(float[B, H, L, 8] q, float[C, H, K, 8] k, float[D, H, V, 6] v) => (float[] y, float[] p, float[] r)"
    "{ y, p, r = Attention(q, k, v) }";

TEST(InferAttention, TheBodyStatesNoCommonBatchAndLength) {
  const InferCase c = at(25, kUnlike);
  EXPECT_EQ(c.type("y"), "float[B, H, L, 6]");
  EXPECT_EQ(c.type("p"), "float[C, H, K, 8]");
  EXPECT_EQ(c.type("r"), "float[D, H, V, 6]");
}

TEST(InferAttention, TheBodyCopiesAnotherExtentWhereOneIsZero) {
  // Of a batch of 0 and values of size 0, Reshape takes the length for the size.
  const std::string node = "=> (float[] y) { y = Attention(q, k, v) }";
  EXPECT_EQ(at(25, "(float[B, 4, L, 8] q, float[B, 4, K, 8] k, float[B, 4, K, F] v)" + node).type("y"),
            "float[B, 4, L, fresh]");
  EXPECT_EQ(at(25, "(float[2, 4, L, 8] q, float[2, 4, K, 8] k, float[2, 4, K, F] v)" + node).type("y"),
            "float[2, 4, L, F]");
}

TEST(InferAttention, TheKernelsOfEarlierVersionsCompareTheShapes) {
  const InferCase c = at(24, kUnlike);
  EXPECT_EQ(c.type("y"), "float[B, H, L, 6]");
}

TEST(InferAttention, TheBodyBroadcastsTheMask) {
  const InferCase c = at(25, R"((float[B, 4, L, 8] q, float[B, 4, K, 8] k, float[B, 4, K, 8] v,
    bool[M, 4, N, K] m) => (float[] y) { y = Attention(q, k, v, m) })");
  EXPECT_EQ(c.type("y"), "float[fresh, 4, fresh, 8]");
  const InferCase same = at(25, R"((float[B, 4, L, 8] q, float[B, 4, K, 8] k, float[B, 4, K, 8] v,
    bool[L, K] m) => (float[] y) { y = Attention(q, k, v, m) })");
  EXPECT_EQ(same.type("y"), "float[B, 4, L, 8]");
}

TEST(InferAttention, TheBodyPutsWhatIsLeftIntoTheLastAxis) {
  const std::string node = "{ y = Attention <q_num_heads = 4, kv_num_heads = 2> (q, k, v) }";
  EXPECT_EQ(
      at(25, "(float[B, L, 32] q, float[B, K, 16] k, float[B, V, 12] v) => (float[] y)" + node).type("y"),
      "float[B, L, fresh]");
  EXPECT_EQ(
      at(25, "(float[B, L, 32] q, float[B, K, 16] k, float[B, K, 12] v) => (float[] y)" + node).type("y"),
      "float[B, L, 24]");
}

TEST(InferAttention, TheBodyLeavesAnEmptyPastOut) {
  const std::string node = "=> (float[] y, float[] r, float[] s) { y, r, s = Attention(q, k, v, , p, o) }";
  const std::string head = "(float[B, 4, L, 8] q, float[B, 4, K, 8] k, float[B, 4, K, 8] v, ";
  EXPECT_EQ(at(25, head + "float[C, 4, P, 8] p, float[C, 4, P, 8] o)" + node).type("r"),
            "float[fresh, 4, K + P, 8]");
  EXPECT_EQ(at(25, head + "float[B, 4, P, 8] p, float[B, 4, P, 8] o)" + node).type("r"),
            "float[B, 4, K + P, 8]");
}

TEST(InferAttention, AConvolutionTakesTheBatchOfThePast) {
  const std::string node = "=> (float[] y, float[] s) { y, s = CausalConvWithState(x, w, , p) }";
  const InferCase unlike = at(27, "(float[B, 4, L] x, float[4, 1, 3] w, float[2, 4, 2] p)" + node);
  EXPECT_EQ(unlike.type("y"), "float[2, 4, L]");
  EXPECT_EQ(unlike.type("s"), "float[2, 4, 2]");
  const InferCase open = at(27, "(float[B, 4, L] x, float[4, 1, 3] w, float[C, 4, P] p)" + node);
  EXPECT_EQ(open.type("y"), "float[fresh, 4, fresh]");
  const InferCase same = at(27, "(float[B, 4, L] x, float[4, 1, 3] w, float[B, 4, 2] p)" + node);
  EXPECT_EQ(same.type("y"), "float[B, 4, L]");
}

TEST(InferAttention, ARecurrenceTakesTheBatchOfTheQuery) {
  const std::string node =
      "=> (float[] y, float[] s) { y, s = LinearAttention <q_num_heads = 4, kv_num_heads = 2,"
      " update_rule = \"linear\"> (q, k, v) }";
  const InferCase unlike = at(27, "(float[B, L, 32] q, float[2, 1, 16] k, float[2, 1, 12] v)" + node);
  EXPECT_EQ(unlike.type("y"), "float[B, L, fresh]");
  EXPECT_EQ(unlike.type("s"), "float[fresh, fresh, fresh, fresh]");
  const InferCase same = at(27, "(float[B, L, 32] q, float[B, L, 16] k, float[B, L, 12] v)" + node);
  EXPECT_EQ(same.type("y"), "float[B, L, 24]");
  EXPECT_EQ(same.type("s"), "float[B, 2, 8, 6]");
}

}  // namespace
}  // namespace graphopt
