// What fixed shapes would change: the open dims of inputs, the options that fix them, the nodes that follow.

#include "devices/open_dims.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "device_case.h"
#include "onnx/reader.h"  // of device_case.h

namespace graphopt {
namespace {

// "options: nodes".
std::string fixed(const std::string& keys, const std::string& graph, InferOptions options = {}) {
  DeviceCase c(keys, graph, std::move(options));
  const OpenDims open = open_dims(*c.model, *c.facts);
  std::string out;
  for (const std::string& remedy : open.remedies) out += (out.empty() ? "" : " ") + remedy;
  std::vector<bool> taken;
  for (const Verdict& v : c.support->check_all()) taken.push_back(v.supported());
  return out + ": " + std::to_string(nodes_for_fixed_shapes(c.profile, *c.model, *c.facts, open, taken));
}

const std::string kStatic = R"("shapes": "static", "rules": [{"op": "Relu"}, {"op": "Reshape"}])";

TEST(DeviceOpenDims, SymbolsOfInputs) {
  EXPECT_EQ(fixed(kStatic, "g (float[N,3] x) => (float[N,3] y) { y = Relu (x) }"), "--dim 'N=SIZE': 1");
  EXPECT_EQ(fixed(kStatic, "g (float[2,3] x) => (float[2,3] y) { y = Relu (x) }"), ": 0");
  // A symbol twice; a dim without a name; one that is an expression.
  EXPECT_EQ(fixed(kStatic, R"(g (float[N,3] a, float[N,?] b) => (float[N,3] y, float[A,B] z)
              { y = Relu (a)  z = Relu (b) })"),
            "--dim 'N=SIZE' --shape 'b=-1,SIZE': 2");
}

TEST(DeviceOpenDims, WhatFollowsFromInputs) {
  // 2 * N is a number once N is.
  EXPECT_EQ(fixed(kStatic, R"(g (float[N,4] x) => (float[A,B] y) <int64[2] s = {-1, 2}>
              { a = Reshape (x, s)  y = Relu (a) })"),
            "--dim 'N=SIZE': 2");
  // The count of NonZero depends on data, whatever N is.
  EXPECT_EQ(fixed(R"("shapes": "static", "rules": [{"op": "Relu"}, {"op": "NonZero"}, {"op": "Cast"}])",
                  R"(g (float[N] x) => (float[A,B] y, float[N] z)
              { a = NonZero (x)  b = Cast <to = 1> (a)  y = Relu (b)  z = Relu (x) })"),
            "--dim 'N=SIZE': 1");
}

TEST(DeviceOpenDims, ConditionsOnSizesHoldWhereOneFits) {
  const std::string graph = "g (float[N,3] x) => (float[N,3] y) { y = Relu (x) }";
  const auto with = [](const std::string& condition) {
    return R"("shapes": "static", "rules": [{"op": "Relu", "inputs": [{"index": 0, )" + condition + "}]}]";
  };
  EXPECT_EQ(fixed(with(R"("extents": [0, 16])"), graph), "--dim 'N=SIZE': 1");
  EXPECT_EQ(fixed(with(R"("extents": [4, 16])"), graph), "--dim 'N=SIZE': 0");  // the 3 does not fit
  EXPECT_EQ(fixed(with(R"("dims": [{"axis": 0, "range": [1, 2], "multiple_of": 2, "static": true}])"), graph),
            "--dim 'N=SIZE': 1");
  EXPECT_EQ(fixed(with(R"("dims": [{"axis": 0, "static": false}])"), graph), "--dim 'N=SIZE': 0");
  EXPECT_EQ(fixed(with(R"("bytes": [24, 24])"), graph), "--dim 'N=SIZE': 1");
  EXPECT_EQ(fixed(with(R"("ranks": [3, 3])"), graph), "--dim 'N=SIZE': 0");
  EXPECT_EQ(fixed(with(R"("dims": [{"axis": 0, "range": [100, 200]}])"), graph, {}), "--dim 'N=SIZE': 1");
}

}  // namespace
}  // namespace graphopt
