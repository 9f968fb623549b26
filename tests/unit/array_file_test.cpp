// Arrays of NumPy: what is read, and that no byte of a broken file is read beyond its end.
#include "runtime/array_file.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>

#include "support/crc32.h"

namespace graphopt {
namespace {

template <class T> void put(std::string& out, T number) {
  for (std::size_t i = 0; i < sizeof(T); ++i)
    out += static_cast<char>(static_cast<std::uint64_t>(number) >> (8 * i));
}

// Version 1 of the format, as numpy.save writes it.
std::string npy(const std::string& descr, const std::string& shape, const std::string& data,
                bool fortran = false) {
  std::string dict = "{'descr': " + descr + ", 'fortran_order': " + (fortran ? "True" : "False") +
                     ", 'shape': " + shape + ", }";
  while ((10 + dict.size() + 1) % 64 != 0) dict += ' ';
  dict += '\n';
  std::string out("\x93NUMPY\x01\x00", 8);
  put(out, static_cast<std::uint16_t>(dict.size()));
  return out + dict + data;
}

std::string bytes(std::initializer_list<int> values) {
  std::string out;
  for (const int v : values) out += static_cast<char>(v);
  return out;
}

// An archive as numpy.savez writes it: stored entries with a ZIP64 field in the local header.
std::string npz(const std::vector<std::pair<std::string, std::string>>& arrays, std::uint16_t method = 0) {
  std::string out, directory;
  for (const auto& [name, data] : arrays) {
    const std::string file = name + ".npy";
    const auto at = static_cast<std::uint32_t>(out.size()), size = static_cast<std::uint32_t>(data.size());
    put(out, std::uint32_t{0x04034B50});
    put(out, std::uint16_t{45});
    put(out, std::uint16_t{0});
    put(out, method);
    out += std::string(4, '\0');  // time, date
    put(out, crc32(data));
    put(out, std::uint32_t{0xFFFFFFFF});
    put(out, std::uint32_t{0xFFFFFFFF});
    put(out, static_cast<std::uint16_t>(file.size()));
    put(out, std::uint16_t{20});
    out += file;
    put(out, std::uint16_t{1});
    put(out, std::uint16_t{16});
    put(out, std::uint64_t{size});
    put(out, std::uint64_t{size});
    out += data;
    put(directory, std::uint32_t{0x02014B50});
    directory += std::string(6, '\0');  // versions, flags
    put(directory, method);
    directory += std::string(4, '\0');
    put(directory, crc32(data));
    put(directory, size);
    put(directory, size);
    put(directory, static_cast<std::uint16_t>(file.size()));
    directory += std::string(12, '\0');  // extra, comment, disk, attributes
    put(directory, at);
    directory += file;
  }
  const auto at = static_cast<std::uint32_t>(out.size());
  out += directory;
  put(out, std::uint32_t{0x06054B50});
  out += std::string(4, '\0');
  put(out, static_cast<std::uint16_t>(arrays.size()));
  put(out, static_cast<std::uint16_t>(arrays.size()));
  put(out, static_cast<std::uint32_t>(directory.size()));
  put(out, at);
  return out + std::string(2, '\0');
}

TEST(ArrayFile, ReadsTypesShapesAndTexts) {
  const auto floats = read_npy(npy("'<f4'", "(1, 2)", bytes({0, 0, 128, 63, 0, 0, 0, 192})), "x.npy");
  ASSERT_TRUE(floats) << floats.error().what;
  EXPECT_EQ(floats->dtype, DType::Float);
  EXPECT_EQ(floats->dims, (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(floats->raw, bytes({0, 0, 128, 63, 0, 0, 0, 192}));
  const auto scalar = read_npy(npy("'|b1'", "()", bytes({1})), "x.npy");
  ASSERT_TRUE(scalar);
  EXPECT_EQ(scalar->dtype, DType::Bool);
  EXPECT_TRUE(scalar->dims.empty());
  const auto empty = read_npy(npy("'<i8'", "(0, 5)", ""), "x.npy");
  ASSERT_TRUE(empty);
  EXPECT_EQ(empty->dims, (std::vector<std::int64_t>{0, 5}));
  // Two texts of three characters: "a", and U+00FC U+20AC U+1F600.
  const auto texts = read_npy(npy("'<U3'", "(2,)", bytes({'a',  0, 0, 0, 0,    0,    0, 0, 0, 0,    0, 0,  //
                                                          0xFC, 0, 0, 0, 0xAC, 0x20, 0, 0, 0, 0xF6, 1, 0})),
                              "x.npy");
  ASSERT_TRUE(texts) << texts.error().what;
  EXPECT_EQ(texts->strings, (std::vector<std::string>{"a", "\xC3\xBC\xE2\x82\xAC\xF0\x9F\x98\x80"}));
  const auto plain = read_npy(npy("'|S2'", "(2,)", bytes({'o', 'k', 'x', 0})), "x.npy");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->strings, (std::vector<std::string>{"ok", "x"}));
}

TEST(ArrayFile, TurnsTheOrderOfFortran) {
  // [[1, 2, 3], [4, 5, 6]] lies as 1 4 2 5 3 6.
  const auto value = read_npy(npy("'|u1'", "(2, 3)", bytes({1, 4, 2, 5, 3, 6}), true), "x.npy");
  ASSERT_TRUE(value);
  EXPECT_EQ(value->raw, bytes({1, 2, 3, 4, 5, 6}));
  const auto cube = read_npy(npy("'|u1'", "(2, 1, 2)", bytes({1, 3, 2, 4}), true), "x.npy");
  ASSERT_TRUE(cube);
  EXPECT_EQ(cube->raw, bytes({1, 2, 3, 4}));
  EXPECT_TRUE(read_npy(npy("'|u1'", "(2, 0)", "", true), "x.npy"));
}

TEST(ArrayFile, RefusesWhatItDoesNotRead) {
  const auto why = [](const std::string& file) {
    const auto value = read_npy(file, "x.npy");
    return value ? std::string("read") : value.error().what;
  };
  EXPECT_NE(why(npy("'>f4'", "(1,)", "abcd")).find("'>f4'"), std::string::npos);
  EXPECT_NE(why(npy("'|O'", "(1,)", "abcd")).find("'|O'"), std::string::npos);
  EXPECT_NE(why(npy("[('a', '<f4')]", "(1,)", "abcd")).find("are not read"), std::string::npos);
  EXPECT_NE(why(npy("'<f4'", "(2,)", "abcd")).find("as many elements"), std::string::npos);
  EXPECT_NE(why(npy("'<f4'", "(4611686018427387904, 4)", "")).find("as many elements"), std::string::npos);
  EXPECT_NE(why(npy("'<U0'", "(4611686018427387904,)", "")).find("no room"), std::string::npos);
  EXPECT_NE(why(npy("'<f4'", "(-1,)", "")).find("header"), std::string::npos);
  EXPECT_NE(why("PK").find("no array"), std::string::npos);
}

TEST(ArrayFile, ReadsArchives) {
  const std::string one = npy("'|u1'", "(2,)", bytes({7, 8})), two = npy("'<i4'", "()", bytes({9, 0, 0, 0}));
  const auto arrays = read_npz(npz({{"ids", one}, {"length", two}}), "x.npz");
  ASSERT_TRUE(arrays) << arrays.error().what;
  ASSERT_EQ(arrays->size(), 2U);
  EXPECT_EQ((*arrays)[0].name, "ids");
  EXPECT_EQ((*arrays)[0].value.raw, bytes({7, 8}));
  EXPECT_EQ((*arrays)[1].name, "length");
  EXPECT_EQ((*arrays)[1].value.dtype, DType::Int32);
  const auto packed = read_npz(npz({{"ids", one}}, 8), "x.npz");
  ASSERT_FALSE(packed);
  EXPECT_NE(packed.error().remedy.find("numpy.savez"), std::string::npos);
  EXPECT_FALSE(read_npz(one, "x.npz"));
}

TEST(ArrayFile, ReadsOneArrayOfAnArchive) {
  const std::string one = npy("'|u1'", "(2,)", bytes({7, 8})), cut = one.substr(0, one.size() - 1);
  const std::string archive = npz({{"ids", one}, {"cut", cut}, {"a/b", one}});
  EXPECT_EQ(npz_names(archive, "x.npz").ok() ? *npz_names(archive, "x.npz") : std::vector<std::string>{},
            (std::vector<std::string>{"ids", "cut", "a/b"}));
  const auto ids = read_npz_array(archive, "x.npz", "ids"), nested = read_npz_array(archive, "x.npz", "a/b");
  ASSERT_TRUE(ids && nested);  // the broken one next to them is not looked at
  EXPECT_EQ(ids->raw, bytes({7, 8}));
  const auto broken = read_npz_array(archive, "x.npz", "cut");
  ASSERT_FALSE(broken);
  EXPECT_NE(broken.error().what.find("'cut'"), std::string::npos);
  const auto none = read_npz_array(archive, "x.npz", "idz", ErrorKind::Usage);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::Usage);
  EXPECT_NE(none.error().remedy.find("ids"), std::string::npos);
  EXPECT_TRUE(read_npz_array(npz({{"other", one}}), "x.npz", "ids"));  // the only one, whatever its name
}

TEST(ArrayFile, FindsDamageByTheChecksum) {
  std::string archive = npz({{"ids", npy("'|u1'", "(2,)", bytes({7, 8}))}});
  const std::size_t at = archive.find(bytes({7, 8}));
  ASSERT_NE(at, std::string::npos);
  archive[at] = 9;
  const auto damaged = read_npz(archive, "x.npz");
  ASSERT_FALSE(damaged);
  EXPECT_NE(damaged.error().what.find("checksum"), std::string::npos);
}

TEST(ArrayFile, ManyEntriesMayNotShareTheirBytes) {
  // A directory of a thousand entries that all say "the first one": each would be read anew.
  const std::string data = npy("'|u1'", "(10000,)", std::string(10000, 'x'));
  const std::string one = npz({{"a", data}});
  const std::size_t directory = one.find(bytes({0x50, 0x4B, 1, 2})),
                    end = one.find(bytes({0x50, 0x4B, 5, 6}));
  std::string all = one.substr(0, directory);
  for (int i = 0; i < 1000; ++i) all += one.substr(directory, end - directory);
  std::string tail = one.substr(end);
  for (const std::size_t field : {8, 10}) tail.replace(field, 2, bytes({1000 % 256, 1000 / 256}));
  const auto arrays = read_npz(all + tail, "x.npz");
  ASSERT_FALSE(arrays);
  EXPECT_NE(arrays.error().what.find("list of arrays is broken"), std::string::npos);
}

TEST(Crc32, IsThatOfTheStandard) {
  EXPECT_EQ(crc32("123456789"), 0xCBF43926U);  // the check value of CRC-32/ISO-HDLC
  EXPECT_EQ(crc32(""), 0U);
  for (std::size_t cut = 0; cut < 9; ++cut)
    EXPECT_EQ(
        crc32(std::string_view("123456789").substr(cut), crc32(std::string_view("123456789").substr(0, cut))),
        0xCBF43926U);
}

TEST(ArrayFile, ABrokenFileIsRefusedNotRead) {
  const std::string array = npy("'<U2'", "(2, 2)", std::string(32, 'a'), true);
  const std::string archive = npz({{"a", array}, {"b", npy("'<f8'", "(1,)", std::string(8, 'x'))}});
  std::mt19937 random(1);
  for (std::size_t size = 0; size < archive.size(); ++size) (void)read_npz(archive.substr(0, size), "x.npz");
  for (std::size_t size = 0; size < array.size(); ++size)
    EXPECT_FALSE(read_npy(array.substr(0, size), "x.npy")) << size;
  for (int i = 0; i < 20000; ++i) {
    std::string broken = i % 2 == 0 ? archive : array;
    for (int k = 0; k < 3; ++k) broken[random() % broken.size()] = static_cast<char>(random());
    (void)read_npz(broken, "x.npz");
    (void)read_npy(broken, "x.npy");
  }
}

}  // namespace
}  // namespace graphopt
