// Inputs of a request from files, and ONNX's test data: what is read for which input, and that a value which
// the network does not take is an error that names its file.
#include "runner/request_inputs.h"

#include <gtest/gtest.h>
#include <onnx/onnx-data.pb.h>
#include <onnx/onnx_pb.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "runner/test_data.h"
#include "runtime/array_writer.h"

namespace graphopt::runner {
namespace {

namespace fs = std::filesystem;

deploy::ValueType tensor_type(DType type, std::vector<deploy::ValueDim> shape) {
  deploy::ValueType out;
  out.dtype = type;
  out.shape = std::move(shape);
  return out;
}

HostValue tensor(DType type, std::vector<std::int64_t> dims, std::string raw) {
  HostValue out;
  out.kind = HostValue::Kind::Tensor;
  out.dtype = type;
  out.dims = std::move(dims);
  out.raw = std::move(raw);
  return out;
}

onnx::TensorProto proto(int type, std::initializer_list<std::int64_t> dims, const std::string& raw) {
  onnx::TensorProto out;
  out.set_data_type(type);
  for (const std::int64_t d : dims) out.add_dims(d);
  out.set_raw_data(raw);
  return out;
}

class RequestInputs : public testing::Test {
 protected:
  RequestInputs() {
    std::string folder = testing::TempDir() + "request_inputs_XXXXXX";
    folder_ = mkdtemp(folder.data());
    network_.inputs = {{"x", tensor_type(DType::UInt8, {std::string("n"), std::int64_t{2}}), false},
                       {"b", tensor_type(DType::BFloat16, {std::monostate{}}), false},
                       {"d", tensor_type(DType::UInt8, {}), true}};
    network_.outputs = {{"y", tensor_type(DType::UInt8, {std::string("n")}), false}};
  }
  ~RequestInputs() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + '/' + name; }
  std::string archive(const std::string& name, const std::vector<NamedValue>& values) const {
    EXPECT_TRUE(write_npz(path(name), values, ArchiveOptions{.force = true, .lasting = false}));
    return path(name);
  }
  std::string file(const std::string& name, const std::string& content) const {
    fs::create_directories(fs::path(path(name)).parent_path());
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
  }
  std::string why(const std::vector<GivenFile>& files) const {
    const auto values = load_inputs(files, network_);
    if (values) return "read";
    std::string out;
    for (const Error& e : values.errors()) {
      EXPECT_TRUE(e.kind == ErrorKind::Usage || e.what.find("input") == std::string::npos) << e.what;
      EXPECT_FALSE(e.remedy.empty());
      out += to_string(e) + '\n';
    }
    return out;
  }

