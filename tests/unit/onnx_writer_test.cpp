// The saver on models that were changed: what changed is written, all else stays. (Unchanged ones:
// tests/cli/io_roundtrip.py.)
#include <gtest/gtest.h>

#include <string>

#include "ir/reader_access.h"
#include "onnx/writer.h"
#include "saved_model.h"
#include "support/known_names.h"

namespace graphopt {
namespace {

class Writer : public testing::Test {
 protected:
  static onnx::ModelProto parse(const std::string& text, const std::string& header = kHeader) {
    return parse_model(header + text);
  }
  static Model load(const onnx::ModelProto& m) { return loaded(m); }

  static onnx::ModelProto save(const Model& m, std::span<const TypeOverride> types = {}) {
    SaveOptions options;
    options.types = types;
    const std::string bytes = saved_bytes(m, options);
    onnx::ModelProto out;
    EXPECT_TRUE(out.ParseFromString(bytes));
    EXPECT_EQ(out.SerializeAsString(), bytes);  // fields in protobuf's own order
    return out;
  }

  static ValueId named(const Model& m, std::string_view name) {
    for (std::uint32_t i = 0; i < m.value_count(); ++i)
      if (m.text(m.value(ValueId{i}).name) == name) return ValueId{i};
    return {};
  }

  static constexpr const char* kHeader = "<ir_version: 10, opset_import: [\"\" : 21, \"my\" : 1]>\n";
};

TEST_F(Writer, AChangedNodeKeepsWhatItHad) {
  onnx::ModelProto p =
      parse("g (float[n] x) => (float[n] y) { a = Relu(x) y = LeakyRelu <alpha = 0.5> (a) }");
  onnx::NodeProto* node = p.mutable_graph()->mutable_node(1);
  node->set_doc_string("doc");
  node->set_name("leaky");
  node->add_metadata_props()->set_key("k");
  node->mutable_attribute(0)->set_doc_string("of alpha");
  Model m = load(p);
  const NodeId leaky = m.next_node(m.first_node(m.main()));
  m.set_operand(leaky, 0, m.graph_inputs(m.main())[0]);
  m.erase(m.first_node(m.main()));
  const onnx::ModelProto out = save(m);
  onnx::ModelProto expected = p;
  expected.mutable_graph()->mutable_node()->DeleteSubrange(0, 1);
  expected.mutable_graph()->mutable_node(0)->set_input(0, "x");
  EXPECT_EQ(out.SerializeAsString(), expected.SerializeAsString());
}

TEST_F(Writer, MadeNodesAndAttributes) {
  Model m = load(parse("g (float[n] x) => (float[n] y) { y = Relu(x) }"));
  const ValueId x = m.graph_inputs(m.main())[0];
  const NodeId relu = m.first_node(m.main());
  const ValueId operands[] = {x, {}, x};
  const NodeId made =
      m.add_node_like(m.main(), m.intern_op(OpKind::Opaque, "my", "Op", "over"), operands, 2, "made", relu);
  m.set_attr_int(made, known_name("axis"), -1);
  const std::int64_t perm[] = {1, 0};
  m.set_attr_ints(made, known_name("perm"), perm);
  Attr text;
  text.name = known_name("mode");
  text.kind = AttrKind::String;
  text.s = "linear";
  m.set_attr(made, text);
  Attr alpha;
  alpha.name = known_name("alpha");
  alpha.kind = AttrKind::Float;
  alpha.f = 0.25f;
  m.set_attr(made, alpha);
  m.set_operand(relu, 0, m.output(made, 1));
  const onnx::NodeProto out = save(m).graph().node(0);
  EXPECT_EQ(out.op_type(), "Op");
  EXPECT_EQ(out.domain(), "my");
  EXPECT_EQ(out.overload(), "over");
  ASSERT_EQ(out.input_size(), 3);
  EXPECT_EQ(out.input(1), "");
  ASSERT_EQ(out.attribute_size(), 4);
  EXPECT_EQ(out.attribute(0).i(), -1);
  EXPECT_EQ(out.attribute(1).ints(0), 1);
  EXPECT_EQ(out.attribute(1).type(), onnx::AttributeProto::INTS);
  EXPECT_EQ(out.attribute(2).s(), "linear");
  EXPECT_EQ(out.attribute(3).f(), 0.25f);
}

TEST_F(Writer, AChangeInsideASubgraphAlone) {
  const onnx::ModelProto p = parse(R"(g (float[n] x, bool c) => (float[n] y) {
      y = If (c)
         <then_branch = t () => (float[n] a) { s = Abs(x) a = Neg(s) },
          else_branch = e () => (float[n] b) { b = Neg(x) }> })");
  Model m = load(p);
  const GraphId then_branch = m.attrs(m.first_node(m.main()))[0].graphs[0];
  const NodeId neg = m.next_node(m.first_node(then_branch));
  m.set_operand(neg, 0, m.graph_inputs(m.main())[0]);
  onnx::ModelProto expected = p;
  expected.mutable_graph()->mutable_node(0)->mutable_attribute(0)->mutable_g()->mutable_node(1)->set_input(
      0, "x");
  EXPECT_EQ(save(m).SerializeAsString(), expected.SerializeAsString());
}

TEST_F(Writer, AGraphInTheFieldOfSeveralIsWrittenOnce) {
  onnx::ModelProto p = parse(R"(g (float[n] x, bool c) => (float[n] y) {
      y = If (c)
         <then_branch = t () => (float[n] a) { s = Abs(x) a = Neg(s) },
          else_branch = e () => (float[n] b) { b = Neg(x) }> })");
  onnx::AttributeProto* branch = p.mutable_graph()->mutable_node(0)->mutable_attribute(0);
  *branch->add_graphs() = branch->g();
  branch->clear_g();  // its type is GRAPH still
  Model m = load(p);
  const GraphId then_branch = m.attrs(m.first_node(m.main()))[0].graphs[0];
  m.set_operand(m.next_node(m.first_node(then_branch)), 0, m.graph_inputs(m.main())[0]);
  const onnx::AttributeProto written = save(m).graph().node(0).attribute(0);
  EXPECT_EQ(written.g().node(1).input(0), "x");
  EXPECT_EQ(written.graphs_size(), 0);
}

