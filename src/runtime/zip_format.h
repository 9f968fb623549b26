// Numbers of PKWARE's APPNOTE 6.3 that the reader and the writer of archives share.
#pragma once

#include <cstdint>

namespace graphopt::zip {

// What the records begin with: an entry's own head, that in the directory, the end of the directory, and both
// of ZIP64.
inline constexpr std::uint32_t kLocalMark = 0x04034B50, kEntryMark = 0x02014B50, kEndMark = 0x06054B50,
                               kWideEndMark = 0x06064B50, kLocatorMark = 0x07064B50;
// In a field that its number does not fit: the number is in the record or the field of ZIP64.
inline constexpr std::uint32_t kWide32 = 0xFFFFFFFF;
inline constexpr std::uint16_t kWide16 = 0xFFFF;
inline constexpr std::uint16_t kWideField = 1;  // the id of ZIP64's extra field
// Flags of an entry.
inline constexpr std::uint16_t kEncrypted = 1, kNameIsUtf8 = 1U << 11;

}  // namespace graphopt::zip
