#include "support/sparse_bytes.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>

#include "support/file.h"

namespace graphopt {

void for_each_piece(std::string_view bytes, const std::function<void(std::string_view)>& f) {
  const FileImage* image = FileImage::holding(bytes);
  if (image == nullptr || image->descriptor() < 0) return f(bytes);
  static constexpr std::array<char, 65536> kZeros{};
  const char* const base = image->bytes().data();
  auto at = static_cast<std::uint64_t>(bytes.data() - base);
  const std::uint64_t end = at + bytes.size();
  while (at < end) {
    const off_t data = ::lseek(image->descriptor(), static_cast<off_t>(at), SEEK_DATA);
    const std::uint64_t begin =
        data < 0 ? (errno == ENXIO ? end : at) : std::min(static_cast<std::uint64_t>(data), end);
    while (at < begin) {
      const std::uint64_t n = std::min<std::uint64_t>(kZeros.size(), begin - at);
      f({kZeros.data(), n});
      at += n;
    }
    if (at == end) break;
    const off_t hole = ::lseek(image->descriptor(), static_cast<off_t>(at), SEEK_HOLE);
    const std::uint64_t stop =
        hole > static_cast<off_t>(at) ? std::min(static_cast<std::uint64_t>(hole), end) : end;
    f({base + at, stop - at});
    at = stop;
  }
}

}  // namespace graphopt
