// Models that are saved as one set: weights in one file, each once. The model beside a set: set_out_test.cpp.
#include "onnx/set_writer.h"

#include <gtest/gtest.h>

#include "ir/part.h"
#include "saved_sets.h"
#include "support/sha256.h"

namespace graphopt {
namespace {

TEST_F(Sets, ModelsShareTensorsOfEqualBytes) {
  const Model a = model({{"w", 1000, 1}, {"only_a", 300, 9}, {"small", 4, 0}});
  const Model b = model({{"renamed", 1000, 1}, {"again", 1000, 1}, {"other", 1000, 2}});
  const SavedSet saved = save({{&a, {}, "net.a"}, {&b, {}, "net.b"}});
  ASSERT_TRUE(saved.data);
  const auto in_a = places(path(saved.models[0].name)), in_b = places(path(saved.models[1].name));
  EXPECT_EQ(in_a.at("w"), (Place{saved.data->name, 0, 4000}));
  EXPECT_EQ(in_b.at("renamed"), in_a.at("w"));
  EXPECT_EQ(in_b.at("again"), in_a.at("w"));
  EXPECT_EQ(in_a.at("only_a").offset, 4032u);  // the next multiple of 64
  EXPECT_EQ(in_b.at("other").offset, 5248u);
  EXPECT_EQ(in_a.at("small").location, "");  // below the threshold
  EXPECT_EQ(saved.data->bytes, 5248u + 4000u);
  for (const SetFile& f : saved.files()) {
    const std::string bytes = read(path(f.name));
    EXPECT_EQ(bytes.size(), f.bytes);
    EXPECT_EQ(sha256_hex(bytes), f.sha256);
  }
  EXPECT_EQ(folder().size(), 4u);
  std::vector<Warning> warnings;
  const Result<Model> again = load_model({path(saved.models[1].name), {}, 0, true}, warnings);
  ASSERT_TRUE(again.ok()) << to_string(again.error());
}

TEST_F(Sets, LargeTensorsBeginOnAPage) {
  const Model a = model({{"w", 300, 1}, {"large", 20'000, 9}});
  const SavedSet saved = save({{&a, {}, "net"}});
  EXPECT_EQ(places(path(saved.models[0].name)).at("large").offset, 4096u);
}

TEST_F(Sets, PartsOfOneModelGoIntoOneSet) {
  const Model m = model({{"w", 1000, 1}, {"v", 500, 2}, {"u", 1000, 1}});
  std::vector<NodeId> nodes;
  for (NodeId n = m.first_node(m.main()); n; n = m.next_node(n)) nodes.push_back(n);
  const ModelPart first = part_of(m, {nodes[0], nodes[1]}), second = part_of(m, {nodes[2]});
  SetModel a{&m, {}, "net.s0"}, b{&m, {}, "net.s1"};
  a.options.part = &first;
  b.options.part = &second;
  const SavedSet saved = save({a, b});
  const auto in_a = places(path(saved.models[0].name)), in_b = places(path(saved.models[1].name));
  EXPECT_EQ(in_a.size(), 2u);
  EXPECT_EQ(in_b.size(), 1u);
  EXPECT_EQ(in_a.at("w"), in_b.at("u"));
}

// Types in bodies and functions, annotations of quantization, entries of outputs, and a tensor of an
// attribute whose payload is in a file of the input.
TEST_F(Sets, PartsKeepWhatTheFileStatesOfThem) {
  onnx::ModelProto in = parse_model(R"(<ir_version: 10, opset_import: ["" : 21, "own" : 1]>
g (float[N] x, bool c) => (float[N] y, float[N] z) <float[N] a, float[N] b> {
  a = If (c) <then_branch = t () => (float[N] tr) <float[N] inner> { inner = Relu(x)  tr = Neg(inner) },
              else_branch = e () => (float[N] er) { er = Identity(x) }>
  b = own.twice(x)
  k = Constant <value = float[2] {1.0, 2.0}> ()
  y = Add(a, b)
  z = Add(b, k)
}
<domain: "own", opset_import: ["" : 21]> twice (p) => (q) <float[N] half> {
  half = Relu(p)
  q = Add(half, half)
})");
  for (const char* name : {"a", "b"})
    in.mutable_graph()->add_quantization_annotation()->set_tensor_name(name);
  for (auto& out : *in.mutable_graph()->mutable_output()) out.set_doc_string("doc of " + out.name());
  onnx::TensorProto* k = in.mutable_graph()->mutable_node(2)->mutable_attribute(0)->mutable_t();
  k->clear_float_data();
  k->set_data_location(onnx::TensorProto::EXTERNAL);
  auto* location = k->add_external_data();
  location->set_key("location");
  location->set_value("weights.bin");
  const std::string payload("\0\0\x80\x3f\0\0\0\x40", 8);
  fs::create_directory(folder_ / "in");
  std::ofstream(path("in/weights.bin"), std::ios::binary) << payload;
  std::ofstream(path("in/m.onnx"), std::ios::binary) << in.SerializeAsString();
  std::vector<Warning> warnings;
  const Result<Model> m = load_model({path("in/m.onnx"), {}, 0, true}, warnings);
  ASSERT_TRUE(m.ok()) << to_string(m.error());
  std::vector<NodeId> nodes;
  for (NodeId n = m->first_node(m->main()); n; n = m->next_node(n)) nodes.push_back(n);
  ASSERT_EQ(nodes.size(), 5u);
  const PartMaker maker(*m);
  const std::vector<ModelPart> parts = {maker.part_of({nodes[0], nodes[3]}), maker.part_of({nodes[1]}),
                                        maker.part_of({nodes[4], nodes[2]})};
  std::vector<SetModel> models;
  for (const ModelPart& part : parts) {
    models.push_back({&*m, {}, "net"});
    models.back().options.part = &part;
  }
  const SavedSet saved = save(models);
  std::vector<onnx::ModelProto> out(3);
  for (std::size_t i = 0; i < 3; ++i) ASSERT_TRUE(out[i].ParseFromString(read(path(saved.models[i].name))));
  const auto annotated = [&](std::size_t i) {
    std::string names;
    for (const auto& a : out[i].graph().quantization_annotation()) names += a.tensor_name();
    return names;
  };
  EXPECT_EQ(annotated(0), "ab");
  EXPECT_EQ(annotated(1), "b");
  EXPECT_EQ(annotated(2), "b");
  ASSERT_EQ(out[0].graph().node(0).op_type(), "If");
  EXPECT_EQ(out[0].graph().node(0).SerializeAsString(), in.graph().node(0).SerializeAsString());
  EXPECT_EQ(out[0].graph().output(0).doc_string(), "doc of y");
  EXPECT_EQ(out[2].graph().output(0).doc_string(), "doc of z");
  EXPECT_EQ(out[0].functions_size(), 0);
  ASSERT_EQ(out[1].functions_size(), 1);
  EXPECT_EQ(out[1].functions(0).SerializeAsString(), in.functions(0).SerializeAsString());
  ASSERT_EQ(out[2].graph().node(0).op_type(), "Constant");
  EXPECT_EQ(out[2].graph().node(0).attribute(0).t().raw_data(), payload);
  // With types each body is written anew and keeps its own.
  Model typed = m->clone();
  const TypeOverride type{typed.value(parts[0].inputs[0]).is_input ? parts[0].inputs[0] : ValueId{},
                          typed.types.tensor(DType::Float, std::vector{typed.dims.constant(4)})};
  ASSERT_TRUE(type.value);
  models[0].model = &typed;
  models[0].options.types = {&type, 1};
  const SavedSet again = save({models[0]});
  ASSERT_TRUE(out[0].ParseFromString(read(path(again.models[0].name))));
  EXPECT_EQ(out[0].graph().input(0).type().tensor_type().shape().dim(0).dim_value(), 4);
  for (const onnx::AttributeProto& a : out[0].graph().node(0).attribute())
    EXPECT_EQ(a.g().value_info_size(), a.name() == "then_branch" ? 1 : 0) << a.name();
}

TEST_F(Sets, EqualInputGivesEqualBytes) {
  const Weights weights = {{"w", 1000, 1}, {"v", 1000, 2}};
  const Model a = model(weights), b = model({{"w", 1000, 3}});
  save({{&a, {}, "net.a"}, {&b, {}, "net.b"}});
  const auto before = folder();
  fs::remove_all(folder_);
  fs::create_directories(folder_);
  const Model again = model(weights);
  save({{&again, {}, "net.a"}, {&b, {}, "net.b"}});
  EXPECT_EQ(folder(), before);
  save({{&again, {}, "net.a"}, {&b, {}, "net.b"}});  // over itself
  EXPECT_EQ(folder(), before);
}

TEST_F(Sets, NothingOfAModelStaysOutsideTheSet) {
  const Model made = model({{"w", 1000, 1}, {"v", 100, 2}});
  SaveOptions always;
  always.path = path("in.onnx");
  always.external = SaveOptions::External::Always;
  always.external_threshold = 1;
  ASSERT_TRUE(save_model(made, always));
  std::vector<Warning> warnings;
  const Result<Model> in = load_model({always.path, {}, 0, true}, warnings);
  ASSERT_TRUE(in);
  const SavedSet saved = save({{&*in, {}, "net"}});  // beside the file that has the weights
  auto found = places(path(saved.models[0].name));
  EXPECT_EQ(found.at("w").location, saved.data->name);
  EXPECT_EQ(found.at("v").location, "");  // below the threshold
  SetModel whole{&*in, {}, "net"};
  whole.options.external = SaveOptions::External::Never;
  const SavedSet inside = save({whole});
  EXPECT_FALSE(inside.data);
  EXPECT_EQ(places(path(inside.models[0].name)).at("w").location, "");
  // A list that takes the place of the weights that are read, or a set whose file is read.
  SetOptions hits = options();
  for (const auto& [name, bytes] : folder())
    if (name.starts_with("in.onnx.")) hits.list = path(name);
  const std::vector<SetModel> models = {{&*in, {}, "net"}};
  const Result<SavedSet> refused = save_set(models, hits);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().what, "the model that was read keeps its weights in this file");
}

TEST_F(Sets, AFileOfTheOldSetThatIsReadStays) {
  const Model a = model({{"w", 1000, 1}}), b = model({{"w", 1000, 2}});
  const SavedSet old = save({{&a, {}, "net"}});
  std::vector<Warning> warnings;
  const Result<Model> in = load_model({path(old.models[0].name), {}, 0, true}, warnings);
  ASSERT_TRUE(in);
  save({{&b, {}, "net"}});
  EXPECT_EQ(read(path(old.models[0].name)).size(), old.models[0].bytes);
  EXPECT_EQ(read(path(old.data->name)).size(), old.data->bytes);
}

TEST_F(Sets, TheListIsTheCallersText) {
  const Model a = model({{"w", 1000, 1}});
  SetOptions o = options();
  o.read_list = [](std::string_view) { return std::vector<SetFile>{}; };
  const std::vector<SetModel> models = {{&a, {}, "net"}};
  Result<WrittenSet> set = write_set(models, o);
  ASSERT_TRUE(set);
  const std::string text = "{\"model\": \"" + set->saved().models[0].name + "\"}\n";
  ASSERT_TRUE(set->commit(text));
  EXPECT_EQ(set->saved().list_bytes, text.size());
  EXPECT_EQ(read(o.list), text);
}

}  // namespace
}  // namespace graphopt
