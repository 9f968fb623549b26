// The loader: what ends up in the model. What must survive a round trip is tested with whole files
// (tests/cli/io_roundtrip.py), what must be refused in tests/cli/bad_input.py.
#include <gtest/gtest.h>
#include <onnx/defs/parser.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "ir/verify.h"
#include "onnx/reader.h"
#include "onnx/writer.h"
#include "support/known_names.h"

namespace graphopt {
namespace {

onnx::ModelProto parse(const std::string& text) {
  onnx::ModelProto m;
  onnx::OnnxParser parser(text);
  const onnx::Common::Status s = parser.Parse(m);
  EXPECT_TRUE(s.IsOK()) << s.ErrorMessage();
  return m;
}

Result<Model> load(const onnx::ModelProto& m) {
  std::vector<Warning> warnings;
  return load_model_from_memory(m.SerializeAsString(), "m.onnx", ".", warnings);
}

ValueId named(const Model& m, std::string_view name) {
  ValueId found;
  for (std::uint32_t i = 0; i < m.value_count(); ++i)
    if (m.text(m.value(ValueId{i}).name) == name) found = ValueId{i};
  return found;
}

constexpr const char* kHeader = "<ir_version: 10, opset_import: [\"\" : 21, \"my\" : 1]>\n";

TEST(Reader, SymbolsOfInputsAndClaimsOfOutputs) {
  const Result<Model> m = load(
      parse(std::string(kHeader) + "g (float[n, 3, k] x, float[m] z) => (float[q, 3] y) { y = Relu(x) }"));
  ASSERT_TRUE(m.ok());
  const Type& x = m->types[m->value(m->graph_inputs(m->main())[0]).declared];
  ASSERT_EQ(x.dims.size(), 3u);
  EXPECT_EQ(m->dims.print(x.dims[0]), "n");
  EXPECT_EQ(m->dims.value(x.dims[1]), 3);
  const Type& y = m->types[m->value(m->graph_output(m->main(), 0)).declared];
  EXPECT_FALSE(y.dims[0].valid());  // a name in an output is a claim
  EXPECT_EQ(m->dims.value(y.dims[1]), 3);
}

// Whatever a pass knows of an operator it knows by its kind, so the reader tells what no pass may look
// through.
TEST(Reader, NodesWithUnknownAttributesAreOpaque) {
  const auto kinds = [](const std::string& graph) {
    Result<Model> m = load(parse(std::string(kHeader) + graph));
    EXPECT_TRUE(m.ok());
    std::vector<OpKind> out;
    for (NodeId n = m->first_node(m->main()); n; n = m->next_node(n)) out.push_back(m->kind(n));
    return out;
  };
  EXPECT_EQ(kinds("g (float[2] x) => (float[2] y) { a = Cast <to = 1> (x) b = Identity (a) y = Relu (b) }"),
            (std::vector{OpKind::Cast, OpKind::Identity, OpKind::Relu}));
  EXPECT_EQ(
      kinds("g (float[2] x) => (float[2] y) { a = Cast <to = 1, odd = 1> (x) b = Identity <odd = 1> (a) "
            "y = Relu <odd = 1> (b) }"),
      (std::vector{OpKind::Opaque, OpKind::Opaque, OpKind::Opaque}));
  // `saturate` is an attribute of Cast from opset 19 on; constants and bodies are no exception.
  EXPECT_EQ(kinds("g (bool c, float[2] x) => (float[2] y) { k = Constant <value_float = 1., odd = 1> () "
                  "y = If <odd = 1, then_branch = t () => (p) { p = Relu (x) }, "
                  "else_branch = e () => (q) { q = Identity (x) }> (c) }"),
            (std::vector{OpKind::Opaque, OpKind::Opaque}));
  Result<Model> old =
      load(parse("<ir_version: 8, opset_import: [\"\" : 13]>"
                 "g (float[2] x) => (float[2] y) { y = Cast <to = 1, saturate = 1> (x) }"));
  ASSERT_TRUE(old.ok());
  EXPECT_EQ(old->kind(old->first_node(old->main())), OpKind::Opaque);
}

// A kept value_info would say something of a new value that took its name.
TEST(Reader, NamesInValueInfoAreTaken) {
  Result<Model> m = load(
      parse(std::string(kHeader) + "g (float[n] x) => (float[n] y) <float[5, 5] x_moved> { y = Relu(x) }"));
  ASSERT_TRUE(m.ok());
  EXPECT_EQ(m->text(m->fresh_name("x_moved")), "x_moved_1");
}

TEST(Reader, ExpressionsInInputDims) {
  onnx::ModelProto p =
      parse(std::string(kHeader) + "g (float[a] x, float[n] z) => (float[] y) { y = Add(x, z) }");
  p.mutable_graph()
      ->mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(0)
      ->set_dim_param("2*n + 1");
  Result<Model> m = load(p);
  ASSERT_TRUE(m.ok());
  const DimId a = m->types[m->value(m->graph_inputs(m->main())[0]).declared].dims[0];
  const DimId n = m->types[m->value(m->graph_inputs(m->main())[1]).declared].dims[0];
  EXPECT_TRUE(m->dims.is_symbol(n));
  EXPECT_EQ(a, m->dims.add(m->dims.mul(m->dims.constant(2), n), m->dims.constant(1)));
}

// A model whose inputs are tensors with one dim each, with these names.
onnx::ModelProto inputs_named(const std::vector<std::string>& names) {
  onnx::ModelProto p = parse(std::string(kHeader) + "g (float[n] x) => (float[n] y) { y = Relu(x) }");
  const onnx::ValueInfoProto x = p.graph().input(0);
  p.mutable_graph()->clear_input();
  for (const std::string& name : names) {
    onnx::ValueInfoProto* input = p.mutable_graph()->add_input();
    *input = x;
    if (p.graph().input_size() > 1) input->set_name("x" + std::to_string(p.graph().input_size()));
    input->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_param(name);
  }
  return p;
}

std::vector<DimId> input_dims(const Model& m) {
  std::vector<DimId> out;
  for (const ValueId v : m.graph_inputs(m.main())) {
    const Type* t = &m.types[m.value(v).declared];
    while (t->inner) t = &m.types[t->inner];
    out.push_back(t->dims[0]);
  }
  return out;
}

TEST(Reader, OtherNamesOfInputDimsAreOnlyNames) {
  const std::vector<std::string> names = {"-1",  "N-N", "N - 1", "()", "+N", "N*0",   "1",
                                          "K+1", "N",   "N+2",   "-1", " N", "N + 2", "u1"};
  const Result<Model> m = load(inputs_named(names));
  ASSERT_TRUE(m.ok());
  const std::vector<DimId> dims = input_dims(*m);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool expression = names[i] == "N+2" || names[i] == "N + 2";
    EXPECT_NE(m->dims.is_symbol(dims[i]), expression) << names[i];
    if (!expression) {
      EXPECT_EQ(m->dims.symbol_name(dims[i]), names[i]);
    }
  }
  EXPECT_EQ(dims[0], dims[10]);
  EXPECT_NE(dims[8], dims[11]);
  EXPECT_EQ(dims[9], dims[12]);
  EXPECT_EQ(m->dims.print(dims[9]), "N + 2");
}

TEST(Reader, ExpressionsMayComeBeforeTheirNames) {
  const Result<Model> m = load(inputs_named({"past + seq", "past", "seq"}));
  ASSERT_TRUE(m.ok());
  const std::vector<DimId> dims = input_dims(*m);
  EXPECT_EQ(dims[0], m->dims.canonical(dims[0]));
  EXPECT_FALSE(m->dims.is_symbol(dims[0]));
  EXPECT_EQ(m->dims.print(dims[0]), "past + seq");
}

TEST(Reader, ExpressionsNeedNamesThatEveryRunHas) {
  // The order of the inputs has no influence, and a name inside an optional or a sequence is not enough.
  for (const bool optional : {true, false}) {
    onnx::ModelProto p = inputs_named({"n + 1", "n"});
    onnx::TypeProto* type = p.mutable_graph()->mutable_input(1)->mutable_type();
    const onnx::TypeProto tensor = *type;
    if (optional) *type->mutable_optional_type()->mutable_elem_type() = tensor;
    else *type->mutable_sequence_type()->mutable_elem_type() = tensor;
    const Result<Model> m = load(p);
    ASSERT_TRUE(m.ok());
    EXPECT_EQ(m->dims.symbol_name(input_dims(*m)[0]), "n + 1");
  }
}

TEST(Reader, OpaqueNamesOfInputDims) {
  std::vector<Warning> warnings;
  Result<Model> m = load_model_from_memory(inputs_named({"n", "n + 1", "2*n", "n + 1"}).SerializeAsString(),
                                           "m.onnx", ".", warnings, false);
  ASSERT_TRUE(m.ok());
  const std::vector<DimId> dims = input_dims(*m);
  for (const DimId d : dims) EXPECT_TRUE(m->dims.is_symbol(d));
  EXPECT_EQ(dims[1], dims[3]);
  EXPECT_EQ(m->dims.equal(dims[1], m->dims.add(dims[0], m->dims.constant(1))), Tri::Unknown);
}

TEST(Reader, CapturesAreUses) {
  const Result<Model> m = load(parse(std::string(kHeader) + R"(g (float[n] x, bool c) => (float[n] y) {
      r = Relu(x)
      y = If (c)
         <then_branch = t () => (float[n] a) { a = Abs(r) },
          else_branch = e () => (float[n] b) { b = Neg(r) }>
  })"));
  ASSERT_TRUE(m.ok());
  const ValueId r = named(*m, "r");
  EXPECT_EQ(m->use_count(r), 2u);
  EXPECT_TRUE(m->is_captured(r));
  EXPECT_FALSE(verify(*m).has_value());
}

TEST(Reader, AnInnerNameHidesAnOuterOne) {
  onnx::ModelProto p = parse(std::string(kHeader) + R"(g (float[n] x, bool c) => (float[n] y) {
      r = Relu(x)
      y = If (c)
         <then_branch = t () => (float[n] a) { s = Abs(x) a = Neg(s) },
          else_branch = e () => (float[n] b) { b = Neg(r) }>
  })");
  // In the then branch "s" becomes "r", which hides the outer one there and nowhere else.
  onnx::GraphProto* then_branch = p.mutable_graph()->mutable_node(1)->mutable_attribute(0)->mutable_g();
  then_branch->mutable_node(0)->set_output(0, "r");
  then_branch->mutable_node(1)->set_input(0, "r");
  const Result<Model> m = load(p);
  ASSERT_TRUE(m.ok()) << to_string(m.error());
  const NodeId relu = m->first_node(m->main());
  EXPECT_EQ(m->use_count(m->output(relu, 0)), 1u);
  EXPECT_FALSE(verify(*m).has_value());
}

