// The checksum of ZIP archives: CRC-32 of ISO 3309 (polynomial 0x04C11DB7, reflected).
#pragma once

#include <cstdint>
#include <string_view>

namespace graphopt {

// Returns the checksum of what `before` is the checksum of, followed by `bytes`; that of nothing is 0.
std::uint32_t crc32(std::string_view bytes, std::uint32_t before = 0);

}  // namespace graphopt
