// See array_bits.h. Packed elements are a stream of bits, lowest first, as in TensorProto.raw_data.
#include "runtime/array_bits.h"

#include <algorithm>
#include <string>

namespace graphopt {
namespace {

unsigned byte_at(std::string_view raw, std::uint64_t i) { return static_cast<unsigned char>(raw[i]); }

}  // namespace

std::optional<DType> bits_type(DType type) {
  switch (type) {
    case DType::BFloat16: return DType::UInt16;
    case DType::Float8E4M3FN:
    case DType::Float8E4M3FNUZ:
    case DType::Float8E5M2:
    case DType::Float8E5M2FNUZ:
    case DType::Float8E8M0: return DType::UInt8;
    default: break;
  }
  const int bits = bits_of(type);
  return bits > 0 && bits < 8 ? std::optional(DType::UInt8) : std::nullopt;
}

std::uint8_t packed_element(std::string_view raw, DType type, std::uint64_t i) {
  const auto bits = static_cast<unsigned>(bits_of(type));
  const std::uint64_t place = i * bits;  // below 2^64: a byte in memory has few of them
  const auto shift = static_cast<unsigned>(place % 8);
  unsigned both = byte_at(raw, place / 8);
  if (shift + bits > 8) both |= byte_at(raw, place / 8 + 1) << 8;
  return static_cast<std::uint8_t>(both >> shift & ((1U << bits) - 1));
}

bool take_bits(HostValue& value, DType type) {
  if (value.kind != HostValue::Kind::Tensor || bits_type(type) != value.dtype) return false;
  const auto bits = static_cast<unsigned>(bits_of(type));
  if (bits < 8) {
    const auto fits = [bits](char c) { return static_cast<unsigned char>(c) >> bits == 0; };
    if (!std::ranges::all_of(value.raw, fits)) return false;
    std::string packed((value.raw.size() * bits + 7) / 8, '\0');
    for (std::size_t i = 0; i < value.raw.size(); ++i) {
      const unsigned element = byte_at(value.raw, i);
      const std::size_t place = i * bits;
      const auto shift = static_cast<unsigned>(place % 8);
      packed[place / 8] = static_cast<char>(byte_at(packed, place / 8) | element << shift);
      if (shift + bits > 8) packed[place / 8 + 1] = static_cast<char>(element >> (8 - shift));
    }
    value.raw = std::move(packed);
  }
  value.dtype = type;
  return true;
}

}  // namespace graphopt
