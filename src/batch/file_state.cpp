#define XXH_INLINE_ALL  // header only: nothing to link
#include "batch/file_state.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <array>
#include <cerrno>
#include <memory>
#include <vector>

namespace graphopt {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 20;
constexpr std::int64_t kNanoseconds = 1'000'000'000;

// Reads block by block: a map of a file that somebody cuts meanwhile would end the process.
std::optional<std::string> content_of(int fd) {
  const std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state(XXH3_createState(),
                                                                              &XXH3_freeState);
  XXH3_128bits_reset(state.get());
  std::vector<char> block(kBlock);
  for (;;) {
    const ssize_t got = ::read(fd, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    XXH3_128bits_update(state.get(), block.data(), static_cast<std::size_t>(got));
  }
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
      if (std::optional<std::string> hash = content_of(fd)) out->content = *std::move(hash);
      else out.reset();
    }
  }
  if (fd >= 0) ::close(fd);
  return out;
}

}  // namespace graphopt
