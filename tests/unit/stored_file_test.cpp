// Values that ONNX stores in files: every form of a payload gives the elements that onnx's own classes put
// in, and no damaged file is read beyond its end.
#include "runtime/stored_file.h"

#include <gtest/gtest.h>
#include <onnx/onnx-data.pb.h>
#include <onnx/onnx_pb.h>

#include <cstring>
#include <random>
#include <string>

namespace graphopt {
namespace {

using onnx::OptionalProto;
using onnx::SequenceProto;
using onnx::TensorProto;

TensorProto tensor(int type, std::initializer_list<std::int64_t> dims, const std::string& raw = {}) {
  TensorProto out;
  out.set_data_type(type);
  out.set_name("t");
  for (const std::int64_t d : dims) out.add_dims(d);
  if (!raw.empty()) out.set_raw_data(raw);
  return out;
}

std::string why(const std::string& bytes, StoredKind kind = StoredKind::Tensor) {
  const auto value = read_stored(bytes, "x.pb", kind);
  if (value) return "read";
  EXPECT_EQ(value.error().kind, ErrorKind::Input);
  EXPECT_EQ(value.error().place.file, "x.pb");
  EXPECT_FALSE(value.error().remedy.empty());
  return value.error().what;
}

std::string bits(float f) {
  std::string out(4, '\0');
  std::memcpy(out.data(), &f, 4);
  return out;
}

TEST(StoredFile, ReadsEachFormOfAPayload) {
  const auto raw =
      read_stored(tensor(TensorProto::FLOAT, {2}, bits(1.5F) + bits(-2)).SerializeAsString(), "x.pb");
  ASSERT_TRUE(raw) << raw.error().what;
  EXPECT_EQ(raw->name, "t");
  EXPECT_EQ(raw->value.dtype, DType::Float);
  EXPECT_EQ(raw->value.dims, std::vector<std::int64_t>{2});
  EXPECT_EQ(raw->value.raw, bits(1.5F) + bits(-2));

  TensorProto listed = tensor(TensorProto::FLOAT, {2});
  listed.add_float_data(1.5F);
  listed.add_float_data(-2);
  const auto floats = read_stored(listed.SerializeAsString(), "x.pb");
  ASSERT_TRUE(floats) << floats.error().what;
  EXPECT_EQ(floats->value.raw, bits(1.5F) + bits(-2));

  TensorProto small = tensor(TensorProto::INT16, {2});
  small.add_int32_data(-2);
  small.add_int32_data(300);
  const auto shorts = read_stored(small.SerializeAsString(), "x.pb");
  ASSERT_TRUE(shorts) << shorts.error().what;
  EXPECT_EQ(shorts->value.raw, std::string("\xFE\xFF\x2C\x01", 4));

  TensorProto words = tensor(TensorProto::STRING, {2});
  words.add_string_data("a");
  words.add_string_data(std::string("\0\xFF", 2));
  const auto texts = read_stored(words.SerializeAsString(), "x.pb");
  ASSERT_TRUE(texts) << texts.error().what;
  EXPECT_EQ(texts->value.strings, (std::vector<std::string>{"a", std::string("\0\xFF", 2)}));

  const auto scalar = read_stored(tensor(TensorProto::UINT8, {}, "x").SerializeAsString(), "x.pb");
  ASSERT_TRUE(scalar);
  EXPECT_TRUE(scalar->value.dims.empty());
  EXPECT_EQ(scalar->value.raw, "x");
  for (const int type : {TensorProto::DOUBLE, TensorProto::STRING, TensorProto::INT4}) {
    const auto none = read_stored(tensor(type, {3, 0}).SerializeAsString(), "x.pb");
    ASSERT_TRUE(none) << type << ": " << none.error().what;
    EXPECT_EQ(none->value.dims, (std::vector<std::int64_t>{3, 0}));
    EXPECT_TRUE(none->value.raw.empty() && none->value.strings.empty());
  }
}

TEST(StoredFile, ReadsSequencesAndOptionals) {
  SequenceProto sequence;
  sequence.set_name("s");
  sequence.set_elem_type(SequenceProto::TENSOR);
  *sequence.add_tensor_values() = tensor(TensorProto::UINT8, {1}, "a");
  *sequence.add_tensor_values() = tensor(TensorProto::UINT8, {2}, "bc");
  const auto two = read_stored(sequence.SerializeAsString(), "x.pb", StoredKind::Sequence);
  ASSERT_TRUE(two) << two.error().what;
  EXPECT_EQ(two->name, "s");
  EXPECT_EQ(two->value.kind, HostValue::Kind::Sequence);
  ASSERT_EQ(two->value.items.size(), 2U);
  EXPECT_EQ(two->value.items[1].raw, "bc");
  const auto empty = read_stored("", "x.pb", StoredKind::Sequence);
  ASSERT_TRUE(empty);
  EXPECT_EQ(empty->value.kind, HostValue::Kind::Sequence);

  OptionalProto optional;
  const auto absent = read_stored(optional.SerializeAsString(), "x.pb", StoredKind::Optional);
  ASSERT_TRUE(absent);
  EXPECT_EQ(absent->value.kind, HostValue::Kind::Absent);
  *optional.mutable_tensor_value() = tensor(TensorProto::UINT8, {1}, "a");
  const auto one = read_stored(optional.SerializeAsString(), "x.pb", StoredKind::Optional);
  ASSERT_TRUE(one);
  EXPECT_EQ(one->value.raw, "a");
  OptionalProto of_sequence;
  of_sequence.set_name("o");
  *of_sequence.mutable_sequence_value() = sequence;
  const auto inner = read_stored(of_sequence.SerializeAsString(), "x.pb", StoredKind::Optional);
  ASSERT_TRUE(inner);
  EXPECT_EQ(inner->name, "o");
  EXPECT_EQ(inner->value.items.size(), 2U);
}

TEST(StoredFile, RefusesWhatIsNotPlain) {
  EXPECT_NE(why("").find("no element type"), std::string::npos);
  EXPECT_NE(why("garbage").find("broken"), std::string::npos);
  EXPECT_NE(why(tensor(TensorProto::FLOAT, {3}, "abcd").SerializeAsString()).find("12 bytes"),
            std::string::npos);
  EXPECT_NE(why(tensor(TensorProto::FLOAT, {-1}, "abcd").SerializeAsString()).find("-1"), std::string::npos);
  EXPECT_NE(why(tensor(99, {1}, "abcd").SerializeAsString()).find("type"), std::string::npos);
  // As many elements as no file holds, with and without the payload of one.
  const std::int64_t many = std::int64_t{1} << 62;
  EXPECT_NE(why(tensor(TensorProto::FLOAT, {many, 8}, "abcd").SerializeAsString()), "read");
  EXPECT_NE(why(tensor(TensorProto::FLOAT, {many}).SerializeAsString()), "read");
  EXPECT_NE(why(tensor(TensorProto::STRING, {many / 4}).SerializeAsString()), "read");

  TensorProto external = tensor(TensorProto::FLOAT, {1});
  external.set_data_location(TensorProto::EXTERNAL);
  auto* entry = external.add_external_data();
  entry->set_key("location");
  entry->set_value("/etc/passwd");
  EXPECT_NE(why(external.SerializeAsString()).find("another file"), std::string::npos);
  external.clear_data_location();
  EXPECT_NE(why(external.SerializeAsString()).find("another file"), std::string::npos);
  TensorProto segment = tensor(TensorProto::FLOAT, {1}, "abcd");
  segment.mutable_segment()->set_begin(0);
  EXPECT_NE(why(segment.SerializeAsString()).find("segments"), std::string::npos);

  SequenceProto sequence, outer;
  *outer.add_sequence_values() = sequence;
  EXPECT_NE(why(outer.SerializeAsString(), StoredKind::Sequence).find("inside others"), std::string::npos);
  sequence.add_map_values();
  EXPECT_NE(why(sequence.SerializeAsString(), StoredKind::Sequence).find("maps"), std::string::npos);
  OptionalProto optional, nested;
  *nested.mutable_optional_value() = optional;
  EXPECT_NE(why(nested.SerializeAsString(), StoredKind::Optional), "read");
  *optional.mutable_tensor_value() = tensor(TensorProto::UINT8, {1}, "a");
  optional.mutable_sequence_value();
  EXPECT_NE(why(optional.SerializeAsString(), StoredKind::Optional).find("more than one"), std::string::npos);
  // A tensor where a sequence is asked for: its dims are numbers, and a sequence's first field is a name.
  EXPECT_NE(why(tensor(TensorProto::FLOAT, {1}, "abcd").SerializeAsString(), StoredKind::Sequence), "read");
}

TEST(StoredFile, ABrokenFileIsRefusedNotRead) {
  SequenceProto sequence;
  sequence.set_name("s");
  TensorProto words = tensor(TensorProto::STRING, {2}), list = tensor(TensorProto::INT64, {3});
  words.add_string_data("abc");
  words.add_string_data("");
  for (const std::int64_t v : {-1, 0, 300}) list.add_int64_data(v);
  *sequence.add_tensor_values() = words;
  *sequence.add_tensor_values() = list;
  *sequence.add_tensor_values() = tensor(TensorProto::FLOAT, {1, 2}, "abcdefgh");
  OptionalProto optional;
  *optional.mutable_sequence_value() = sequence;
  const std::string whole = optional.SerializeAsString();
  ASSERT_EQ(why(whole, StoredKind::Optional), "read");
  for (std::size_t size = 1; size < whole.size(); ++size)
    EXPECT_NE(why(whole.substr(0, size), StoredKind::Optional), "read") << size;
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    std::string broken = whole;
    for (int k = 0; k < 3; ++k) broken[random() % broken.size()] = static_cast<char>(random());
    for (const StoredKind kind : {StoredKind::Tensor, StoredKind::Sequence, StoredKind::Optional})
      (void)read_stored(broken, "x.pb", kind);
  }
}

}  // namespace
}  // namespace graphopt
