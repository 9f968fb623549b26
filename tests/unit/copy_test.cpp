// Nodes and graphs that are copied, within a model and into another one.

#include "ir/copy.h"

#include <gtest/gtest.h>

#include <string>

#include "ir/print.h"
#include "ir/reader_access.h"
#include "ir/verify.h"
#include "onnx/writer.h"
#include "saved_model.h"

namespace graphopt {
namespace {

class Copying : public testing::Test {
 protected:
  static onnx::ModelProto parse(const std::string& text) {
    return parse_model("<ir_version: 10, opset_import: [\"\" : 21, \"own\" : 1]>\n" + text);
  }
  // An empty model with the operator sets of another one.
  static Model empty_like(const Model& m) {
    Model out;
    out.ir_version = m.ir_version;
    for (const OpsetImport& o : m.opset_tables[0])
      out.opset_tables[0].push_back({out.names.intern(m.text(o.domain)), o.version});
    return out;
  }
  static ValueId named(const Model& m, std::string_view name) {
    for (std::size_t i = 0; i < m.value_count(); ++i)
      if (m.alive(ValueId{i}) && m.text(m.value(ValueId{i}).name) == name) return ValueId{i};
    return {};
  }
  static void expect_sound(const Model& m) { EXPECT_FALSE(verify(m)) << to_string(*verify(m)) << print(m); }
};

constexpr const char* kNested = R"(
g (float[N,4] x, bool c) => (float[P,4] y) <float[4] w = {1, 2, 3, 4}> {
  a = Add (x, w)
  b = own.twice (a)
  y = If (c) <then_branch = t () => (float[N,4] u) { k = Constant <value = float {2}> () s = Mul (b, k)
                u = If (c) <then_branch = t2 () => (float[N,4] u2) { u2 = Neg (s) },
                            else_branch = e2 () => (float[N,4] v2) { v2 = Abs (a) }> },
              else_branch = e () => (float[N,4] v) { v = LeakyRelu <alpha = 0.5> (b) }>
}
<opset_import: ["" : 21], domain: "own"> twice (p) => (q) { h = own.half (p) q = Add (p, h) }
<opset_import: ["" : 21], domain: "own"> half (p) => (q) { q = Identity (p) }
)";

TEST_F(Copying, AWholeGraphIntoAnotherModelKeepsItsBytes) {
  onnx::ModelProto proto = parse(kNested);
  proto.mutable_graph()->mutable_node(0)->set_doc_string("doc");
  onnx::NodeProto* inner =
      proto.mutable_graph()->mutable_node(2)->mutable_attribute(0)->mutable_g()->mutable_node(1);
  inner->add_metadata_props()->set_key("k");
  proto.mutable_graph()->mutable_node(2)->mutable_attribute(1)->mutable_g()->set_doc_string("branch");
  std::string want;
  Model to;
  {
    const Model from = loaded(proto);
    to = empty_like(from);
    ReaderAccess::graph(to, to.main()).name = to.names.intern(from.text(from.graph(from.main()).name));
    Copier copy(from, to, CopiedNames::Keep);
    for (const ValueId v : from.graph_inputs(from.main())) {
      const ValueId made = to.add_input(to.main(), copy.name(from.value(v).name));
      ReaderAccess::value(to, made).declared = copy.type(from.value(v).declared);
      ReaderAccess::value(to, made).info = from.value(v).info;
      copy.map(v, made);
    }
    copy.nodes(from.main(), to.main());
    const ValueId y = copy.find(from.graph_output(from.main(), 0));
    ASSERT_TRUE(y.valid());
    to.set_graph_outputs(to.main(), std::vector<ValueId>{y});
    want = print(from);
    expect_sound(to);
    for (NodeId n = to.first_node(to.main()); n; n = to.next_node(n)) EXPECT_FALSE(to.node(n).dirty);
  }  // the copy outlives its source
  EXPECT_EQ(print(to), want);
  onnx::ModelProto again;
  ASSERT_TRUE(again.ParseFromString(saved_bytes(to)));
  ASSERT_EQ(again.graph().node_size(), proto.graph().node_size());
  for (int i = 0; i < proto.graph().node_size(); ++i)
    EXPECT_EQ(again.graph().node(i).SerializeAsString(), proto.graph().node(i).SerializeAsString()) << i;
  EXPECT_EQ(again.graph().initializer(0).SerializeAsString(),
            proto.graph().initializer(0).SerializeAsString());
  ASSERT_EQ(again.functions_size(), 2);
  EXPECT_EQ(again.graph().output(0).SerializeAsString(), proto.graph().output(0).SerializeAsString());
}

TEST_F(Copying, SharesTensors) {
  const Model from = loaded(parse(kNested));
  Model to = empty_like(from);
  Copier copy(from, to);
  const TensorId t = from.value(named(from, "w")).tensor;
  EXPECT_EQ(&to.tensor(copy.tensor(t)), &from.tensor(t));
  EXPECT_EQ(copy.tensor(t), copy.tensor(t));
}

TEST_F(Copying, TypesFindTheirSymbolsByName) {
  const Model from = loaded(parse(R"(
g (float[N,4] x, float[K] z, seq(float[N]) s) => (float[N,4] y) { y = Relu (x) })"));
  Model to = empty_like(from);
  const DimId k = to.dims.symbol("K");
  Copier copy(from, to);
  const Type& x = to.types[copy.type(from.value(named(from, "x")).declared)];
  ASSERT_EQ(x.dims.size(), 2u);
  EXPECT_EQ(x.dims[0], to.dims.find_symbol("N"));
  EXPECT_EQ(to.dims.value(x.dims[1]), 4);
  EXPECT_EQ(to.types[copy.type(from.value(named(from, "z")).declared)].dims[0], k);
  const Type& s = to.types[copy.type(from.value(named(from, "s")).declared)];
  EXPECT_EQ(s.kind, TypeKind::Sequence);
  EXPECT_EQ(to.types[s.inner].elem, DType::Float);
  EXPECT_EQ(to.types[s.inner].dims.size(), 1u);
}

TEST_F(Copying, ANodeWithBodiesBesideTheOriginal) {
  Model m = loaded(parse(kNested));
  const ValueId y = named(m, "y"), x = named(m, "x"), b = named(m, "b");
  const NodeId branch = m.value(y).def;
  const std::string before = print(m);
  Copier copy(m, m);
  copy.map(b, x);  // the copy reads x in its bodies, where the original reads b
  const NodeId made = copy.node(branch, m.main());
  expect_sound(m);
  EXPECT_TRUE(m.node(made).dirty);
  const ValueId other = m.output(made, 0);
  EXPECT_EQ(copy.find(y), other);
  EXPECT_NE(m.value(other).name, m.value(y).name);
  EXPECT_EQ(m.use_count(b), 2u);  // in two branches of the original
  EXPECT_EQ(m.use_count(x), 3u);  // by a, and in two branches of the copy
  m.erase(made);
  expect_sound(m);
  EXPECT_EQ(print(m), before);
}

TEST_F(Copying, ResultsThatWaitForADefinitionGetIt) {
  Model m = loaded(parse(R"(
g (float[N] x) => (float[N] y) { y = own.f (x) }
<opset_import: ["" : 21], domain: "own"> f (p) => (q) { h = Abs (p) q = Neg (h) })"));
  const NodeId call = m.first_node(m.main());
  const GraphId body = m.function(m.op(call).function).body;
  Copier copy(m, m);
  copy.map(m.graph_inputs(body)[0], m.input(call, 0));
  copy.map(m.graph_output(body, 0), m.detach_output(call, 0));
  copy.nodes(body, m.main(), call);
  m.erase(call);
  expect_sound(m);
  EXPECT_EQ(m.graph(m.main()).node_count, 2u);
  EXPECT_EQ(m.text(m.value(m.graph_output(m.main(), 0)).name), "y");
  EXPECT_EQ(m.graph(body).node_count, 2u);
}

TEST_F(Copying, OptionalOperandsAndResultsStayAbsent) {
  Model m = loaded(parse(R"(
g (float[N] x) => (float[N] y) { y = Clip (x, "", x) u, "" = Dropout (x) })"));
  Copier copy(m, m);
  const NodeId clip = copy.node(m.first_node(m.main()), m.main());
  EXPECT_FALSE(m.input(clip, 1).valid());
  EXPECT_EQ(m.input(clip, 2), named(m, "x"));
  const NodeId dropout = copy.node(m.value(named(m, "u")).def, m.main());
  EXPECT_EQ(m.output_count(dropout), 2u);
  EXPECT_FALSE(m.output(dropout, 1).valid());
  expect_sound(m);
}

TEST_F(Copying, AFunctionThatIsThereIsNotCopiedAgain) {
  const Model from = loaded(parse(kNested));
  Model to = empty_like(from);
  for (int i = 0; i < 2; ++i) {
    Copier copy(from, to);
    copy.map(named(from, "a"), to.add_input(to.main(), to.fresh_name("in")));
    copy.node(from.value(named(from, "b")).def, to.main());
  }
  EXPECT_EQ(to.function_count(), 2u);  // own.twice and own.half, which it calls
  expect_sound(to);
}

}  // namespace
}  // namespace graphopt
