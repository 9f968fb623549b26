// Models that are saved as one set: weights in one file, each once; and a model beside the set.
#include "onnx/set_writer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "ir/part.h"
#include "saved_model.h"
#include "support/sha256.h"

namespace graphopt {
namespace {

namespace fs = std::filesystem;

class Sets : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(testing::TempDir()) / ("sets-" + std::to_string(::getpid()) + "-" + test->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  // Initializers of so many floats each, which the nodes add up; element i of each is `first` + i.
  using Weights = std::vector<std::tuple<std::string, std::size_t, float>>;
  static Model model(const Weights& weights) {
    onnx::ModelProto m =
        parse_model("<ir_version: 10, opset_import: [\"\" : 21]> g (float x) => (float y) {}");
    std::string last = "x";
    for (const auto& [name, count, first] : weights) {
      onnx::TensorProto* t = m.mutable_graph()->add_initializer();
      t->set_name(name);
      t->set_data_type(onnx::TensorProto::FLOAT);
      t->add_dims(static_cast<std::int64_t>(count));
      std::vector<float> values(count);
      for (std::size_t i = 0; i < count; ++i) values[i] = first + static_cast<float>(i);
      t->set_raw_data(values.data(), count * sizeof(float));
      onnx::NodeProto* n = m.mutable_graph()->add_node();
      n->set_op_type("Add");
      n->add_input(last);
      n->add_input(name);
      last = name + "/sum";
      n->add_output(last);
    }
    m.mutable_graph()->mutable_output(0)->set_name(last);
    return loaded(m);
  }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  static std::string read(const std::string& file) {
    std::stringstream bytes;
    bytes << std::ifstream(file, std::ios::binary).rdbuf();
    return bytes.str();
  }
  std::map<std::string, std::string> folder(const fs::path& of) const {
    std::map<std::string, std::string> out;
    for (const auto& entry : fs::directory_iterator(of))
      out[entry.path().filename().string()] = read(entry.path().string());
    return out;
  }
  std::map<std::string, std::string> folder() const { return folder(folder_); }

  SetOptions options() const {
    SetOptions o;
    o.list = path("net.list");
    o.data_name = "net";
    return o;
  }
  SavedSet save(std::vector<SetModel> models, const SetOptions& o) {
    const Result<SavedSet> saved = save_set(models, o);
    EXPECT_TRUE(saved.ok()) << (saved.ok() ? "" : to_string(saved.error()));
    return saved.ok() ? *saved : SavedSet{};
  }
  SavedSet save(std::vector<SetModel> models) { return save(std::move(models), options()); }

  // What a model file says of the payload of an initializer.
  struct Place {
    std::string location;
    std::uint64_t offset = 0, length = 0;
    friend bool operator==(const Place&, const Place&) = default;
  };
  static std::map<std::string, Place> places(const std::string& file) {
    onnx::ModelProto m;
    EXPECT_TRUE(m.ParseFromString(read(file)));
    std::map<std::string, Place> out;
    for (const onnx::TensorProto& t : m.graph().initializer()) {
      Place p;
      for (const auto& e : t.external_data()) {
        if (e.key() == "location") p.location = e.value();
        if (e.key() == "offset") p.offset = std::stoull(e.value());
        if (e.key() == "length") p.length = std::stoull(e.value());
      }
      out[t.name()] = p;
    }
    return out;
  }

  fs::path folder_;
};

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
<domain: "own", opset_import: ["" : 21]> twice (p) => (q) <float[N] half> { half = Relu(p)  q = Add(half, half) })");
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
  o.write_list = [](const SavedSet& s) { return "{\"model\": \"" + s.models[0].name + "\"}\n"; };
  o.read_list = [](std::string_view) { return std::vector<SetFile>{}; };
  const SavedSet saved = save({{&a, {}, "net"}}, o);
  EXPECT_EQ(read(o.list), "{\"model\": \"" + saved.models[0].name + "\"}\n");
}

// --- the model beside the set ------------------------------------------------------------------------------

