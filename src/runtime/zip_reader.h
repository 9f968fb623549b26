// The entries of a ZIP archive whose bytes are in memory, each a view of them.
//
// Source: as zip_writer.h. The directory at the end decides; comments, ZIP64 and data before the first entry
// are accepted. Entries that are compressed or encrypted are named only. Every length is compared with what
// is there; the entries together may take no more bytes than the archive has, so no number of them asks for
// more memory than that.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "runtime/byte_reader.h"

namespace graphopt {

struct ZipEntry {
  enum class State : std::uint8_t {
    Stored,
    Packed,  // compressed or encrypted: `bytes` is empty
    Cut,     // its bytes are not all there
  };
  std::string_view name, bytes;
  State state = State::Stored;
  std::uint32_t checksum = 0;

  bool is_undamaged() const;  // its bytes have the checksum, for which all of them are read
};

class ZipReader {
 public:
  // None where the bytes have no directory at their end.
  static std::optional<ZipReader> open(std::string_view bytes);

  // Returns the next entry of the directory; none after the last one, and where the directory is broken.
  std::optional<ZipEntry> next();
  bool broken() const { return broken_; }

 private:
  explicit ZipReader(std::string_view bytes) : zip_(bytes) {}

  ByteReader zip_;
  std::uint64_t at_ = 0, left_ = 0;  // of the directory: the place of the next entry, and how many there are
  std::uint64_t used_ = 0;           // bytes of the entries so far
  bool broken_ = false;
};

}  // namespace graphopt
