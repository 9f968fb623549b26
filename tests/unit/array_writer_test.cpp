// Archives that are written: read again they are the same, whatever the type, and their bytes are those that
// the formats ask for. tests/cli/arrays.py reads them with NumPy.
#include "runtime/array_writer.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "runtime/array_bits.h"
#include "runtime/array_file.h"

namespace graphopt {
namespace {

HostValue array(DType type, std::vector<std::int64_t> dims, std::string raw) {
  HostValue out;
  out.kind = HostValue::Kind::Tensor;
  out.dtype = type;
  out.dims = std::move(dims);
  out.raw = std::move(raw);
  return out;
}

HostValue texts(std::vector<std::string> strings) {
  HostValue out = array(DType::String, {static_cast<std::int64_t>(strings.size())}, {});
  out.strings = std::move(strings);
  return out;
}

std::string bytes_of(std::initializer_list<int> values) {
  std::string out;
  for (const int v : values) out += static_cast<char>(v);
  return out;
}

// A file of its own, which is removed at the end.
class Archive {
 public:
  explicit Archive(const std::vector<NamedValue>& values, ZipLimits limits = {})
      : path_(testing::TempDir() + "array_writer_" + std::to_string(reinterpret_cast<std::uintptr_t>(this))),
        notes_(write_npz(path_, values, ArchiveOptions{.force = true, .lasting = false, .limits = limits})) {}
  ~Archive() { std::remove(path_.c_str()); }
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;

  const Result<ArchiveNotes>& notes() const { return notes_; }
  bool there() const { return std::filesystem::exists(path_); }
  std::string content() const {
    std::ostringstream out;
    out << std::ifstream(path_, std::ios::binary).rdbuf();
    return out.str();
  }
  std::vector<NamedValue> read() const {
    auto values = read_npz(content(), path_);
    if (!values) ADD_FAILURE() << values.error().what;
    return values ? *std::move(values) : std::vector<NamedValue>{};
  }