class Beside : public Sets {
 protected:
  SavedSet save_both(const Model& member, const Model& out) {
    SetModel beside{&out, {}, ""};
    beside.options.path = path("net.onnx");
    beside.options.external = SaveOptions::External::Always;
    SetOptions o = options();
    o.out = &beside;
    return save({{&member, {}, "net.a"}}, o);
  }
  std::set<std::string> names() const {
    std::set<std::string> out;
    for (const auto& [name, bytes] : folder()) out.insert(name);
    return out;
  }
};

TEST_F(Beside, NeedsNoFileOfTheSet) {
  const Model a = model({{"w", 1000, 1}}), b = model({{"w", 1000, 1}, {"v", 1000, 2}});
  const SavedSet saved = save_both(a, b);
  const std::string data = saved.out->data_path.substr(folder_.string().size() + 1);
  EXPECT_EQ(names(),
            (std::set<std::string>{"net.list", "net.onnx", data, saved.data->name, saved.models[0].name}));
  EXPECT_EQ(places(path("net.onnx")).at("w"), (Place{data, 0, 4000}));
  for (const std::string& name : names()) EXPECT_EQ(fs::hard_link_count(path(name)), 1u) << name;
  const std::string weights = read(path(data));
  // The set goes, the model stays.
  const SavedSet next = save({{&a, {}, "net.a"}});
  EXPECT_EQ(names(),
            (std::set<std::string>{"net.list", "net.onnx", data, next.data->name, next.models[0].name}));
  EXPECT_EQ(read(path(data)), weights);
  // The model is replaced alone, the set stays.
  SaveOptions alone;
  alone.path = path("net.onnx");
  ASSERT_TRUE(save_model(a, alone));
  EXPECT_EQ(names(), (std::set<std::string>{"net.list", "net.onnx", next.data->name, next.models[0].name}));
}

TEST_F(Beside, IsReplacedWithItsData) {
  const Model a = model({{"w", 1000, 1}}), b = model({{"w", 1000, 2}});
  save_both(a, a);
  const SavedSet saved = save_both(b, b);
  EXPECT_EQ(names(), (std::set<std::string>{"net.list", "net.onnx",
                                            saved.out->data_path.substr(folder_.string().size() + 1),
                                            saved.data->name, saved.models[0].name}));
}

TEST_F(Beside, IsBroughtBackWithTheOldSet) {
  const Model a = model({{"w", 1000, 1}}), b = model({{"w", 1000, 2}, {"v", 1000, 3}});
  save_both(a, a);
  const auto before = folder();
  SetModel beside{&b, {}, ""};
  beside.options.path = path("net.onnx");
  beside.options.external = SaveOptions::External::Always;
  SetOptions o = options();
  o.out = &beside;
  // The last rename fails: a folder has the place of the list by then.
  o.write_list = [this](const SavedSet& s) {
    fs::remove(path("net.list"));
    fs::create_directories(path("net.list/full"));
    return plain_list(s.files());
  };
  const std::vector<SetModel> models = {{&b, {}, "net.a"}};
  EXPECT_FALSE(save_set(models, o));
  auto after = folder();
  after["net.list"] = before.at("net.list");
  EXPECT_EQ(after, before);
  fs::remove_all(path("net.list"));
  beside.options.path = path("new.onnx");  // where none was
  EXPECT_FALSE(save_set(models, o));
  after = folder();
  after["net.list"] = before.at("net.list");
  EXPECT_EQ(after, before);
}

TEST_F(Beside, HasAnotherNameThanTheList) {
  const Model a = model({{"w", 1000, 1}});
  SetModel beside{&a, {}, ""};
  SetOptions o = options();
  o.out = &beside;
  const std::vector<SetModel> models = {{&a, {}, "net.a"}};
  beside.options.path = (folder_ / "." / "net.list").string();
  ASSERT_FALSE(save_set(models, o));
  EXPECT_EQ(save_set(models, o).error().what, "the model and the list of the set have the same name");
  beside.options.path = "-";
  ASSERT_FALSE(save_set(models, o));
  EXPECT_EQ(save_set(models, o).error().what,
            "a model beside a set of files cannot go to a pipe or a device");
  beside.options.path = path("absent/net.onnx");
  EXPECT_FALSE(save_set(models, o));
  EXPECT_TRUE(folder().empty());
}

// --- OUT in the set's data file ----------------------------------------------------------------------------