TEST(Reader, SortsWithTiesInTheOrderOfTheFile) {
  onnx::ModelProto p =
      parse(std::string(kHeader) +
            "g (float[n] x) => (float[n] d) { a = Relu(x) b = Abs(x) c = Add(a, b) d = Neg(c) e = Exp(x) }");
  // File order: d, c, e, b, a  ->  e, b, a, c, d (c waits for a, d for c)
  const onnx::GraphProto old = p.graph();
  p.mutable_graph()->clear_node();
  for (const int i : {3, 2, 4, 1, 0}) *p.mutable_graph()->add_node() = old.node(i);
  const Result<Model> m = load(p);
  ASSERT_TRUE(m.ok());
  std::string order;
  for (NodeId n = m->first_node(m->main()); n; n = m->next_node(n))
    order += m->text(m->value(m->output(n, 0)).name);
  EXPECT_EQ(order, "ebacd");
  EXPECT_FALSE(verify(*m).has_value());
}

TEST(Reader, ConstantsInAllTheirForms) {
  const Result<Model> m =
      load(parse(std::string(kHeader) + R"(g () => (int64 a, float[2] b, string[2] c, float[1] d) {
      a = Constant <value_int = -3> ()
      b = Constant <value_floats = [0.5, -0.0]> ()
      c = Constant <value_strings = ["u", ""]> ()
      d = Constant <value = float[1] {2.5}> ()
  })"));
  ASSERT_TRUE(m.ok());
  const auto tensor = [&](const char* name) { return m->constant_of(named(*m, name)); };
  std::int64_t a = 0;
  std::memcpy(&a, m->raw(tensor("a"))->data(), 8);
  EXPECT_EQ(a, -3);
  EXPECT_TRUE(m->tensor(tensor("a")).dims.empty());
  float b[2] = {};
  std::memcpy(b, m->raw(tensor("b"))->data(), 8);
  EXPECT_EQ(b[0], 0.5f);
  EXPECT_TRUE(std::signbit(b[1]));
  EXPECT_EQ(*m->strings(tensor("c")), (std::vector<std::string>{"u", ""}));
  float d = 0;
  std::memcpy(&d, m->raw(tensor("d"))->data(), 4);
  EXPECT_EQ(d, 2.5f);
}

