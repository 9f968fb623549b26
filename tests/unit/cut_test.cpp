// The model cut at values, as bytes.
#include "driver/cut.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "saved_model.h"

namespace graphopt {
namespace {

Result<std::string> cut(std::vector<std::string> inputs, std::vector<std::string> outputs) {
  Model m = loaded(parse_model(R"(<ir_version: 10, opset_import: ["" : 21]>
    g (float[N, 4] x, float[N, 4] z) => (float[N, 4] y) <float[4] w = {1, 2, 3, 4}> {
      a = Add (x, w)
      s = Shape (a)
      b = Mul (a, z)
      y = Reshape (b, s)
    })"));
  LoadStage::Options options;
  options.inputs = std::move(inputs);
  options.outputs = std::move(outputs);
  std::vector<Warning> warnings;
  return cut_model(std::move(m), options, ".", warnings);
}

onnx::GraphProto graph(const Result<std::string>& bytes) {
  onnx::ModelProto m;
  EXPECT_TRUE(bytes.ok()) << (bytes.ok() ? "" : to_string(bytes.error()));
  EXPECT_TRUE(bytes.ok() && m.ParseFromString(*bytes));
  return m.graph();
}

TEST(Cut, KeepsWhatTheOutputsNeed) {
  const onnx::GraphProto g = graph(cut({}, {"s", "a"}));
  ASSERT_EQ(g.node_size(), 2);
  ASSERT_EQ(g.input_size(), 1);
  EXPECT_EQ(g.input(0).name(), "x");
  ASSERT_EQ(g.output_size(), 2);
  EXPECT_EQ(g.output(0).name(), "s");
  EXPECT_EQ(g.output(0).type().tensor_type().elem_type(), onnx::TensorProto::INT64);
  EXPECT_EQ(g.output(1).type().tensor_type().shape().dim(0).dim_param(), "N");
}

TEST(Cut, DeclaresInnerValuesAsInputs) {
  const onnx::GraphProto g = graph(cut({"b", "s"}, {}));
  ASSERT_EQ(g.node_size(), 1);
  EXPECT_EQ(g.initializer_size(), 0);
  ASSERT_EQ(g.input_size(), 2);
  EXPECT_EQ(g.input(0).name(), "b");
  EXPECT_EQ(g.input(0).type().tensor_type().shape().dim(1).dim_value(), 4);
  EXPECT_EQ(g.input(1).type().tensor_type().shape().dim(0).dim_value(), 2);
}

TEST(Cut, NamesAllInputsThatAreMissing) {
  const Result<std::string> bytes = cut({"w"}, {"y"});
  ASSERT_FALSE(bytes.ok());
  ASSERT_EQ(bytes.errors().size(), 2u);
  EXPECT_EQ(bytes.error().kind, ErrorKind::Usage);
  EXPECT_NE(bytes.errors()[0].what.find("'x'"), std::string::npos);
  EXPECT_NE(bytes.errors()[1].what.find("'z'"), std::string::npos);
}

TEST(Cut, PassesAValueThrough) {
  const onnx::GraphProto g = graph(cut({"a"}, {"a"}));
  EXPECT_EQ(g.node_size(), 0);
  ASSERT_EQ(g.input_size(), 1);
  ASSERT_EQ(g.output_size(), 1);
  EXPECT_EQ(g.output(0).name(), "a");
  EXPECT_EQ(g.output(0).type().tensor_type().elem_type(), onnx::TensorProto::FLOAT);
}

}  // namespace
}  // namespace graphopt
