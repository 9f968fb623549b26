// Multiplications of a run as formulas, counted by hand.
#include "infer/multiply_adds.h"

#include <gtest/gtest.h>

#include <string>

#include "onnx/reader.h"

namespace graphopt {
namespace {

struct Counted {
  std::string formula;  // "none" where there is none
  std::size_t unknown = 0;
};

Counted count(const std::string& graph) {
  std::vector<Warning> warnings;
  auto loaded =
      load_model_from_memory("<ir_version: 10, opset_import: [\"\" : 23]>\n" + graph, "case", "", warnings);
  if (!loaded) {
    ADD_FAILURE() << "not loaded: " << graph << loaded.error().what;
    return {};
  }
  Model m = *std::move(loaded);
  Inference inference(m, {});
  inference.run();
  const MultiplyAdds found = multiply_adds(m, inference);
  return {found.count ? m.dims.print(found.count) : "none", found.unknown};
}

TEST(MultiplyAdds, AProductOfMatricesSumsOverOneAxis) {
  EXPECT_EQ(count("g (float[b,s,64] x, float[64,128] w) => (float[b,s,128] y) { y = MatMul (x, w) }").formula,
            "8192*b*s");
  EXPECT_EQ(count("g (float[5] x, float[5] w) => (float y) { y = MatMul (x, w) }").formula, "5");
  // 7 x n results, each a sum of 3.
  EXPECT_EQ(
      count("g (float[3,7] x, float[3,n] w) => (float[7,n] y) { y = Gemm <transA = 1> (x, w) }").formula,
      "21*n");
}

// Scores and their product with the values: twice s * s * 16 for each of b * 4 heads.
TEST(MultiplyAdds, AttentionCountsTheLengthTwice) {
  EXPECT_EQ(count("g (float[b,4,s,16] q, float[b,4,16,s] k, float[b,4,s,16] v) => (float[b,4,s,16] y) {"
                  " a = MatMul (q, k)  p = Softmax (a)  y = MatMul (p, v) }")
                .formula,
            "128*b*s*s");
  EXPECT_EQ(count("g (float[b,4,s,16] q, float[b,4,t,16] k, float[b,4,t,16] v) => (float[b,4,s,16] y) {"
                  " y = Attention (q, k, v) }")
                .formula,
            "128*b*s*t");
}

// 8 x h x w results, each of 3/1 channels times 5 x 5; a transposed one counts its operand's elements.
TEST(MultiplyAdds, AConvolutionCountsOneFilterPerResult) {
  EXPECT_EQ(count("g (float[1,3,h,w] x, float[8,3,5,5] f) => (float[1,8,h,w] y) {"
                  " y = Conv <pads = [2,2,2,2]> (x, f) }")
                .formula,
            "600*h*w");
  EXPECT_EQ(count("g (float[1,4,h,w] x, float[4,2,3,3] f) => (float[1,2,hh,ww] y) {"
                  " y = ConvTranspose <strides = [2,2]> (x, f) }")
                .formula,
            "72*h*w");
}

// 4 gates of 6 from 5 inputs and 6 of the state: 4*6*5 + 4*6*6 for each entry.
TEST(MultiplyAdds, ARecurrenceMultipliesInputAndState) {
  EXPECT_EQ(count("g (float[s,b,5] x, float[1,24,5] w, float[1,24,6] r) => (float[s,1,b,6] y) {"
                  " y = LSTM <hidden_size = 6> (x, w, r) }")
                .formula,
            "264*b*s");
}

TEST(MultiplyAdds, OtherNodesCountNothingAndUnknownOnesAreTold) {
  EXPECT_EQ(count("g (float[n] x) => (float[n] y) { y = Relu (x) }").formula, "0");
  const Counted open = count("g (float[n,4] x, float w) => (float y) { y = MatMul (x, w) }");
  EXPECT_EQ(open.unknown, 1U);
  EXPECT_EQ(
      count("g (float[n,4] x, float[4,3] w) => (float[n,3] y) { y = Einsum <equation = \"ij,jk\"> (x, w) }")
          .unknown,
      1U);
}

}  // namespace
}  // namespace graphopt
