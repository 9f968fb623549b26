// ZIP archives of stored entries, written from the first byte to the last.
//
// Source: PKWARE's APPNOTE 6.3. Sizes, places and counts that do not fit the old fields are in those of ZIP64
// (sections 4.3.14 to 4.3.16 and 4.5.3), and only those. Each entry has the date 1980-01-01, so equal entries
// give equal bytes.
//
// An entry's checksum and size come before its bytes, so what makes the bytes is called twice. Memory: the
// names and some 32 bytes for each entry.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "graphopt/error.h"
#include "support/file.h"

namespace graphopt {

// From which value on a field of ZIP64 is used; a reader takes these as "look there". Tests give less.
struct ZipLimits {
  std::uint64_t bytes = 0xFFFFFFFF;
  std::uint64_t entries = 0xFFFF;
};

class ZipWriter {
 public:
  // Takes the next bytes of an entry; returns false where no more are wanted.
  using Sink = std::function<bool(std::string_view)>;
  // Makes the bytes of an entry, the same ones in each call.
  using Source = std::function<void(const Sink&)>;

  // `to` outlives the writer and is empty.
  explicit ZipWriter(OutputFile& to, ZipLimits limits = {}) : to_(to), limits_(limits) {}

  // Precondition: the name has at most 65,535 bytes.
  Status add(std::string_view name, const Source& source);
  Status finish();  // writes the directory; the caller commits the file

 private:
  struct Entry {
    std::string name;
    std::uint64_t at = 0, bytes = 0;
    std::uint32_t checksum = 0;
  };

  OutputFile& to_;
  ZipLimits limits_;
  std::vector<Entry> entries_;
};

}  // namespace graphopt
