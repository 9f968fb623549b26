// Extents of operators on images whose operands state them: QLinearConv, Col2Im, CenterCropPad.
#include "infer_case.h"

namespace graphopt {
namespace {

TEST(InferImages, QuantizedConvolutionHasTheExtentsOfConvAndTheTypeOfItsLastZeroPoint) {
  const InferCase c(R"(g (uint8[n, 2, s, 8] x, float f, uint8 z, int8[3, 2, 3, 3] w, int8 v, int8 r) => (y) {
    y = QLinearConv <pads = [0, 1, 0, 1]> (x, f, z, w, f, v, f, r)
  })");
  EXPECT_EQ(c.type("y"), "int8[n, 3, s - 2, 8]");
}

TEST(InferImages, QuantizedConvolutionOfOneElementKeepsExtents) {
  const InferCase c(
      R"(g (uint8[n, 2, s, 8] x, float f, uint8 z, uint8[3, 2, 1, 1] w, uint8 v, uint8 r) => (y) {
    y = QLinearConv (x, f, z, w, f, v, f, r)
  })");
  EXPECT_EQ(c.type("y"), "uint8[n, 3, s, 8]");
}

TEST(InferImages, ColumnsBecomeImages) {
  const InferCase c(R"(g (float[n, 12, k] x) => (y) <int64[2] image = {4, 6}, int64[2] block = {2, 3}> {
    y = Col2Im (x, image, block)
  })");
  EXPECT_EQ(c.type("y"), "float[n, 2, 4, 6]");
  const InferCase unknown(R"(g (float[n, 12, k] x, int64[2] image, int64[2] block) => (y) {
    y = Col2Im (x, image, block)
  })");
  EXPECT_EQ(unknown.type("y"), "float[n, fresh, fresh, fresh]");
}

TEST(InferImages, CropsHaveTheStatedExtents) {
  const InferCase c(R"(g (float[n, 20, s] x) => (y, z, u) <int64[3] all = {2, 3, 4}, int64[1] one = {7}> {
    y = CenterCropPad (x, all)
    z = CenterCropPad <axes = [-2]> (x, one)
    u = CenterCropPad <axes = [0]> (x, all)
  })");
  EXPECT_EQ(c.type("y"), "float[2, 3, 4]");
  EXPECT_EQ(c.type("z"), "float[n, 7, s]");
  EXPECT_EQ(c.type("u"), "float[fresh, fresh, fresh]");  // the numbers of axes and extents differ
}

}  // namespace
}  // namespace graphopt