// Typed lists unpack to what raw_data would hold.
TEST(Reader, TypedPayloads) {
  onnx::ModelProto p = parse(std::string(kHeader) + "g (float[n] x) => (float[n] y) { y = Relu(x) }");
  const auto add = [&p](const char* name, onnx::TensorProto::DataType type,
                        std::initializer_list<std::int32_t> entries, int dim) {
    onnx::TensorProto* t = p.mutable_graph()->add_initializer();
    t->set_name(name);
    t->set_data_type(type);
    t->add_dims(dim);
    for (const std::int32_t e : entries) t->add_int32_data(e);
  };
  add("int8", onnx::TensorProto::INT8, {-1, 127, -128}, 3);
  add("uint16", onnx::TensorProto::UINT16, {65535, 1}, 2);
  add("half", onnx::TensorProto::FLOAT16, {0x3C00, 0xFC00}, 2);
  add("int4", onnx::TensorProto::INT4, {0x21, 0x03}, 3);
  add("uint2", onnx::TensorProto::UINT2, {0xE4, 0x01}, 5);
  add("six", onnx::TensorProto::FLOAT6E2M3, {0x3F, 0x00, 0x21, 0x1E, 0x01}, 5);
  onnx::TensorProto* big = p.mutable_graph()->add_initializer();
  big->set_name("int64");
  big->set_data_type(onnx::TensorProto::INT64);
  big->add_dims(2);
  big->add_int64_data(std::numeric_limits<std::int64_t>::min());
  big->add_int64_data(-1);
  onnx::TensorProto* u32 = p.mutable_graph()->add_initializer();
  u32->set_name("uint32");
  u32->set_data_type(onnx::TensorProto::UINT32);
  u32->add_dims(1);
  u32->add_uint64_data(0xFFFFFFFFu);
  const Result<Model> m = load(p);
  ASSERT_TRUE(m.ok()) << to_string(m.error());
  const auto raw = [&](const char* name) { return std::string(*m->raw(m->value(named(*m, name)).tensor)); };
  using namespace std::string_literals;
  EXPECT_EQ(raw("int8"), "\xFF\x7F\x80"s);
  EXPECT_EQ(raw("uint16"), "\xFF\xFF\x01\x00"s);
  EXPECT_EQ(raw("half"), "\x00\x3C\x00\xFC"s);
  EXPECT_EQ(raw("int4"), "\x21\x03"s);
  EXPECT_EQ(raw("uint2"), "\xE4\x01"s);
  // 111111 000000 100001 011110 | 000001, each lowest bit first: bytes 0x3F, 0x10, 0x7A, 0x01
  EXPECT_EQ(raw("six"), "\x3F\x10\x7A\x01"s);
  EXPECT_EQ(raw("int64"), "\0\0\0\0\0\0\0\x80\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"s);
  EXPECT_EQ(raw("uint32"), "\xFF\xFF\xFF\xFF"s);
}

