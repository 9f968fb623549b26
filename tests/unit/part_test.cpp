// Parts of a model: what they need from outside, and the models that are written of them.

#include "ir/part.h"

#include <gtest/gtest.h>
#include <onnx/checker.h>

#include <algorithm>
#include <string>
#include <vector>

#include "onnx/writer.h"
#include "saved_model.h"

namespace graphopt {
namespace {

using Names = std::vector<std::string>;

class Part : public testing::Test {
 protected:
  void load(const std::string& text) {
    proto_ = parse_model("<ir_version: 10, opset_import: [\"\" : 21, \"own\" : 1, \"other\" : 2]>\n" + text);
    annotate();
    m_ = loaded(proto_);
  }
  virtual void annotate() {}

  // The part of the nodes that make these values.
  ModelPart part(const Names& results) {
    std::vector<NodeId> nodes;
    for (NodeId n = m_.first_node(m_.main()); n; n = m_.next_node(n))
      if (std::ranges::count(results, name(m_.output(n, 0))) > 0) nodes.push_back(n);
    std::ranges::reverse(nodes);  // the order in which they are given has no meaning
    EXPECT_EQ(nodes.size(), results.size());
    return part_of(m_, nodes);
  }

  std::string name(ValueId v) const { return std::string(m_.text(m_.value(v).name)); }
  Names names(const std::vector<ValueId>& values) const {
    Names out;
    for (const ValueId v : values) out.push_back(name(v));
    return out;
  }

  onnx::ModelProto saved(const ModelPart& p, std::span<const TypeOverride> types = {}) {
    SaveOptions options;
    options.part = &p;
    options.types = types;
    onnx::ModelProto out;
    EXPECT_TRUE(out.ParseFromString(saved_bytes(m_, options)));
    return out;
  }
  TypeOverride floats(const std::string& value) {
    for (std::size_t i = 0; i < m_.value_count(); ++i)
      if (name(ValueId{i}) == value)
        return {ValueId{i}, m_.types.tensor(DType::Float, std::vector<DimId>{m_.dims.constant(4)}), true};
    ADD_FAILURE() << value;
    return {};
  }

  onnx::ModelProto proto_;
  Model m_;
};

constexpr const char* kChain = R"(
g (float[4] x, float[4] z, bool c) => (float[4] y, float[4] b)
    <float[4] w = {1, 2, 3, 4}, float[4] v = {5, 6, 7, 8}> {
  a = Add (x, w)
  b = own.twice (a)
  d = If (c) <then_branch = t () => (float[4] p) { p = Mul (a, v) },
              else_branch = e () => (float[4] q) { q = Identity (z) }>
  y = Sub (d, w)
}
<opset_import: ["" : 21, "own" : 1], domain: "own"> twice (p) => (q) { h = own.half (p) q = Add (p, h) }
<opset_import: ["" : 21], domain: "own"> half (p) => (q) { q = Identity (p) }
<opset_import: ["" : 21], domain: "other"> unused (p) => (q) { q = Identity (p) }
)";

TEST_F(Part, ReadsWhatItsNodesAndTheirBodiesRead) {
  load(kChain);
  const ModelPart p = part({"d", "y"});
  EXPECT_EQ(names(p.inputs), (Names{"z", "c", "a"}));  // the model's first, in its order
  EXPECT_EQ(names(p.outputs), (Names{"y"}));
  EXPECT_EQ(names(p.initializers), (Names{"w", "v"}));
  EXPECT_TRUE(p.functions.empty());
}

TEST_F(Part, GivesWhatOthersReadAndTheOutputsOfTheModel) {
  load(kChain);
  const ModelPart p = part({"a", "b"});
  EXPECT_EQ(names(p.inputs), (Names{"x"}));
  EXPECT_EQ(names(p.outputs), (Names{"b", "a"}));  // the model's first; a is captured by a body elsewhere
  EXPECT_EQ(names(p.initializers), (Names{"w"}));
  ASSERT_EQ(p.functions.size(), 2u);  // with the one that the first one calls
  Names domains;
  for (const OpsetImport& o : p.opsets) domains.emplace_back(m_.text(o.domain));
  EXPECT_EQ(domains, (Names{"", "own"}));
}

TEST_F(Part, IsWrittenAsAModelOfItsOwn) {
  load(kChain);
  const ModelPart p = part({"d", "y"});
  const TypeOverride types[] = {floats("a")};
  const onnx::ModelProto out = saved(p, types);
  EXPECT_NO_THROW(onnx::checker::check_model(out, true));
  ASSERT_EQ(out.graph().node_size(), 2);
  for (int i = 0; i < 2; ++i)  // bytes of untouched nodes stay
    EXPECT_EQ(out.graph().node(i).SerializeAsString(), proto_.graph().node(i + 2).SerializeAsString());
  ASSERT_EQ(out.graph().input_size(), 3);
  EXPECT_EQ(out.graph().input(2).name(), "a");
  EXPECT_EQ(out.graph().input(2).type().tensor_type().shape().dim(0).dim_value(), 4);
  EXPECT_EQ(out.graph().output_size(), 1);
  EXPECT_EQ(out.graph().value_info_size(), 0);
  EXPECT_EQ(out.functions_size(), 0);
  EXPECT_EQ(out.opset_import_size(), 1);
}

TEST_F(Part, OfAllNodesIsTheModel) {
  load(kChain);
  const onnx::ModelProto out = saved(part({"a", "b", "d", "y"}));
  EXPECT_EQ(out.graph().SerializeAsString(), proto_.graph().SerializeAsString());
  EXPECT_EQ(out.functions_size(), 2);  // without the one that nobody calls
}

TEST_F(Part, AnOverridableInitializerStaysOneInEachPartThatReadsIt) {
  load("g (float[4] x, float[4] w = {1, 2, 3, 4}) => (float[4] y) { a = Add (x, w) y = Mul (a, w) }");
  for (const char* result : {"a", "y"}) {
    const ModelPart p = part({result});
    EXPECT_EQ(std::ranges::count(names(p.inputs), "w"), 1) << result;
    EXPECT_EQ(names(p.initializers), (Names{"w"})) << result;
  }
}

class Annotated : public Part {
 protected:
  void annotate() override {
    for (const char* name : {"a", "y"}) {
      onnx::TensorAnnotation* q = proto_.mutable_graph()->add_quantization_annotation();
      q->set_tensor_name(name);
      onnx::StringStringEntryProto* entry = q->add_quant_parameter_tensor_names();
      entry->set_key("SCALE_TENSOR");
      entry->set_value("w");
    }
    proto_.mutable_graph()->set_doc_string("doc");
    onnx::StringStringEntryProto* meta = proto_.add_metadata_props();
    meta->set_key("k");
    meta->set_value("v");
    proto_.add_training_info();
  }
};

TEST_F(Annotated, AnnotationsAndMetadataComeAlongTrainingInfoDoesNot) {
  load(kChain);
  const TypeOverride types[] = {floats("a")};
  const onnx::ModelProto out = saved(part({"d", "y"}), types);
  ASSERT_EQ(out.graph().quantization_annotation_size(), 2);  // a is an input of the part
  EXPECT_EQ(out.graph().doc_string(), "doc");
  EXPECT_EQ(out.metadata_props_size(), 1);
  EXPECT_EQ(out.training_info_size(), 0);
  const onnx::ModelProto first = saved(part({"a"}), types);
  ASSERT_EQ(first.graph().quantization_annotation_size(), 1);
  EXPECT_EQ(first.graph().quantization_annotation(0).tensor_name(), "a");
}

}  // namespace
}  // namespace graphopt