 private:
  std::string path_;
  Result<ArchiveNotes> notes_;
};

TEST(ArrayWriter, WhatIsWrittenIsReadAgain) {
  std::vector<NamedValue> all;
  for (const DType type : {DType::Bool, DType::Int8, DType::UInt8, DType::Int16, DType::UInt16, DType::Int32,
                           DType::UInt32, DType::Int64, DType::UInt64, DType::Float16, DType::Float,
                           DType::Double, DType::Complex64, DType::Complex128}) {
    const auto width = static_cast<std::size_t>(bits_of(type)) / 8;
    std::string raw;  // signs, NaNs and infinities are bits like others
    for (std::size_t i = 0; i < 6 * width; ++i)
      raw += static_cast<char>(type == DType::Bool ? i % 2 : 0xFF - 41 * i);
    const std::string name(dtype_name(type));
    all.push_back({name, array(type, {2, 3}, raw)});
    all.push_back({name + "/scalar", array(type, {}, raw.substr(0, width))});
    all.push_back({name + "/none", array(type, {0, 7}, "")});
    all.push_back({name + "/line", array(type, {6}, raw)});
  }
  const Archive archive(all);
  ASSERT_TRUE(archive.notes()) << archive.notes().error().what;
  EXPECT_TRUE(archive.notes()->bits.empty());
  const auto again = archive.read();
  ASSERT_EQ(again.size(), all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(again[i].name, all[i].name);
    EXPECT_EQ(again[i].value.dtype, all[i].value.dtype) << all[i].name;
    EXPECT_EQ(again[i].value.dims, all[i].value.dims) << all[i].name;
    EXPECT_EQ(again[i].value.raw, all[i].value.raw) << all[i].name;
  }
}

TEST(ArrayWriter, TheElementsOfAnArrayBeginAtAMultipleOf64) {
  const Archive archive({{"x", array(DType::UInt8, {1, 2, 3}, "abcdef")}});
  const std::string content = archive.content();
  const std::size_t begin = content.find("\x93NUMPY"), data = content.find("abcdef");
  ASSERT_NE(begin, std::string::npos);
  ASSERT_NE(data, std::string::npos);
  EXPECT_EQ((data - begin) % 64, 0U);
  EXPECT_EQ(content[data - 1], '\n');
  EXPECT_NE(content.find("{'descr': '|u1', 'fortran_order': False, 'shape': (1, 2, 3), }"),
            std::string::npos);
}

TEST(ArrayWriter, TypesThatNumpyLacksBecomeTheirBits) {
  // int4: 1, -1, -8; packed two in a byte, the first one in the low half.
  const std::vector<NamedValue> all = {
      {"bf", array(DType::BFloat16, {2}, bytes_of({0x80, 0x3F, 0x80, 0xFF}))},
      {"f8", array(DType::Float8E4M3FN, {2}, bytes_of({0x38, 0x7F}))},
      {"i4", array(DType::Int4, {3}, bytes_of({0xF1, 0x08}))},
      {"u2", array(DType::UInt2, {5}, bytes_of({0b11100100, 0b10}))},
      {"f6", array(DType::Float6E2M3, {3}, bytes_of({0b10000001, 0b11110010, 0b11}))},
      {"f4", array(DType::Float, {1}, bytes_of({0, 0, 0x80, 0x3F}))}};
  const Archive archive(all);
  ASSERT_TRUE(archive.notes()) << archive.notes().error().what;
  EXPECT_EQ(archive.notes()->bits, (std::vector<std::string>{"bf", "f8", "i4", "u2", "f6"}));
  auto again = archive.read();
  ASSERT_EQ(again.size(), 6U);
  EXPECT_EQ(again[0].value.dtype, DType::UInt16);
  EXPECT_EQ(again[0].value.raw, bytes_of({0x80, 0x3F, 0x80, 0xFF}));
  EXPECT_EQ(again[1].value.dtype, DType::UInt8);
  EXPECT_EQ(again[2].value.raw, bytes_of({1, 15, 8}));
  EXPECT_EQ(again[3].value.raw, bytes_of({0, 1, 2, 3, 2}));
  // 000001, 001010 (its low two bits are the high ones of the first byte), 111111.
  EXPECT_EQ(again[4].value.raw, bytes_of({0b000001, 0b001010, 0b111111}));
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_TRUE(take_bits(again[i].value, all[i].value.dtype)) << all[i].name;
    EXPECT_EQ(again[i].value.raw, all[i].value.raw) << all[i].name;
    EXPECT_EQ(again[i].value.dtype, all[i].value.dtype);
  }
  EXPECT_FALSE(take_bits(again[5].value, DType::BFloat16));
  HostValue wide = array(DType::UInt8, {1}, bytes_of({16}));
  EXPECT_FALSE(take_bits(wide, DType::Int4));
  EXPECT_EQ(wide.dtype, DType::UInt8);
}

TEST(ArrayWriter, TextsAreUnicodeOrElseBytes) {
  const std::vector<std::string> unicode = {"a", "", "gr\xC3\xBC\xC3\x9F", "\xE2\x82\xAC\xF0\x9F\x98\x80"};
  const std::vector<std::string> bytes = {"ok", std::string("a\0b", 3), "\xFF\xFE"};
  const std::string long_text(70000, 'x');
  const Archive archive({{"u", texts(unicode)},
                         {"s", texts(bytes)},
                         {"none", texts({})},
                         {"empty", texts({"", ""})},
                         {"long", texts({"b", long_text})}});
  ASSERT_TRUE(archive.notes()) << archive.notes().error().what;
  const auto again = archive.read();
  ASSERT_EQ(again.size(), 5U);
  EXPECT_EQ(again[0].value.strings, unicode);
  EXPECT_EQ(again[1].value.strings, bytes);
  EXPECT_TRUE(again[2].value.strings.empty());
  EXPECT_EQ(again[3].value.strings, (std::vector<std::string>{"", ""}));
  EXPECT_EQ(again[4].value.strings, (std::vector<std::string>{"b", long_text}));
  EXPECT_NE(archive.content().find("'<U4'"), std::string::npos);
  EXPECT_NE(archive.content().find("'|S3'"), std::string::npos);
  EXPECT_NE(archive.content().find("'<U1'"), std::string::npos);
}

TEST(ArrayWriter, SequencesMapsAndOptionals) {
  HostValue sequence, map, nested, none;
  sequence.kind = nested.kind = HostValue::Kind::Sequence;
  sequence.items = {array(DType::UInt8, {1}, "a"), array(DType::UInt8, {2}, "bc")};
  map.kind = HostValue::Kind::Map;
  map.items = {texts({"k"}), array(DType::UInt8, {1}, "v")};
  nested.items = {map};
  const Archive archive({{"s", sequence}, {"m", map}, {"n", nested}, {"o", none}});
  ASSERT_TRUE(archive.notes()) << archive.notes().error().what;
  EXPECT_EQ(archive.notes()->apart, (std::vector<std::string>{"s", "m", "n", "n[0]"}));
  EXPECT_EQ(archive.notes()->absent, std::vector<std::string>{"o"});
  std::string names;
  for (const NamedValue& v : archive.read()) names += v.name + ' ';
  EXPECT_EQ(names, "s[0] s[1] m.keys m.values n[0].keys n[0].values ");
}

TEST(ArrayWriter, WhatCannotBeWrittenLeavesNoFile) {
  const auto why = [](const std::vector<NamedValue>& values) {
    const Archive archive(values);
    EXPECT_FALSE(archive.there());
    if (archive.notes()) return std::string("written");
    EXPECT_FALSE(archive.notes().error().place.file.empty());
    return archive.notes().error().what;
  };
  const HostValue good = array(DType::UInt8, {1}, "a");
  EXPECT_NE(why({{"x", good}, {"x", good}}).find("two arrays"), std::string::npos);
  EXPECT_NE(why({{std::string("x\0y", 3), good}}).find("name of an array"), std::string::npos);
  EXPECT_NE(why({{std::string(70000, 'x'), good}}).find("name of an array"), std::string::npos);
  EXPECT_NE(why({{"x", array(DType::UInt8, std::vector<std::int64_t>(65, 1), "a")}}).find("65 dims"),
            std::string::npos);
  EXPECT_NE(why({{"x", texts({std::string("a\0", 2)})}}).find("zero byte"), std::string::npos);
  EXPECT_NE(why({{"x", array(DType::UInt8, {2}, "a")}}).find("dims"), std::string::npos);
  EXPECT_NE(why({{"x", array(DType::UInt8, {std::int64_t{1} << 62, 8}, "")}}).find("dims"),
            std::string::npos);
  EXPECT_NE(why({{"x", array(DType::Undefined, {0}, "")}}).find("x"), std::string::npos);
  EXPECT_TRUE(Archive({{"x", array(DType::UInt8, std::vector<std::int64_t>(64, 1), "a")}}).there());
}

TEST(ArrayWriter, FieldsOfZip64WhereNumbersDoNotFit) {
  std::vector<NamedValue> all;
  for (int i = 0; i < 40; ++i)
    all.push_back(
        {"x" + std::to_string(i),
         array(DType::UInt8, {i * 10}, std::string(static_cast<std::size_t>(i) * 10, static_cast<char>(i)))});
  // Places, then places and sizes, then all numbers, are beyond what the old fields are said to hold.
  for (const ZipLimits limits :
       {ZipLimits{.bytes = 3000, .entries = 0xFFFF}, ZipLimits{.bytes = 200, .entries = 0xFFFF},
        ZipLimits{.bytes = 0, .entries = 0}, ZipLimits{.bytes = 0xFFFFFFFF, .entries = 7}}) {
    const Archive archive(all, limits);
    ASSERT_TRUE(archive.notes()) << archive.notes().error().what;
    const auto again = archive.read();
    ASSERT_EQ(again.size(), all.size());
    for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(again[i].value.raw, all[i].value.raw);
  }
}

TEST(ArrayWriter, EqualValuesGiveEqualBytes) {
  const std::vector<NamedValue> values = {{"x", array(DType::UInt8, {1}, "a")}, {"y", texts({"b"})}};
  EXPECT_EQ(Archive(values).content(), Archive(values).content());
}

}  // namespace
}  // namespace graphopt
