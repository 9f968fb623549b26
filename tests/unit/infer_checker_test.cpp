// Where ONNX Runtime computes another shape than the standard says: nothing is stated that onnx's checker,
// which infers by the standard, would find contradicted.
#include <gtest/gtest.h>

#include "infer_case.h"

namespace graphopt {
namespace {

// The runtime broadcasts both operands to each other, the standard the slope to x alone.
TEST(InferChecker, PReluStatesExtentsOfItsFirstOperandAlone) {
  const InferCase c(R"(g (float[3,1,n] x, float[3,2,1] s, float[2,3,1,4] t, float[5] u) => (float[] y)
    { y = PRelu (x, s)  z = PRelu (x, t)  w = PRelu (x, u) })");
  EXPECT_EQ(c.type("y"), "float[3, fresh, n]");  // a run gives 3, 2, n
  EXPECT_EQ(c.type("z"), "float[...]");          // a run gives 2, 3, 1, 4 for n = 1
  EXPECT_EQ(c.type("w"), "float[3, 1, fresh]");
}

// onnx's function takes an absent `onesided` for 0, the schema and the runtime for 1: 16 bins or 9.
TEST(InferChecker, AnAbsentAttributeWhoseDefaultTheFunctionDoesNotKnow) {
  const InferCase c(R"(g (float[1,128,1] x, float[16] w) => (float[] y) <int64 s = {8}, int64 f = {16}>
    { y = STFT (x, s, w, f)  z = STFT <onesided = 1> (x, s, w, f)  v = STFT <onesided = 0> (x, s, w, f) })");
  EXPECT_EQ(c.type("y"), "float[1, 15, fresh, 2]");
  EXPECT_EQ(c.type("z"), "float[1, 15, 9, 2]");
  EXPECT_EQ(c.type("v"), "float[1, 15, 16, 2]");
}

// Both agree here, so a default loses nothing.
TEST(InferChecker, AnAbsentAttributeWhoseDefaultTheFunctionKnows) {
  const InferCase c(R"(g (float[1,128,2] x) => (float[] y) { y = DFT (x) })");
  EXPECT_EQ(c.type("y"), "float[1, 128, 2]");
}

}  // namespace
}  // namespace graphopt