class Sharing : public Beside {
 protected:
  SetOptions sharing(SetModel& out, const Model& m) {
    out.model = &m;
    if (out.options.path.empty()) out.options.path = path("net.onnx");
    SetOptions o = options();
    o.out = &out;
    o.out_shares_data = true;
    return o;
  }
  SavedSet save_shared(const Model& member, const Model& out) {
    SetModel beside;
    return save({{&member, {}, "net.s0"}}, sharing(beside, out));
  }
  static bool loads(const std::string& file) {
    std::vector<Warning> warnings;
    return load_model({file, {}, 0, true}, warnings).ok();
  }
  static std::string data_of(const std::string& file) { return places(file).at("w").location; }
  std::set<std::string> names_of(const SavedSet& saved) const {
    std::set<std::string> out{"net.list", "net.onnx"};
    for (const SetFile& f : saved.files()) out.insert(f.name);
    return out;
  }
  // Makes the last step of a run fail; restore_list() undoes it.
  void break_list(SetOptions& o) {
    o.write_list = [this](const SavedSet& s) {
      fs::rename(path("net.list"), path("kept"));
      fs::create_directories(path("net.list/full"));
      return plain_list(s.files());
    };
  }
  void restore_list() {
    fs::remove_all(path("net.list"));
    fs::rename(path("kept"), path("net.list"));
  }
};

TEST_F(Sharing, OutHasItsWeightsInTheDataFileOfTheSet) {
  const Model a = model({{"v", 500, 2}, {"w", 1000, 1}, {"only_a", 300, 7}});
  const Model out = model({{"w", 1000, 1}, {"v", 500, 2}});
  SetModel own{&a, {}, "net.own"}, beside;  // a member that carries its weights
  own.options.external = SaveOptions::External::Never;
  SetOptions o = sharing(beside, out);
  std::string listed;
  o.write_list = [&](const SavedSet& s) {
    EXPECT_EQ(s.out_file->name, "net.onnx");
    listed = s.out_file->sha256 + " " + std::to_string(s.out_file->bytes);
    return plain_list(s.files());
  };
  const SavedSet saved = save({{&a, {}, "net.s0"}, own}, o);
  EXPECT_EQ(names(), names_of(saved));
  EXPECT_TRUE(saved.data->name.starts_with("net.onnx."));
  const auto in_out = places(path("net.onnx")), in_a = places(path(saved.models[0].name));
  EXPECT_EQ(in_out.at("w"), (Place{saved.data->name, 0, 4000}));  // first, in the order of OUT
  EXPECT_EQ(in_out.at("v"), (Place{saved.data->name, 4032, 2000}));
  EXPECT_EQ(in_a.at("w"), in_out.at("w"));
  EXPECT_EQ(in_a.at("v"), in_out.at("v"));
  EXPECT_EQ(in_a.at("only_a"), (Place{saved.data->name, 6080, 1200}));
  for (const auto& [name, place] : places(path(saved.models[1].name))) EXPECT_EQ(place.location, "") << name;
  EXPECT_TRUE(loads(path("net.onnx")));
  EXPECT_TRUE(loads(path(saved.models[1].name)));
  const std::string bytes = read(path("net.onnx"));
  EXPECT_EQ(listed, sha256_hex(bytes) + " " + std::to_string(bytes.size()));
  EXPECT_EQ(saved.out->data_path, "");
  EXPECT_FALSE(saved.out->data_kept);
  const auto before = folder();
  save({{&a, {}, "net.s0"}, own}, sharing(beside, out));
  EXPECT_EQ(folder(), before);
}

TEST_F(Sharing, ReplacesTheDataOfAModelThatWasSavedAlone) {
  const Model a = model({{"w", 1000, 1}}), b = model({{"w", 1000, 2}});
  SaveOptions alone;
  alone.path = path("net.onnx");
  alone.external = SaveOptions::External::Always;
  const Result<SavedFiles> first = save_model(a, alone);
  ASSERT_TRUE(first);
  EXPECT_EQ(names(), names_of(save_shared(b, b)));
  EXPECT_FALSE(fs::exists(first->data_path));
  // And alone over the model of a set: the set is still whole.
  const SavedSet set = save_shared(a, a);
  const Result<SavedFiles> second = save_model(b, alone);
  ASSERT_TRUE(second);
  std::set<std::string> expected = names_of(set);
  expected.insert(second->data_path.substr(folder_.string().size() + 1));
  EXPECT_EQ(names(), expected);
  EXPECT_TRUE(loads(path("net.onnx")));
  EXPECT_TRUE(loads(path(set.models[0].name)));
}

