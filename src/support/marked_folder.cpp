#include "support/marked_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>

namespace graphopt {
namespace fs = std::filesystem;

bool is_unfit_for_lists(char c) { return c == '\\' || static_cast<unsigned char>(c) < ' ' || c == '\x7F'; }

std::string real_folder(const std::string& path, std::error_code& error) {
  constexpr int kAttempts = 100;
  fs::path out;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    out = fs::absolute(path, error);
    if (!error) out = fs::weakly_canonical(out, error);
    if (error != std::errc::no_such_file_or_directory) break;  // a folder that was there a moment ago
  }
  if (error) return {};
  return (out.has_filename() ? out : out.parent_path()).string();
}

int open_below(int folder, std::string_view prefix) {
  int fd = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  while (fd >= 0 && !prefix.empty()) {
    const std::string part(prefix.substr(0, prefix.find('/')));
    prefix.remove_prefix(part.size() + 1);
    const bool plain =
        !part.empty() && part != "." && part != ".." && std::ranges::none_of(part, is_unfit_for_lists);
    const int next = plain ? ::openat(fd, part.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
    ::close(fd);
    fd = next;
  }
  return fd;
}

int move_anew(int from_folder, const std::string& from, int to_folder, const std::string& to) {
  if (::renameat2(from_folder, from.c_str(), to_folder, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return -1;
  return ::renameat(from_folder, from.c_str(), to_folder, to.c_str());  // replaces an empty folder at most
}

bool has_mark_alone(int folder) {
  const int fd = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* dir = fd < 0 ? nullptr : ::fdopendir(fd);
  if (dir == nullptr) return false;
  bool mark = false, other = false;
  while (const dirent* entry = ::readdir(dir)) {
    const std::string_view name = entry->d_name;
    if (name == kFolderMark) mark = true;
    else if (name != "." && name != "..") other = true;
  }
  ::closedir(dir);
  return mark && !other;
}

}  // namespace graphopt