TEST(Reader, OverridableDefaultsAndPinnedValuesAreNoConstants) {
  onnx::ModelProto p = parse(std::string(kHeader) +
                             "g (float[n] x, float[1] w) => (float[n] y) <float[1] k = {1}, float[1] q = "
                             "{1}> { t = Add(x, k) s = Add(t, q) y = Add(s, w) }");
  onnx::TensorProto* w = p.mutable_graph()->add_initializer();
  *w = p.graph().initializer(0);
  w->set_name("w");
  onnx::TensorAnnotation* annotation = p.mutable_graph()->add_quantization_annotation();
  annotation->set_tensor_name("t");
  onnx::StringStringEntryProto* e = annotation->add_quant_parameter_tensor_names();
  e->set_key("SCALE_TENSOR");
  e->set_value("q");
  const Result<Model> m = load(p);
  ASSERT_TRUE(m.ok()) << to_string(m.error());
  EXPECT_TRUE(m->constant_of(named(*m, "k")).valid());
  EXPECT_FALSE(m->constant_of(named(*m, "w")).valid());
  EXPECT_FALSE(m->constant_of(named(*m, "q")).valid());
  EXPECT_TRUE(m->value(named(*m, "t")).pinned);
}

TEST(Reader, ACallOfAModelFunctionWinsOverAnOperator) {
  const Result<Model> m =
      load(parse(std::string(kHeader) + R"(g (float[n] x) => (float[n] y) { t = my.Relu(x) y = Relu(t) }
      <opset_import: ["" : 21], domain: "my"> Relu (a) => (b) { b = Abs(a) })"));
  ASSERT_TRUE(m.ok()) << to_string(m.error());
  const NodeId call = m->first_node(m->main());
  EXPECT_EQ(m->kind(call), OpKind::FunctionCall);
  EXPECT_EQ(m->op(call).function, FunctionId{std::uint32_t{0}});
  EXPECT_EQ(m->kind(m->next_node(call)), OpKind::Relu);
  EXPECT_EQ(m->opset(m->function(FunctionId{std::uint32_t{0}}).body, kEmptyName), 21);
}

TEST(Reader, NothingIsDirtyAfterALoad) {
  const Result<Model> m =
      load(parse(std::string(kHeader) + "g (float[n] x) => (float[n] y) { y = Relu(x) }"));
  ASSERT_TRUE(m.ok());
  EXPECT_FALSE(m->graph(m->main()).dirty);
  EXPECT_FALSE(m->node(m->first_node(m->main())).dirty);
}

}  // namespace
}  // namespace graphopt
