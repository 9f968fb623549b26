#include "support/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace graphopt {

FolderLock lock_folder(const std::string& path) {
  constexpr int attempts = 1000;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    if (::mkdir(path.c_str(), 0777) != 0 && errno != EEXIST) return {.error = errno};
    const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
      if (errno == ENOENT) continue;
      return {.error = errno, .in_the_way = errno == ENOTDIR || errno == ELOOP};
    }
    while (::flock(fd, LOCK_EX) != 0 && errno == EINTR) {
    }
    struct stat locked{}, now{};
    if (::fstat(fd, &locked) == 0 && ::lstat(path.c_str(), &now) == 0 && locked.st_dev == now.st_dev &&
        locked.st_ino == now.st_ino)
      return {.fd = fd};
    ::close(fd);
  }
  return {.error = EBUSY};
}

}  // namespace graphopt
