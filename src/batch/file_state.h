// What tells that a file is the one that it was.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace graphopt {

struct FileState {
  std::uint64_t bytes = 0;
  std::int64_t modified = 0;  // nanoseconds since 1970
  std::uint64_t inode = 0;
  std::string content;  // 32 hexadecimal digits, of XXH3 with 128 bits; empty: not computed

  // The size, the time and the inode are the same.
  bool looks_like(const FileState& other) const {
    return bytes == other.bytes && modified == other.modified && inode == other.inode;
  }
};

// Returns the state of a file, links followed; nothing when it is not there. `content`: compute that, too,
// which reads the file.
std::optional<FileState> state_of(const std::string& path, bool content = false);

// Touches a file of our own and returns its time of change: what was changed before has no later one. That is
// so for no clock, since a file may have a finer or a coarser time than the one that a program reads. The
// clock's, where there is no such file.
std::int64_t moment_of_touch(const std::string& path);
// Returns true when a file, or what has its name, was changed after a moment: it was written, or was given
// this name. A file that is not there was.
bool changed_after(const std::string& path, std::int64_t moment);

}  // namespace graphopt