// The input is OUT, and its weights are mapped from the old set's data file, which goes with it.
TEST_F(Sharing, OutCanBeTheModelThatWasRead) {
  const Model a = model({{"w", 1000, 1}}), b = model({{"w", 1000, 1}, {"x2", 600, 3}});
  const SavedSet old = save_shared(a, a);
  std::vector<Warning> warnings;
  const Result<Model> in = load_model({path("net.onnx"), {}, 0, true}, warnings);
  ASSERT_TRUE(in);
  SetModel beside;
  const SavedSet saved = save({{&*in, {}, "net.s0"}, {&*in, {}, "net.s1"}}, sharing(beside, *in));
  EXPECT_EQ(saved.data->name, old.data->name);  // the same content
  const SavedSet other = save({{&*in, {}, "net.s0"}}, [&] {
    SetOptions o = sharing(beside, *in);
    beside.options.external = SaveOptions::External::Never;
    return o;
  }());
  ASSERT_TRUE(other.data);  // that of the member
  EXPECT_EQ(data_of(path("net.onnx")), "");
  beside.options.external = SaveOptions::External::Auto;
  const Result<Model> again = load_model({path(other.models[0].name), {}, 0, true}, warnings);
  ASSERT_TRUE(again);
  const SavedSet next = save({{&b, {}, "net.s0"}}, sharing(beside, b));
  EXPECT_TRUE(loads(path("net.onnx")));
  // What was read from a file of the old set that nothing replaces stays with its weights.
  std::set<std::string> expected = names_of(next);
  expected.insert({other.models[0].name, other.data->name});
  EXPECT_EQ(names(), expected);
}

TEST_F(Sharing, TheWeightsOfAnInputThatIsReplacedGo) {
  const Model a = model({{"w", 1000, 1}});
  const SavedSet old = save_shared(a, a);
  std::vector<Warning> warnings;
  Result<Model> in = load_model({path("net.onnx"), {}, 0, true}, warnings);
  ASSERT_TRUE(in);
  SetModel out{&*in, {}, {}}, member{&*in, {}, "net.s0"};
  out.options.path = path("net.onnx");
  out.options.external = member.options.external = SaveOptions::External::Never;
  SetOptions o = sharing(out, *in);
  const SavedSet saved = save({member}, o);
  EXPECT_FALSE(saved.data);
  EXPECT_EQ(names(), names_of(saved));
  EXPECT_TRUE(loads(path("net.onnx")));
}

TEST_F(Sharing, OutIsBroughtBackWithTheOldDataFile) {
  const Model a = model({{"w", 1000, 1}}), b = model({{"w", 1000, 2}, {"v", 1000, 3}});
  save_shared(a, a);
  const auto before = folder();
  SetModel beside;
  SetOptions o = sharing(beside, b);
  break_list(o);
  const std::vector<SetModel> models = {{&b, {}, "net.s0"}};
  EXPECT_FALSE(save_set(models, o));
  restore_list();
  EXPECT_EQ(folder(), before);
}

// A file that is in the way of the second name stands for a file system without links.
TEST_F(Sharing, ADataFileStaysWithAnOutThatCannotBeBroughtBack) {
  const Model a = model({{"w", 1000, 1}}), b = model({{"w", 1000, 2}, {"v", 1000, 3}});
  const SavedSet old = save_shared(a, a);
  SetModel beside;
  SetOptions o = sharing(beside, b);
  std::string data;
  o.write_list = [&](const SavedSet& s) {
    data = s.data->name;
    std::ofstream(path(".net.list.graphopt/out")) << "taken";
    fs::rename(path("net.list"), path("kept"));
    fs::create_directories(path("net.list/full"));
    return plain_list(s.files());
  };
  const std::vector<SetModel> models = {{&b, {}, "net.s0"}};
  EXPECT_FALSE(save_set(models, o));
  restore_list();
  std::set<std::string> expected = names_of(old);
  expected.insert({data, ".net.list.graphopt"});
  EXPECT_EQ(names(), expected);
  EXPECT_EQ(data_of(path("net.onnx")), data);
  EXPECT_TRUE(loads(path("net.onnx")));
  // A run that fails leaves it, one that replaces OUT removes it.
  SetOptions fails = sharing(beside, a);
  break_list(fails);
  EXPECT_FALSE(save_set(models, fails));
  restore_list();
  EXPECT_EQ(names(), expected);
  EXPECT_TRUE(loads(path("net.onnx")));
  EXPECT_EQ(names(), names_of(save_shared(a, a)));
}