TEST_F(Writer, AFieldOfAnotherKindIsNoName) {
  onnx::ModelProto p = parse(R"(g (float[n] x) => (float[n] y) { y = my.F(x) }
      <opset_import: ["" : 21], domain: "my"> F (a) => (b) { b = Abs(a) })");
  onnx::FunctionProto f;
  ASSERT_TRUE(f.ParseFromString(p.functions(0).SerializeAsString() + std::string("\x08\x01", 2)));
  *p.mutable_functions(0) = f;
  EXPECT_EQ(save(load(p)).functions(0).name(), "F");
}

// ONNX Runtime looks for the domain of each node of a function, of nodes in bodies too, among the imports as
// they are spelled.
TEST_F(Writer, AFunctionSpellsTheStandardDomainInOneWay) {
  const onnx::ModelProto p = parse(R"(g (float[n] x) => (float[n] y) { y = Abs(x) }
      <opset_import: ["ai.onnx" : 21], domain: "my"> F (a, c) => (b) {
        s = ai.onnx.Neg(a)
        b = ai.onnx.If (c) <then_branch = t () => (float[n] u) { u = ai.onnx.Relu(s) },
                            else_branch = e () => (float[n] v) { v = Abs(s) }> })");
  const onnx::FunctionProto f = save(load(p)).functions(0);
  ASSERT_EQ(f.opset_import_size(), 1);
  EXPECT_EQ(f.opset_import(0).domain(), "");
  EXPECT_EQ(f.opset_import(0).version(), 21);
  ASSERT_EQ(f.node_size(), 2);
  for (const onnx::NodeProto& n : f.node()) EXPECT_EQ(n.domain(), "");
  for (const onnx::AttributeProto& a : f.node(1).attribute()) EXPECT_EQ(a.g().node(0).domain(), "");
}

TEST_F(Writer, AModelKeepsTheSpellingOfTheStandardDomain) {
  const onnx::ModelProto p = parse("g (float[n] x) => (float[n] y) { y = ai.onnx.Abs(x) }",
                                   "<ir_version: 10, opset_import: [\"ai.onnx\" : 21]>\n");
  EXPECT_EQ(save(load(p)).SerializeAsString(), p.SerializeAsString());
}

