// Extents that ONNX Runtime computes in 64 bits: nothing is stated where they may wrap.
#include <gtest/gtest.h>

#include "infer_case.h"

namespace graphopt {
namespace {

// 4 repeated 2^62 times is 2^64, which wraps to 0; an extent of an input is below 2^31.
TEST(InferExtension, ATileThatMayWrapIsUnknown) {
  const InferCase c(R"(g (float[n,4] x) => (float[] y)
    <int64[2] a = {1, 4611686018427387904}, int64[2] b = {4611686018427387904, 1},
     int64[2] s = {2147483648, 3}>
    { y = Tile (x, a)  z = Tile (x, b)  w = Tile (x, s) })");
  EXPECT_EQ(c.type("y"), "float[n, fresh]");
  EXPECT_EQ(c.type("z"), "float[fresh, 4]");
  EXPECT_EQ(c.type("w"), "float[2147483648*n, 12]");
}

TEST(InferExtension, APadThatMayWrapIsUnknown) {
  const InferCase c(R"(g (float[n,4] x) => (float[] y)
    <int64[4] a = {0, 9223372036854775807, 0, 1}, int64[4] b = {9223372036854775807, 1, 0, 0}>
    { y = Pad (x, a)  z = Pad (x, b) })");
  EXPECT_EQ(c.type("y"), "float[n, fresh]");
  EXPECT_EQ(c.type("z"), "float[fresh, 5]");
}

TEST(InferExtension, BlocksOfInputsDoNotWrap) {
  const InferCase c(R"(g (float[n,4,h,w] x) => (float[] y)
    { y = DepthToSpace <blocksize = 2> (x)  z = SpaceToDepth <blocksize = 2> (y) })");
  EXPECT_EQ(c.type("y"), "float[n, 1, 2*h, 2*w]");
  EXPECT_EQ(c.type("z"), "float[n, 4, h, w]");
}

}  // namespace
}  // namespace graphopt
