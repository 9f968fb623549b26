// What parts of a model state about their borders.
#include "shapes/boundary_types.h"

#include <gtest/gtest.h>
#include <onnx/checker.h>

#include <optional>
#include <string>

#include "saved_model.h"

namespace graphopt {
namespace {

class Borders : public testing::Test {
 protected:
  // The first part has `first` nodes, the second one the others.
  void cut(const std::string& text, std::ptrdiff_t first) {
    m_ = loaded(parse_model("<ir_version: 10, opset_import: [\"\" : 21]>\n" + text));
    infer_.emplace(m_, InferOptions{});
    infer_->run();
    std::vector<NodeId> nodes;
    for (NodeId n = m_.first_node(m_.main()); n; n = m_.next_node(n)) nodes.push_back(n);
    parts_[0] = part_of(m_, {nodes.begin(), nodes.begin() + first});
    parts_[1] = part_of(m_, {nodes.begin() + first, nodes.end()});
    for (std::size_t i = 0; i < 2; ++i) types_[i] = boundary_types(m_, *infer_, parts_[i]);
  }
  std::string bytes(std::size_t i, const std::vector<TypeOverride>& types) {
    SaveOptions options;
    options.part = &parts_[i];
    options.types = types;
    return saved_bytes(m_, options);
  }
  onnx::GraphProto graph(std::size_t i) {
    onnx::ModelProto out;
    EXPECT_TRUE(out.ParseFromString(bytes(i, types_[i])));
    EXPECT_NO_THROW(onnx::checker::check_model(out, true));
    return out.graph();
  }
  static std::string dims(const onnx::ValueInfoProto& value) {
    std::string out;
    for (const auto& d : value.type().tensor_type().shape().dim())
      out += (out.empty() ? "" : ",") + (d.has_dim_value() ? std::to_string(d.dim_value()) : d.dim_param());
    return value.name() + "[" + out + "]";
  }

  Model m_;
  std::optional<Inference> infer_;
  ModelPart parts_[2];
  std::vector<TypeOverride> types_[2];
};

TEST_F(Borders, HaveTheTypeThatInferenceFound) {
  cut("g (float[N,4] x) => (int64[N] y) { a = Relu (x) y = ArgMax <axis = 1, keepdims = 0> (a) }", 1);
  EXPECT_EQ(dims(graph(0).output(0)), "a[N,4]");
}

TEST_F(Borders, KeepNoDimOfAClaimThatIsWrong) {
  cut("g (float[N] x) => (int64[1,M] y) <int64[2,9] a> { a = NonZero (x) y = Neg (a) }", 1);
  EXPECT_EQ(dims(graph(0).output(0)), "a[1,]");
  EXPECT_EQ(dims(graph(1).input(0)), "a[1,]");
}

TEST_F(Borders, OutputsOfTheModelThatAnotherPartReadsKeepItsNames) {
  cut("g (float[N] x) => (int64[R,M] a, int64[R,M] y) { a = NonZero (x) y = Neg (a) }", 1);
  EXPECT_EQ(dims(graph(0).output(0)), "a[R,M]");
  EXPECT_EQ(dims(graph(1).input(0)), "a[R,M]");  // both sides of a border say the same
}

TEST_F(Borders, OfUnknownRankCannotBeDeclared) {
  cut("g (float[N] x, int64[K] s) => (float[1] y) { a = Reshape (x, s) y = Flatten (a) }", 1);
  for (const ModelPart& p : parts_) {
    const ValueId v = boundary_without_type(m_, *infer_, p);
    ASSERT_TRUE(v);
    EXPECT_EQ(m_.text(m_.value(v).name), "a");
  }
  cut("g (float[N] x, int64[2] s) => (float[1] y) { a = Reshape (x, s) y = Flatten (a) }", 1);
  for (const ModelPart& p : parts_) EXPECT_FALSE(boundary_without_type(m_, *infer_, p));
}

TEST_F(Borders, TypesOfValuesOutsideAPartAreIgnored) {
  cut("g (float[N] x) => (float[N] y) { a = Relu (x) b = Neg (a) c = Exp (b) y = Neg (c) }", 2);
  std::vector<TypeOverride> more = types_[0];
  for (std::size_t i = 0; i < m_.value_count(); ++i)
    if (const ValueId v{i};
        !m_.value(v).is_input && m_.text(m_.value(v).name) != "a" && m_.text(m_.value(v).name) != "b")
      more.push_back({v, m_.types.tensor(DType::Int64), true});
  ASSERT_EQ(more.size(), types_[0].size() + 2);
  EXPECT_EQ(bytes(0, more), bytes(0, types_[0]));
}

}  // namespace
}  // namespace graphopt
