// See zip_reader.h.
#include "runtime/zip_reader.h"

#include "runtime/zip_format.h"
#include "support/crc32.h"

namespace graphopt {
namespace {

using namespace zip;

struct Directory {
  std::uint64_t at = 0, entries = 0;
};

std::optional<Directory> find_directory(const ByteReader& zip) {
  constexpr std::uint64_t kEnd = 22, kLocator = 20, kMostComment = 0xFFFF;
  for (std::uint64_t back = kEnd; back <= zip.size() && back <= kEnd + kMostComment; ++back) {
    const std::uint64_t end = zip.size() - back;
    if (zip.number<std::uint32_t>(end) != kEndMark) continue;
    Directory out{*zip.number<std::uint32_t>(end + 16), *zip.number<std::uint16_t>(end + 10)};
    if (out.at != kWide32 && out.entries != kWide16) return out;
    if (end < kLocator || zip.number<std::uint32_t>(end - kLocator) != kLocatorMark) return std::nullopt;
    const std::uint64_t wide = *zip.number<std::uint64_t>(end - kLocator + 8);
    if (wide > zip.size()) return std::nullopt;  // so that no place below is beyond 64 bits
    const auto entries = zip.number<std::uint64_t>(wide + 32), at = zip.number<std::uint64_t>(wide + 48);
    if (zip.number<std::uint32_t>(wide) != kWideEndMark || !entries || !at) return std::nullopt;
    return Directory{*at, *entries};
  }
  return std::nullopt;
}

// Field 1 holds those of size, packed size and place that did not fit, in this order.
bool read_wide_field(std::string_view extra, bool wide_size, std::uint64_t& packed, std::uint64_t& place) {
  const ByteReader fields(extra);
  for (std::uint64_t f = 0; f + 4 <= extra.size();) {
    const std::uint16_t id = *fields.number<std::uint16_t>(f), length = *fields.number<std::uint16_t>(f + 2);
    std::uint64_t value = f + 4;
    const auto take = [&](std::uint64_t& to) {
      const auto found = fields.number<std::uint64_t>(value);
      if (found) to = *found;
      value += sizeof(std::uint64_t);
      return found.has_value();
    };
    std::uint64_t size = 0;
    if (id == kWideField && ((wide_size && !take(size)) || (packed == kWide32 && !take(packed)) ||
                             (place == kWide32 && !take(place))))
      return false;
    f += 4 + std::uint64_t{length};
  }
  return true;
}

}  // namespace

bool ZipEntry::is_undamaged() const { return crc32(bytes) == checksum; }

std::optional<ZipReader> ZipReader::open(std::string_view bytes) {
  ZipReader out(bytes);
  const auto directory = find_directory(out.zip_);
  if (!directory) return std::nullopt;
  out.at_ = directory->at;
  out.left_ = directory->entries;
  return out;
}

std::optional<ZipEntry> ZipReader::next() {
  if (broken_ || left_ == 0) return std::nullopt;
  broken_ = true;
  constexpr std::uint64_t kFixed = 46, kLocalFixed = 30;
  const auto fixed = zip_.piece(at_, kFixed);
  if (!fixed || zip_.number<std::uint32_t>(at_) != kEntryMark) return std::nullopt;
  const auto field16 = [&](std::uint64_t o) { return *zip_.number<std::uint16_t>(at_ + o); };
  const auto field32 = [&](std::uint64_t o) { return *zip_.number<std::uint32_t>(at_ + o); };
  const std::uint64_t name = field16(28), extra = field16(30), comment = field16(32);
  const auto text = zip_.piece(at_ + kFixed, name), more = zip_.piece(at_ + kFixed + name, extra);
  if (!text || !more) return std::nullopt;
  const bool packed = field16(10) != 0 || (field16(8) & kEncrypted) != 0;
  std::uint64_t bytes = field32(20), place = field32(42);
  if (!read_wide_field(*more, field32(24) == kWide32, bytes, place)) return std::nullopt;
  ZipEntry out{*text, {}, ZipEntry::State::Packed, field32(16)};
  if (!packed) {
    const auto name_length = zip_.number<std::uint16_t>(place + 26),
               extra_length = zip_.number<std::uint16_t>(place + 28);
    const bool begins = name_length && extra_length && zip_.number<std::uint32_t>(place) == kLocalMark;
    const auto content =
        begins ? zip_.piece(place + kLocalFixed + *name_length + *extra_length, bytes) : std::nullopt;
    out.state = content ? ZipEntry::State::Stored : ZipEntry::State::Cut;
    if (content) {
      out.bytes = *content;
      used_ += bytes;  // both are at most the size of the archive
      if (used_ > zip_.size()) return std::nullopt;
    }
  }
  at_ += kFixed + name + extra + comment;
  --left_;
  broken_ = false;
  return out;
}

}  // namespace graphopt
