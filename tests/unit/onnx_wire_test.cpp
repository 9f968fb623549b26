// The wire walk on whole and on broken bytes, and the backward writer.
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "onnx/wire.h"

namespace graphopt::wire {
namespace {

using namespace std::string_literals;

std::string joined(BackwardWriter& w) {
  std::string out;
  for (const ByteRange& p : w.take()) out.append(p.data, p.size);
  return out;
}

const char* first_fault(const std::string& bytes) {
  Fields fields(bytes);
  for (Field f; fields.next(f);) {
  }
  return fields.what();
}

TEST(Wire, ReadsEachKindOfField) {
  // 1: varint 300; 2: "ab"; 3: fixed32 1; 4: fixed64 2; group 5 {1: 7}; 2: ""
  const std::string bytes =
      "\x08\xAC\x02\x12\x02"
      "ab\x1D\x01\0\0\0\x21\x02\0\0\0\0\0\0\0\x2B\x08\x07\x2C\x12\0"s;
  Fields fields(bytes);
  Field f;
  ASSERT_TRUE(fields.next(f));
  EXPECT_EQ(f.number, 1u);
  EXPECT_EQ(f.value, 300u);
  ASSERT_TRUE(fields.next(f));
  EXPECT_EQ(f.bytes, "ab");
  EXPECT_EQ(f.whole,
            "\x12\x02"
            "ab");
  ASSERT_TRUE(fields.next(f));
  EXPECT_EQ(f.kind, Kind::Fixed32);
  EXPECT_EQ(f.value, 1u);
  ASSERT_TRUE(fields.next(f));
  EXPECT_EQ(f.kind, Kind::Fixed64);
  EXPECT_EQ(f.value, 2u);
  ASSERT_TRUE(fields.next(f));
  EXPECT_EQ(f.kind, Kind::Group);
  EXPECT_EQ(f.whole, "\x2B\x08\x07\x2C");
  ASSERT_TRUE(fields.next(f));
  EXPECT_TRUE(f.bytes.empty());
  EXPECT_FALSE(fields.next(f));
  EXPECT_FALSE(fields.broken());
}

TEST(Wire, EveryCutOfAFieldIsSeen) {
  const std::string whole =
      "\x08\xAC\x02\x12\x02"
      "ab\x1D\x01\0\0\0\x21\x02\0\0\0\0\0\0\0\x2B\x08\x07\x2C"s;
  const std::size_t borders[] = {0, 3, 7, 12, 21, whole.size()};
  for (std::size_t n = 0; n <= whole.size(); ++n) {
    const bool at_border = std::find(std::begin(borders), std::end(borders), n) != std::end(borders);
    EXPECT_EQ(first_fault(whole.substr(0, n)) == nullptr, at_border) << n;
  }
}

TEST(Wire, RefusesWhatProtobufRefuses) {
  EXPECT_NE(first_fault("\x00\x00"s), nullptr);                                // field number 0
  EXPECT_NE(first_fault("\x0E"s), nullptr);                                    // wire type 6
  EXPECT_NE(first_fault("\x0C"s), nullptr);                                    // a group's end alone
  EXPECT_NE(first_fault("\x0B\x14"s), nullptr);                                // ended by another number
  EXPECT_NE(first_fault("\x08" + std::string(10, '\xFF') + "\x01"), nullptr);  // eleven bytes of varint
  EXPECT_NE(first_fault("\x12\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"s), nullptr);      // length 2^64 - 1
  EXPECT_NE(first_fault(std::string(200, '\x0B') + std::string(200, '\x0C')), nullptr);  // 200 groups deep
  EXPECT_EQ(first_fault(std::string(100, '\x0B') + std::string(100, '\x0C')), nullptr);
}

TEST(Wire, NumbersRoundTrip) {
  for (const std::uint64_t v :
       {std::uint64_t{0}, std::uint64_t{127}, std::uint64_t{128}, std::uint64_t{1} << 31,
        std::uint64_t{1} << 63, std::numeric_limits<std::uint64_t>::max()}) {
    BackwardWriter w({});
    w.field_varint(3, v);
    const std::string bytes = joined(w);
    Fields fields(bytes);
    Field f;
    ASSERT_TRUE(fields.next(f));
    EXPECT_EQ(f.number, 3u);
    EXPECT_EQ(f.value, v);
  }
}

TEST(Wire, ListsPackedOrNot) {
  std::vector<std::int64_t> ints;
  Field f;
  const std::string packed = "\x3A\x0B\x05\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"s;  // 5, -1
  Fields fields(packed);
  ASSERT_TRUE(fields.next(f));
  ASSERT_TRUE(append_varints(f, ints));
  EXPECT_EQ(ints, (std::vector<std::int64_t>{5, -1}));
  const std::string cut = "\x3A\x02\x05\x80"s;
  Fields cut_fields(cut);
  ASSERT_TRUE(cut_fields.next(f));
  EXPECT_FALSE(append_varints(f, ints));
  std::vector<float> floats;
  const std::string odd = "\x22\x03\0\0\0"s;
  Fields odd_fields(odd);
  ASSERT_TRUE(odd_fields.next(f));
  EXPECT_FALSE(append_floats(f, floats));
}

TEST(Wire, NeighboursInTheImageBecomeOneRange) {
  const std::string image = "\x0A\x03one\x0A\x03two\x12\x01x"s;
  BackwardWriter w(image);
  std::vector<Bytes> contents;
  Fields fields(image);
  for (Field f; fields.next(f);) contents.push_back(f.bytes);
  w.field_bytes(2, contents[2]);
  w.field_bytes(1, contents[1]);
  w.field_bytes(1, contents[0]);
  const std::vector<ByteRange> ranges = w.take();
  ASSERT_EQ(ranges.size(), 1u);
  EXPECT_EQ(ranges[0].data, image.data());
  EXPECT_EQ(ranges[0].size, image.size());
}

TEST(Wire, AnotherTagOrALongLengthIsWrittenAnew) {
  const std::string image = "\x0A\x83\0one"s;  // the length takes a byte too many
  BackwardWriter w(image);
  Field f;
  Fields(image).next(f);
  w.field_bytes(5, f.bytes);
  w.field_bytes(1, f.bytes);
  EXPECT_EQ(joined(w), "\x0A\x03one\x2A\x03one"s);
}

TEST(Wire, NestedLengths) {
  BackwardWriter w({});
  const std::uint64_t outer = w.size();
  w.field_copy(2, std::string(300, 'b'));
  const std::uint64_t inner = w.size();
  w.field_int(1, -1);
  w.close(1, inner);
  w.close(7, outer);
  const std::string bytes = joined(w);
  Field f, g, h;
  ASSERT_TRUE(Fields(bytes).next(f));
  EXPECT_EQ(f.whole.size(), bytes.size());
  Fields content(f.bytes);
  ASSERT_TRUE(content.next(g));
  ASSERT_TRUE(Fields(g.bytes).next(h));
  EXPECT_EQ(as_int64(h), -1);
  ASSERT_TRUE(content.next(g));
  EXPECT_EQ(g.bytes, std::string(300, 'b'));
  EXPECT_FALSE(content.next(g));
}

}  // namespace
}  // namespace graphopt::wire