// What a run leaves that is killed after OUT was renamed, before the list.
TEST_F(Sharing, ADataFileOfAKilledRunStaysUntilOutIsReplaced) {
  const Model a = model({{"w", 1000, 1}}), b = model({{"w", 1000, 2}});
  const SavedSet old = save_shared(a, a);
  const auto before = folder();
  const SavedSet killed = save_shared(b, b);
  for (const auto& [name, bytes] : before)
    if (name != "net.onnx") std::ofstream(path(name), std::ios::binary) << bytes;
  fs::create_directory(path(".net.list.graphopt"));
  std::ofstream(path(".net.list.graphopt/journal")) << plain_list(killed.files());
  const Model c = model({{"w", 1000, 4}});
  SetModel beside;
  SetOptions o = sharing(beside, c);
  break_list(o);
  const std::vector<SetModel> models = {{&c, {}, "net.s0"}};
  EXPECT_FALSE(save_set(models, o));
  restore_list();
  std::set<std::string> expected = names_of(old);
  expected.insert({killed.data->name, ".net.list.graphopt"});
  EXPECT_EQ(names(), expected);
  EXPECT_TRUE(loads(path("net.onnx")));
  EXPECT_EQ(names(), names_of(save_shared(c, c)));
}

// The list gets another OUT: the old one is a model of the user's and keeps its weights.
TEST_F(Sharing, ADataFileStaysWithAModelThatNeedsIt) {
  const Model a = model({{"w", 1000, 1}}), b = model({{"w", 1000, 2}});
  SetModel first, second;
  first.options.path = path("my net.onnx");
  second.options.path = path("net.onnx");
  const SavedSet old = save({{&a, {}, "net.s0"}}, sharing(first, a));
  const SavedSet now = save({{&b, {}, "net.s0"}}, sharing(second, b));
  std::set<std::string> expected = names_of(now);
  expected.insert({"my net.onnx", old.data->name});
  EXPECT_EQ(names(), expected);
  EXPECT_TRUE(loads(path("my net.onnx")));
}

TEST_F(Sharing, FilesStandBesideWhatOutLeadsTo) {
  fs::create_directories(path("real"));
  std::ofstream(path("real/deep.onnx")) << "old";
  fs::create_symlink("real/deep.onnx", path("net.onnx"));
  const Model a = model({{"w", 1000, 1}});
  SetModel beside;
  SetOptions o = sharing(beside, a);
  std::string name;
  o.write_list = [&](const SavedSet& s) {
    name = s.out_file->name;
    return plain_list(s.files());
  };
  const SavedSet saved = save({{&a, {}, "net.s0"}}, o);
  EXPECT_EQ(name, "real/deep.onnx");
  EXPECT_TRUE(fs::is_symlink(path("net.onnx")));
  EXPECT_TRUE(saved.data->name.starts_with("real/deep.onnx."));
  EXPECT_EQ(data_of(path("real/deep.onnx")), saved.data->name.substr(5));
  EXPECT_EQ(folder(path("real")).size(), 3u);
  EXPECT_TRUE(loads(path("real/deep.onnx")));
  EXPECT_TRUE(loads(path(saved.models[0].name)));
  // A list that is not above OUT could not name them.
  o.list = path("other/net.list");
  fs::create_directories(path("other"));
  const std::vector<SetModel> models = {{&a, {}, "net.s0"}};
  const Result<SavedSet> refused = save_set(models, o);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().what.ends_with("which is not below the list's folder"));
  EXPECT_TRUE(fs::is_empty(path("other")));
}

}  // namespace
}  // namespace graphopt
