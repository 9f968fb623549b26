#define XXH_INLINE_ALL  // header only: nothing to link
#include "batch/file_state.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <memory>
#include <vector>

namespace graphopt {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 20;
constexpr std::int64_t kNanoseconds = 1'000'000'000;

bool all_zero(std::string_view bytes) {
  return bytes.empty() ||
         (bytes[0] == 0 && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

// Reads up to a whole block; less at the end of the file.
std::optional<std::size_t> read_block(int fd, off_t at, std::vector<char>& block) {
  std::size_t size = 0;
  while (size < block.size()) {
    const ssize_t got = ::pread(fd, block.data() + size, block.size() - size, at + static_cast<off_t>(size));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  return size;
}

// Reads block by block: a map of a file that somebody cuts meanwhile would end the process. Blocks of zeros
// are left out, whether they are holes of the file, which are not read, or were written.
std::optional<std::string> content_of(int fd, std::uint64_t bytes) {
  const std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state(XXH3_createState(),
                                                                              &XXH3_freeState);
  XXH3_128bits_reset(state.get());
  std::vector<char> block(std::min<std::uint64_t>(kBlock, bytes));
  for (std::uint64_t number = 0; number * kBlock < bytes; ++number) {
    const auto at = static_cast<off_t>(number * kBlock);
#ifdef SEEK_DATA
    const off_t data = ::lseek(fd, at, SEEK_DATA);
    if (data < 0 && errno == ENXIO) break;  // the rest is a hole
    if (data > at && static_cast<std::uint64_t>(data) / kBlock > number) {
      number = static_cast<std::uint64_t>(data) / kBlock - 1;
      continue;
    }
#endif
    const std::optional<std::size_t> got = read_block(fd, at, block);
    if (!got) return std::nullopt;
    if (all_zero({block.data(), *got})) continue;
    XXH3_128bits_update(state.get(), &number, sizeof number);
    XXH3_128bits_update(state.get(), block.data(), *got);
  }
  XXH3_128bits_update(state.get(), &bytes, sizeof bytes);
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(state.get()));
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (const unsigned char byte : canonical.digest) {
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

}  // namespace

std::optional<FileState> state_of(const std::string& path, bool content) {
  struct stat s = {};
  const int fd = content ? ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
  if (content && fd < 0) return std::nullopt;
  const bool there = (content ? ::fstat(fd, &s) : ::stat(path.c_str(), &s)) == 0 && S_ISREG(s.st_mode);
  std::optional<FileState> out;
  if (there) {
    out = FileState{static_cast<std::uint64_t>(s.st_size),
                    std::int64_t{s.st_mtim.tv_sec} * kNanoseconds + s.st_mtim.tv_nsec,
                    static_cast<std::uint64_t>(s.st_ino),
                    {}};
    if (content) {
      if (std::optional<std::string> hash = content_of(fd, out->bytes)) out->content = *std::move(hash);
      else out.reset();
    }
  }
  if (fd >= 0) ::close(fd);
  return out;
}

std::int64_t moment_of_touch(const std::string& path) {
  struct stat s = {};
  if (::utimensat(AT_FDCWD, path.c_str(), nullptr, 0) == 0 && ::stat(path.c_str(), &s) == 0)
    return std::int64_t{s.st_ctim.tv_sec} * kNanoseconds + s.st_ctim.tv_nsec;
  timespec now = {};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return std::int64_t{now.tv_sec} * kNanoseconds + now.tv_nsec;
}

bool changed_after(const std::string& path, std::int64_t moment) {
  struct stat s = {};
  return ::stat(path.c_str(), &s) != 0 ||
         std::int64_t{s.st_ctim.tv_sec} * kNanoseconds + s.st_ctim.tv_nsec > moment;
}

}  // namespace graphopt
