// Models with weights, saved as sets in a folder of the test's own, and what is in the files.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "onnx/set_writer.h"
#include "saved_model.h"

namespace graphopt {

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
  // Saves a set, with a step between its two phases; false where it is refused.
  template <class F>
  static bool commits(const std::vector<SetModel>& models, const SetOptions& o, F between) {
    Result<WrittenSet> set = write_set(models, o);
    EXPECT_TRUE(set);
    if (!set) return false;
    between();
    return set->commit(plain_list(set->saved().files())).ok();
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

}  // namespace graphopt
