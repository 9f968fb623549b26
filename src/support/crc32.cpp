// See crc32.h. Eight bytes in one step: table k has the effect of a byte that k more bytes follow ("slicing
// by 8", Kounavis and Berry 2005). The tables take 8 KiB and are made by the compiler.
#include "support/crc32.h"

#include <array>
#include <cstring>

namespace graphopt {
namespace {

using CrcTables = std::array<std::array<std::uint32_t, 256>, 8>;

constexpr CrcTables make_crc_tables() {
  CrcTables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t c = byte;
    for (int bit = 0; bit < 8; ++bit) c = (c & 1) != 0 ? c >> 1 ^ 0xEDB88320U : c >> 1;
    tables[0][byte] = c;
  }
  for (std::size_t k = 1; k < tables.size(); ++k)
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t c = tables[k - 1][byte];
      tables[k][byte] = c >> 8 ^ tables[0][c & 0xFF];
    }
  return tables;
}

constexpr CrcTables kCrcTables = make_crc_tables();

}  // namespace

std::uint32_t crc32(std::string_view bytes, std::uint32_t before) {
  const auto& t = kCrcTables;
  std::uint32_t c = ~before;
  while (bytes.size() >= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), sizeof word);
    word ^= c;
    c = 0;
    for (std::size_t i = 0; i < 8; ++i) c ^= t[7 - i][word >> (8 * i) & 0xFF];
    bytes.remove_prefix(8);
  }
  for (const char byte : bytes) c = c >> 8 ^ t[0][(c ^ static_cast<unsigned char>(byte)) & 0xFF];
  return ~c;
}

}  // namespace graphopt
