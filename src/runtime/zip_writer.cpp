// See zip_writer.h.
#include "runtime/zip_writer.h"

#include <algorithm>

#include "runtime/zip_format.h"
#include "support/crc32.h"
#include "support/utf8.h"

namespace graphopt {
namespace {

using namespace zip;

constexpr std::uint16_t kOldVersion = 20, kWideVersion = 45;
constexpr std::uint32_t kFirstDate = 0x00210000;  // 1980-01-01, 00:00

template <class T> void put(std::string& to, T number) {
  for (std::size_t i = 0; i < sizeof(T); ++i)
    to += static_cast<char>(static_cast<std::uint64_t>(number) >> (8 * i));
}
void put16(std::string& to, std::uint64_t number) { put(to, static_cast<std::uint16_t>(number)); }
void put32(std::string& to, std::uint64_t number) { put(to, static_cast<std::uint32_t>(number)); }
void put64(std::string& to, std::uint64_t number) { put(to, number); }

// Python takes a name without the flag as the bytes of code page 437, of which ASCII is a part.
std::uint16_t flags_of(std::string_view name) {
  const bool ascii = std::ranges::all_of(name, [](char c) { return (c & 0x80) == 0; });
  return !ascii && is_utf8(name) ? kNameIsUtf8 : std::uint16_t{0};
}

}  // namespace

Status ZipWriter::add(std::string_view name, const Source& source) {
  Entry entry{std::string(name), to_.size(), 0, 0};
  source([&](std::string_view piece) {
    entry.bytes += piece.size();
    entry.checksum = crc32(piece, entry.checksum);
    return true;
  });
  const bool wide = entry.bytes >= limits_.bytes;
  std::string head;
  put32(head, kLocalMark);
  put16(head, wide ? kWideVersion : kOldVersion);
  put16(head, flags_of(name));
  put16(head, 0);  // stored
  put32(head, kFirstDate);
  put32(head, entry.checksum);
  for (int of = 0; of < 2; ++of) put32(head, wide ? kWide32 : entry.bytes);  // packed, and as it is
  put16(head, name.size());
  put16(head, wide ? 20 : 0);
  head += name;
  if (wide) {
    put16(head, kWideField);
    put16(head, 16);
    for (int of = 0; of < 2; ++of) put64(head, entry.bytes);
  }
  Status done = to_.write(head);
  if (done)
    source([&](std::string_view piece) {
      done = to_.write(piece);
      return done.ok();
    });
  if (done) entries_.push_back(std::move(entry));
  return done;
}

Status ZipWriter::finish() {
  const std::uint64_t begin = to_.size();
  for (const Entry& entry : entries_) {
    const bool wide_size = entry.bytes >= limits_.bytes, wide_place = entry.at >= limits_.bytes;
    const bool wide = wide_size || wide_place;
    const std::uint64_t extra = (wide ? 4U : 0U) + (wide_size ? 16U : 0U) + (wide_place ? 8U : 0U);
    std::string head;
    put32(head, kEntryMark);
    for (int of = 0; of < 2; ++of) put16(head, wide ? kWideVersion : kOldVersion);  // made by, needed
    put16(head, flags_of(entry.name));
    put16(head, 0);  // stored
    put32(head, kFirstDate);
    put32(head, entry.checksum);
    for (int of = 0; of < 2; ++of) put32(head, wide_size ? kWide32 : entry.bytes);
    put16(head, entry.name.size());
    put16(head, extra);
    head.append(10, '\0');  // no comment, the first disk, no attributes
    put32(head, wide_place ? kWide32 : entry.at);
    head += entry.name;
    if (wide) {
      put16(head, kWideField);
      put16(head, extra - 4);
      for (int of = 0; of < 2 && wide_size; ++of) put64(head, entry.bytes);
      if (wide_place) put64(head, entry.at);
    }
    if (Status done = to_.write(head); !done) return done;
  }
  const std::uint64_t bytes = to_.size() - begin, count = entries_.size();
  const bool wide = count >= limits_.entries || bytes >= limits_.bytes || begin >= limits_.bytes;
  std::string end;
  if (wide) {
    put32(end, kWideEndMark);
    put64(end, 44);  // what follows of this record
    for (int of = 0; of < 2; ++of) put16(end, kWideVersion);
    put64(end, 0);  // this disk, and that of the directory
    for (int of = 0; of < 2; ++of) put64(end, count);
    put64(end, bytes);
    put64(end, begin);
    put32(end, kLocatorMark);
    put32(end, 0);
    put64(end, begin + bytes);
    put32(end, 1);  // disks
  }
  put32(end, kEndMark);
  put32(end, 0);
  for (int of = 0; of < 2; ++of) put16(end, count >= limits_.entries ? kWide16 : count);
  put32(end, bytes >= limits_.bytes ? kWide32 : bytes);
  put32(end, begin >= limits_.bytes ? kWide32 : begin);
  put16(end, 0);
  return to_.write(end);
}

}  // namespace graphopt