TEST_F(Writer, ConstantsOfAFunctionBecomeNodes) {
  Model m = load(parse(R"(g (float[n] x) => (float[n] y) { y = my.F(x) }
      <opset_import: ["" : 21], domain: "my">
       F (a) => (b) { c = Constant <value_float = 2.0> () d = Abs(a) b = Mul(d, c) })"));
  const GraphId body = m.function(FunctionId{std::uint32_t{0}}).body;
  const NodeId constant = m.first_node(body);
  const ValueId c = m.output(constant, 0);
  m.make_constant(c, m.value(c).tensor);
  m.erase(constant);
  const onnx::FunctionProto f = save(m).functions(0);
  ASSERT_EQ(f.node_size(), 3);
  EXPECT_EQ(f.node(0).op_type(), "Constant");
  EXPECT_EQ(f.node(0).output(0), "c");
  ASSERT_EQ(f.node(0).attribute(0).name(), "value");
  const onnx::TensorProto& t = f.node(0).attribute(0).t();
  EXPECT_EQ(t.data_type(), onnx::TensorProto::FLOAT);
  EXPECT_EQ(t.raw_data(), std::string("\0\0\0\x40", 4));
}

TEST_F(Writer, ConstantsBeforeIrVersion4BecomeNodes) {
  onnx::ModelProto p = parse(
      "g (float[n] x, float[1] w) => (float[n] y) { c = Constant <value = float[1] {3}> () t = Add(x, c) y = "
      "Add(t, w) }",
      "<ir_version: 3, opset_import: [\"\" : 8]>\n");
  onnx::TensorProto* w = p.mutable_graph()->add_initializer();
  w->set_name("w");
  w->set_data_type(onnx::TensorProto::FLOAT);
  w->add_dims(1);
  w->add_float_data(1);
  Model m = load(p);
  const NodeId constant = m.first_node(m.main());
  const ValueId c = m.output(constant, 0);
  m.make_constant(c, m.value(c).tensor);
  m.erase(constant);
  const onnx::GraphProto g = save(m).graph();
  EXPECT_EQ(g.initializer_size(), 1);
  EXPECT_EQ(g.initializer(0).name(), "w");
  EXPECT_EQ(g.node_size(), 3);
  EXPECT_EQ(g.node(0).op_type(), "Constant");
}

TEST_F(Writer, ARenamedInitializerKeepsItsFields) {
  onnx::ModelProto p = parse("g (float[n] x) => (float[n] y) <float[1] w = {1}> { y = Add(x, w) }");
  p.mutable_graph()->mutable_initializer(0)->set_doc_string("doc");
  Model m = load(p);
  m.rename(named(m, "w"), m.fresh_name("weight"));
  onnx::ModelProto expected = p;
  expected.mutable_graph()->mutable_initializer(0)->set_name("weight");
  expected.mutable_graph()->mutable_node(0)->set_input(1, "weight");
  EXPECT_EQ(save(m).SerializeAsString(), expected.SerializeAsString());
}

TEST_F(Writer, StringTensors) {
  Model m = load(parse("g () => (string[2] y) { y = Constant <value_strings = [\"a\", \"\"]> () }"));
  const NodeId constant = m.first_node(m.main());
  const ValueId y = m.output(constant, 0);
  m.make_constant(y, m.value(y).tensor);
  m.erase(constant);
  const onnx::TensorProto t = save(m).graph().initializer(0);
  ASSERT_EQ(t.string_data_size(), 2);
  EXPECT_EQ(t.string_data(0), "a");
  EXPECT_EQ(t.dims(0), 2);
}

TEST_F(Writer, StaleAndRemovedValueInfos) {
  Model m = load(
      parse("g (float[n] x) => (float[n] y) <float[n] a, float[n] b> { a = Relu(x) b = Abs(a) y = Neg(b) }"));
  ASSERT_EQ(save(m).graph().value_info_size(), 2);
  ReaderAccess::value(m, named(m, "a")).info_stale = true;
  const onnx::GraphProto g = save(m).graph();
  ASSERT_EQ(g.value_info_size(), 1);
  EXPECT_EQ(g.value_info(0).name(), "b");
}

TEST_F(Writer, OverriddenTypes) {
  onnx::ModelProto p = parse(
      "g (float[n] x) => (float[q] y, float[] z) <float[k, unk] a> { a = Op(x) y = Neg(a) i = Op(a) z = "
      "Op(i) }");
  onnx::ValueInfoProto* a = p.mutable_graph()->mutable_value_info(0);
  a->set_doc_string("doc");
  a->mutable_type()->set_denotation("IMAGE");
  a->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(1)->set_denotation("DATA_CHANNEL");
  Model m = load(p);
  const DimId n = m.dims.symbol("n");
  const DimId two_n[] = {{}, m.dims.mul(m.dims.constant(2), n)};
  const DimId five[] = {m.dims.constant(5)};
  const TypeOverride types[] = {{named(m, "a"), m.types.tensor(DType::Float, two_n)},
                                {named(m, "y"), m.types.tensor(DType::Float, five)},
                                {named(m, "i"), m.types.sequence(m.types.tensor(DType::Int64))}};
  const onnx::GraphProto g = save(m, types).graph();
  onnx::ValueInfoProto expected = *a;  // dim 0 is not known: its claim stays
  expected.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(1)->set_dim_param("2*n");
  ASSERT_EQ(g.value_info_size(), 2);
  EXPECT_EQ(g.value_info(0).SerializeAsString(), expected.SerializeAsString());
  EXPECT_EQ(g.value_info(1).name(), "i");
  EXPECT_EQ(g.value_info(1).type().sequence_type().elem_type().tensor_type().elem_type(),
            onnx::TensorProto::INT64);
  EXPECT_EQ(g.output(0).type().tensor_type().shape().dim(0).dim_value(), 5);
  EXPECT_EQ(g.output(1).SerializeAsString(), p.graph().output(1).SerializeAsString());
}

TEST_F(Writer, AddedOpsetsComeBehind) {
  onnx::ModelProto p = parse("g (float[n] x) => (float[n] y) { y = Relu(x) }");
  Model m = load(p);
  m.opset_tables[0].push_back({m.names.intern("com.microsoft"), 1});
  const onnx::ModelProto out = save(m);
  ASSERT_EQ(out.opset_import_size(), 3);
  EXPECT_EQ(out.opset_import(2).domain(), "com.microsoft");
  m.opset_tables[0][0].version = 22;
  m.ir_version = 11;
  EXPECT_EQ(save(m).opset_import(0).version(), 22);
  EXPECT_EQ(save(m).ir_version(), 11);
}

}  // namespace
}  // namespace graphopt