  std::string folder_;
  deploy::Network network_;
};

const HostValue kX = tensor(DType::UInt8, {1, 2}, "ab");
const HostValue kB = tensor(DType::UInt16, {1}, std::string("\x80\x3F", 2));  // the bits of 1 as bfloat16

TEST_F(RequestInputs, ReadsArraysInTheOrderOfTheNetwork) {
  const auto all = load_inputs({{"", archive("all.npz", {{"b", kB}, {"x", kX}})}}, network_);
  ASSERT_TRUE(all) << all.error().what;
  ASSERT_EQ(all->size(), 2U);  // d has a default
  EXPECT_EQ((*all)[0].name, "x");
  EXPECT_EQ((*all)[0].value.raw, "ab");
  EXPECT_EQ((*all)[1].value.dtype, DType::BFloat16);
  EXPECT_EQ((*all)[1].value.raw, kB.raw);
  const std::string pb = file("x.pb", proto(onnx::TensorProto::UINT8, {3, 2}, "abcdef").SerializeAsString());
  const auto each = load_inputs({{"d", archive("one.npz", {{"other", tensor(DType::UInt8, {}, "d")}})},
                                 {"b", path("all.npz")},
                                 {"x", pb}},
                                network_);
  ASSERT_TRUE(each) << each.error().what;
  ASSERT_EQ(each->size(), 3U);
  EXPECT_EQ((*each)[0].value.dims, (std::vector<std::int64_t>{3, 2}));
  EXPECT_EQ((*each)[2].value.raw, "d");
}

TEST_F(RequestInputs, RefusesWhatTheNetworkDoesNotTake) {
  const auto refused = [&](const std::vector<GivenFile>& files, const std::string& part) {
    EXPECT_NE(why(files).find(part), std::string::npos) << part << " is not in: " << why(files);
  };
  const std::string all = archive("all.npz", {{"b", kB}, {"x", kX}});
  ASSERT_EQ(why({{"", all}}), "read");
  refused({{"x", all}}, "input 'b' is not given");
  refused({{"", all}, {"x", all}}, "input 'x' is given twice");
  refused({{"", archive("more.npz", {{"b", kB}, {"x", kX}, {"xx", kX}})}}, "no input 'xx'");
  refused({{"z", all}}, "no input 'z'");
  refused({{"", path("none.npz")}}, "none.npz");
  refused({{"x", file("x.npy", "text")}}, "no array of NumPy");
  const auto x_is = [&](const HostValue& x) {
    return std::vector<GivenFile>{{"", archive("wrong.npz", {{"b", kB}, {"x", x}})}};
  };
  refused(x_is(tensor(DType::Int8, {1, 2}, "ab")), "input 'x' takes uint8, and the file holds int8");
  refused(x_is(tensor(DType::UInt8, {2, 1}, "ab")), "input 'x' takes [n,2], and the file holds [2,1]");
  refused(x_is(tensor(DType::UInt8, {2}, "ab")), "input 'x' takes [n,2], and the file holds [2]");
  EXPECT_EQ(why(x_is(tensor(DType::UInt8, {0, 2}, ""))), "read");
  // All of it is said at once.
  refused({{"", path("none.npz")}, {"z", all}}, "none.npz");
  refused({{"", path("none.npz")}, {"z", all}}, "no input 'z'");
}

TEST_F(RequestInputs, SequencesAndOptionalsComeFromFilesOfOnnx) {
  deploy::ValueType sequence, optional;
  sequence.kind = deploy::ValueKind::Sequence;
  sequence.elem = {tensor_type(DType::UInt8, {std::int64_t{1}})};
  optional.kind = deploy::ValueKind::Optional;
  optional.elem = {sequence};
  network_.inputs = {{"s", sequence, false}, {"o", optional, false}};
  onnx::SequenceProto s;
  *s.add_tensor_values() = proto(onnx::TensorProto::UINT8, {1}, "a");
  const std::string some = file("s.pb", s.SerializeAsString()), none = file("o.pb", "");
  const auto values = load_inputs({{"s", some}, {"o", none}}, network_);
  ASSERT_TRUE(values) << values.error().what;
  EXPECT_EQ((*values)[0].value.items.at(0).raw, "a");
  EXPECT_EQ((*values)[1].value.kind, HostValue::Kind::Absent);
  *s.add_tensor_values() = proto(onnx::TensorProto::UINT8, {2}, "bc");
  file("s.pb", s.SerializeAsString());
  EXPECT_NE(why({{"s", some}, {"o", none}}).find("takes [1], and the file holds [2] at place 1"),
            std::string::npos);
  EXPECT_NE(why({{"s", archive("x.npz", {{"s", kX}})}, {"o", none}}).find("takes a sequence"),
            std::string::npos);
  network_.inputs[0].type.elem = {sequence};
  EXPECT_NE(why({{"s", some}, {"o", none}}).find("no file holds"), std::string::npos);
}

TEST_F(RequestInputs, TextsOfAnOption) {
  const auto files = given_files({"x=a=b.npy", "all.npz", "y=all.npz", "z=z.pb"}, "--inputs");
  ASSERT_TRUE(files);
  ASSERT_EQ(files->size(), 4U);
  EXPECT_EQ((*files)[0].input, "x");
  EXPECT_EQ((*files)[0].file, "a=b.npy");
  EXPECT_EQ((*files)[1].input, "");
  EXPECT_EQ((*files)[2].file, "all.npz");
  for (const char* text : {"x.npy", "", "=", "x=", "=x.npy"}) {
    const auto wrong = given_files({text}, "--inputs");
    ASSERT_FALSE(wrong) << text;
    EXPECT_EQ(wrong.error().kind, ErrorKind::Usage);
    EXPECT_NE(wrong.error().what.find("--inputs"), std::string::npos);
  }
}

TEST_F(RequestInputs, TestDataIsInTheOrderOfTheModel) {
  const auto x = proto(onnx::TensorProto::UINT8, {1, 2}, "ab").SerializeAsString(),
             b = proto(onnx::TensorProto::BFLOAT16, {1}, kB.raw).SerializeAsString(),
             y = proto(onnx::TensorProto::UINT8, {1}, "y").SerializeAsString();
  for (const char* set : {"test_data_set_10", "test_data_set_2"}) {
    file(std::string(set) + "/input_0.pb", x);
    file(std::string(set) + "/input_1.pb", b);
    file(std::string(set) + "/output_0.pb", y);
    file(std::string(set) + "/input_0.npy", "other files do not count");
  }
  const auto sets = find_test_data(folder_, network_);
  ASSERT_TRUE(sets) << to_string(sets.error());
  ASSERT_EQ(sets->size(), 2U);
  EXPECT_EQ((*sets)[0].id, "test_data_set_2");  // by number, not by name
  const auto one = find_test_data(path("test_data_set_10/"), network_);
  ASSERT_TRUE(one);
  ASSERT_EQ(one->size(), 1U);
  EXPECT_EQ((*one)[0].id, "test_data_set_10");
  const auto inputs = load_inputs((*one)[0].inputs, network_), outputs = load_outputs((*one)[0], network_);
  ASSERT_TRUE(inputs) << to_string(inputs.error());
  ASSERT_TRUE(outputs) << to_string(outputs.error());
  EXPECT_EQ((*inputs)[1].value.dtype, DType::BFloat16);
  EXPECT_EQ((*outputs)[0].name, "y");
  EXPECT_EQ((*outputs)[0].value.raw, "y");

  const auto wrong = [&](const std::string& part) {
    const auto found = find_test_data(folder_, network_);
    ASSERT_FALSE(found) << part;
    EXPECT_NE(to_string(found.error()).find(part), std::string::npos) << to_string(found.error());
  };
  file("test_data_set_2/output_1.pb", y);
  wrong("the network has 1 outputs");
  fs::remove(path("test_data_set_2/output_1.pb"));
  fs::remove(path("test_data_set_2/input_0.pb"));
  wrong("input_0.pb is missing, and input_1.pb is there");
  fs::remove_all(path("test_data_set_2"));
  fs::create_directory(path("test_data_set_2"));
  wrong("neither input_0.pb nor output_0.pb");
  EXPECT_FALSE(find_test_data(path("none"), network_));
  EXPECT_FALSE(find_test_data(path("test_data_set_10/input_0.pb"), network_));
}

}  // namespace
}  // namespace graphopt::runner
