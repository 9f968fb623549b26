// Loops that are nested so deep that inferring their bodies round by round takes too long: the facts of what
// they carry are widened at once then, and stay true.
#include "infer_case.h"

namespace graphopt {
namespace {

// `depth` loops, one in the other. A body needs two rounds, as its result is longer than its operand, so the
// innermost one is inferred 2^depth times. The outermost loop carries a sparse tensor, too.
std::string nested(int depth) {
  std::string inner = "q0 = Concat <axis = 0> (p0, p0)";
  for (int i = 1; i < depth; ++i) {
    const std::string at = std::to_string(i), in = std::to_string(i - 1);
    inner = "q" + at + " = Loop (m, k, p" + at + ") <body: graph = b" + in + " (int64 i" + in + ", bool k" +
            in + ", float[] p" + in + ") => (bool c" + in + ", float[] q" + in + ") { c" + in +
            " = Identity (k" + in + ") " + inner + " }>";
  }
  const std::string p = "p" + std::to_string(depth - 1), q = "q" + std::to_string(depth - 1);
  return "g (float[n] x, sparse_tensor(float[2,3]) s, int64 m, bool k) => (float[l] y, "
         "sparse_tensor(float[2,3]) t) { y, t = Loop (m, k, x, s) <body: graph = b (int64 i, bool ki, "
         "float[] " +
         p + ", sparse_tensor(float[2,3]) si) => (bool c, float[] " + q +
         ", sparse_tensor(float[2,3]) ti) { c = Identity (ki) ti = Identity (si) " + inner + " }> }";
}

TEST(InferBudget, DeepLoopsAreWidenedAtOnce) {
  const InferCase few(nested(3));
  EXPECT_EQ(few.type("y"), "float[fresh]");
  EXPECT_LT(few.facts->inferred(), 1000u);
  const InferCase many(nested(17));
  EXPECT_EQ(many.type("y"), "float[...]");  // without the limit: as above
  EXPECT_GT(many.facts->inferred(), 100'000u);
  EXPECT_LT(many.facts->inferred(), 1'000'000u);
}

// What is widened is a dense tensor's type: a sparse one keeps its own.
TEST(InferBudget, ASparseTensorStaysOne) {
  for (const int depth : {3, 17}) {
    const InferCase c(nested(depth));
    EXPECT_EQ(c.facts->type_of(c.value("t")).kind, TypeKind::SparseTensor) << depth;
    EXPECT_EQ(c.facts->type_of(c.value("ti")).kind, TypeKind::SparseTensor) << depth;
  }
}

}  // namespace
}  // namespace graphopt
