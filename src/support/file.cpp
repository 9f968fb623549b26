// See file.h. The lists that signal handlers read are arrays and chains of atomics: they are changed under a
// lock and can be read at any moment, half-done changes included.
#include "support/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "support/nearest.h"

namespace graphopt {
namespace {

constexpr unsigned kMostAttempts = 1000;     // to find a name that is free
constexpr std::size_t kGather = 256 * 1024;  // small writes are gathered up to this size
constexpr int kMostDescriptors = 500;        // of the 1024 that a process usually may have
constexpr std::uint64_t kPiece = std::uint64_t{2}
                                 << 20;  // of a copy: the disk writes one range while the next is read
constexpr std::uint64_t kWorthCopying =
    64 * 1024;  // below this, a system call per range costs more than a copy

std::string reason(int error) {
  std::array<char, 128> text{};
  return strerror_r(error, text.data(), text.size());  // the GNU version
}

// --- the list of images ------------------------------------------------------------------------------------

struct Listed {
  std::atomic<const FileImage*> image{nullptr};
  std::atomic<std::uintptr_t> begin{0}, end{0};
  std::atomic<Listed*> next{nullptr};
};

std::atomic<Listed*> first_listed{nullptr};
std::mutex list_lock;

// Returns the remedy for a path that is not there: files of the same folder with a similar name.
std::string near_files(const std::string& path) {
  constexpr std::size_t kMostEntries = 4096;
  namespace fs = std::filesystem;
  const fs::path given(path), folder = given.parent_path();
  std::vector<std::string> names;
  std::error_code failed;
  for (fs::directory_iterator it(folder.empty() ? fs::path(".") : folder, failed), end;
       !failed && it != end && names.size() < kMostEntries; it.increment(failed))
    names.push_back(it->path().filename().string());
  if (failed && !folder.empty()) return "check the path: there is no folder '" + folder.string() + "'";
  std::ranges::sort(names);  // the order in a folder is that of its file system
  std::vector<std::string> near = nearest(given.filename().string(), names);
  for (std::string& name : near) name = (folder / name).string();
  return near.empty() ? "check the path" : did_you_mean(near);
}

Error input_error(const std::string& path, int error) {
  Error e{ErrorKind::Input, {}, {}, {}};
  e.place.file = path;
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      e.what = "there is no such file";
      e.remedy = near_files(path);
      break;
    case EACCES:
    case EPERM:
      e.what = "it may not be read";
      e.remedy = "ask its owner for the right to read it";
      break;
    case EISDIR:
      e.what = "it is a folder";
      e.remedy = "give the path of a model file";
      break;
    default:
      e.what = "it cannot be read: " + reason(error);
      e.remedy = "check the file and the disk";
      break;
  }
  return e;
}

}  // namespace

// --- FileImage ---------------------------------------------------------------------------------------------

Result<std::shared_ptr<const FileImage>> FileImage::open(const std::string& path, std::uint64_t max_bytes) {
  if (path == "-") {
    const int fd = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    if (fd < 0) return input_error("-", errno);
    return adopt(fd, path, max_bytes);
  }
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return input_error(path, errno);
  return adopt(fd, path, max_bytes);
}

Result<std::shared_ptr<const FileImage>> FileImage::adopt(int fd, const std::string& path,
                                                          std::uint64_t max_bytes) {
  const auto fail = [fd, &path](int error) {
    ::close(fd);
    return input_error(path, error);
  };
  struct stat info{};
  if (::fstat(fd, &info) != 0) return fail(errno);
  if (S_ISDIR(info.st_mode)) return fail(EISDIR);
  const std::shared_ptr<FileImage> image(new FileImage);
  image->path_ = path;
  // A file that is already partly read (`tool < file` after another reader) is read from its present
  // position.
  const bool from_start = S_ISREG(info.st_mode) && ::lseek(fd, 0, SEEK_CUR) == 0;
  if (from_start && info.st_size > 0) {
    void* map = ::mmap(nullptr, static_cast<std::size_t>(info.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
    if (map != MAP_FAILED) {
      image->data_ = static_cast<const char*>(map);
      image->size_ = static_cast<std::size_t>(info.st_size);
      image->mapped_ = true;
      image->device_ = info.st_dev;
      image->inode_ = info.st_ino;
      if (fd < kMostDescriptors) image->fd_ = fd;
      else ::close(fd);
      image->enlist();
      return std::shared_ptr<const FileImage>(image);
    }
  }
  std::string& memory = image->memory_;
  for (;;) {
    const std::size_t old_size = memory.size();
    memory.resize(old_size + std::max<std::size_t>(64 * 1024, old_size / 2));
    const ssize_t n = ::read(fd, memory.data() + old_size, memory.size() - old_size);
    memory.resize(old_size + static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
    if (n < 0 && errno != EINTR) return fail(errno);
    if (n == 0) break;
    if (max_bytes > 0 && memory.size() > max_bytes) {
      ::close(fd);
      Error e{ErrorKind::Limit,
              {},
              "it is larger than --max-memory allows",
              "give a regular file, which is mapped, or a larger --max-memory"};
      e.place.file = path;
      return e;
    }
  }
  ::close(fd);
  image->data_ = memory.data();
  image->size_ = memory.size();
  image->enlist();
  return std::shared_ptr<const FileImage>(image);
}

std::shared_ptr<const FileImage> FileImage::from_memory(std::string bytes, std::string path) {
  const std::shared_ptr<FileImage> image(new FileImage);
  image->memory_ = std::move(bytes);
  image->data_ = image->memory_.data();
  image->size_ = image->memory_.size();
  image->path_ = std::move(path);
  image->enlist();
  return image;
}

// Entries are reused but never freed, so a handler can walk the list at any moment.
void FileImage::enlist() {
  const std::scoped_lock lock(list_lock);
  Listed* entry = first_listed.load();
  while (entry != nullptr && entry->image.load() != nullptr) entry = entry->next.load();
  const bool fresh = entry == nullptr;
  if (fresh) entry = new Listed;
  entry->begin.store(reinterpret_cast<std::uintptr_t>(data_));
  entry->end.store(reinterpret_cast<std::uintptr_t>(data_) + size_);
  entry->image.store(this);
  if (!fresh) return;
  entry->next.store(first_listed.load());
  first_listed.store(entry);
}

FileImage::~FileImage() {
  {
    const std::scoped_lock lock(list_lock);
    for (Listed* l = first_listed.load(); l != nullptr; l = l->next.load())
      if (l->image.load() == this) {
        l->begin.store(0);
        l->end.store(0);
        l->image.store(nullptr);
      }
  }
  if (mapped_) ::munmap(const_cast<char*>(data_), size_);
  if (fd_ >= 0) ::close(fd_);
}

bool FileImage::is_file(const std::string& path) const {
  struct stat info{};
  return mapped_ && ::stat(path.c_str(), &info) == 0 && info.st_dev == device_ && info.st_ino == inode_;
}

bool FileImage::still_whole() const {
  if (fd_ < 0) return true;
  struct stat info{};
  return ::fstat(fd_, &info) == 0 && static_cast<std::size_t>(info.st_size) >= size_;
}

const FileImage* FileImage::holding(std::string_view bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(bytes.data());
  for (Listed* l = first_listed.load(); l != nullptr; l = l->next.load())
    if (begin >= l->begin.load() && begin + bytes.size() <= l->end.load()) return l->image.load();
  return nullptr;
}

bool FileImage::maps(std::uint64_t device, std::uint64_t inode) {
  const std::scoped_lock lock(list_lock);  // no image of the list ends meanwhile
  for (Listed* l = first_listed.load(); l != nullptr; l = l->next.load()) {
    const FileImage* image = l->image.load();
    if (image != nullptr && image->mapped() && image->device_ == device && image->inode_ == inode)
      return true;
  }
  return false;
}

const char* image_path_at(const void* address) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  for (Listed* l = first_listed.load(); l != nullptr; l = l->next.load()) {
    const FileImage* image = l->image.load();
    // A map covers whole pages: the fault may lie beyond the last byte.
    if (image != nullptr && image->mapped() && at >= l->begin.load() && at < l->end.load() + 65536)
      return image->path_.c_str();
  }
  return nullptr;
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string last_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string real_path(const std::string& path) {
  char* real = ::realpath(path.c_str(), nullptr);
  if (real == nullptr) return {};
  std::string out = real;
  std::free(real);
  return out;
}

std::string resolved(const std::string& path) {
  std::string real = real_path(path);
  return real.empty() ? path : real;
}

// --- OutputFile --------------------------------------------------------------------------------------------

Error write_error(const std::string& path, const std::string& folder, int error) {
  Error e{ErrorKind::Output, {}, {}, {}};
  e.place.file = path;
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      e.what = "there is no space left for it";
      e.remedy = "free some space, or give a path on another disk";
      break;
    case EPIPE:
      e.what = "the program that reads it has gone";
      e.remedy = "check the command at the other end of the pipe";
      break;
    case EISDIR:
      e.what = "it is a folder";
      e.remedy = "give the path of a file in it";
      break;
    case ENOENT:
    case ENOTDIR:
      e.what = "the folder '" + folder + "' is not there";
      e.remedy = "make it with: mkdir -p '" + folder + "'";
      break;
    case EACCES:
    case EPERM:
    case EROFS:
      e.what = "nothing may be written there: " + reason(error);
      e.remedy = "give a path in a folder where you may write";
      break;
    case EFBIG:
      e.what = "the file would be larger than this system allows";
      e.remedy = "raise the limit (ulimit -f), or use another disk";
      break;
    case ENAMETOOLONG:
      e.what = "the name is too long";
      e.remedy = "give a shorter path";
      break;
    default:
      e.what = "it cannot be written: " + reason(error);
      e.remedy = "check the path and its disk";
      break;
  }
  return e;
}

// Gives the temporary file a name that no other run uses at the same time; returns false after many attempts.
bool OutputFile::name_temporary(unsigned attempt) {
  if (attempt >= kMostAttempts) return false;
  temporary_ = folder_ + "/.graphopt-" + std::to_string(::getpid()) + "-" + std::to_string(attempt) + ".tmp";
  noted_ = TemporaryName(temporary_);
  return true;
}

Result<OutputFile> OutputFile::create(const std::string& path, bool force, const std::string& folder) {
  OutputFile out;
  out.path_ = path;
  out.target_ = path;
  if (path == "-") {
    out.fd_ = STDOUT_FILENO;
    struct stat info{};
    if (::fstat(out.fd_, &info) != 0) return out.failure(errno);
    if (!force && ::isatty(out.fd_)) {
      Error e = out.failure(0);
      e.what = "a binary model would be written to the terminal";
      e.remedy = "give -o a file, redirect the output, or add --force";
      return e;
    }
    return out;
  }
  struct stat info{};
  const bool exists = ::stat(path.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) return out.failure(EISDIR);
  if (path.empty() || path.back() == '/') return out.failure(ENOENT);
  if (exists && !S_ISREG(info.st_mode)) {
    out.fd_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (out.fd_ < 0) return out.failure(errno);
    out.owned_fd_ = true;
    return out;
  }
  if (char* real = exists ? ::realpath(path.c_str(), nullptr) : nullptr) {
    out.target_ = real;
    std::free(real);
  }
  // Replacing needs no permission on the old file itself. It is required all the same, so that a
  // write-protected file is not replaced.
  if (!force && exists && ::access(out.target_.c_str(), W_OK) != 0) return out.failure(errno);
  out.folder_ = folder.empty() ? folder_of(out.target_) : folder;
  const mode_t mode = 0666;
  out.fd_ = ::open(out.folder_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
  if (out.fd_ < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL || errno == ENOENT)) {
    for (unsigned attempt = 0; out.fd_ < 0; ++attempt) {
      if (!out.name_temporary(attempt)) return out.failure(EEXIST);
      out.fd_ = ::open(out.temporary_.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, mode);
      if (out.fd_ >= 0) break;
      const int error = errno;
      out.forget_temporary();
      if (error != EEXIST) return out.failure(error);
    }
  }
  if (out.fd_ < 0) return out.failure(errno);
  out.owned_fd_ = true;
  out.regular_ = true;
  if (exists) ::fchmod(out.fd_, info.st_mode & 07777);
  return out;
}

OutputFile::OutputFile(OutputFile&& other) noexcept { *this = std::move(other); }

OutputFile& OutputFile::operator=(OutputFile&& other) noexcept {
  if (this == &other) return *this;
  discard();
  path_ = std::move(other.path_);
  target_ = std::move(other.target_);
  folder_ = std::move(other.folder_);
  temporary_ = std::exchange(other.temporary_, {});
  noted_ = std::move(other.noted_);
  fd_ = std::exchange(other.fd_, -1);
  regular_ = other.regular_;
  owned_fd_ = std::exchange(other.owned_fd_, false);
  finished_ = other.finished_;
  lasting_ = other.lasting_;
  size_ = other.size_;
  pending_ = std::move(other.pending_);
  return *this;
}

OutputFile::~OutputFile() { discard(); }

void OutputFile::forget_temporary() {
  temporary_.clear();
  noted_.forget();
}

void OutputFile::discard() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  forget_temporary();
  if (owned_fd_ && fd_ >= 0) ::close(fd_);
  fd_ = -1;
  owned_fd_ = false;
}

Status OutputFile::write_out(const char* data, std::size_t size) {
  while (size > 0) {
    const ssize_t n = ::write(fd_, data, std::min<std::size_t>(size, std::size_t{1} << 30));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failure(errno == EFAULT ? EIO : errno);
    if (n == 0) return failure(EIO);
    data += n;
    size -= static_cast<std::size_t>(n);
  }
  return Done{};
}

Status OutputFile::flush() {
  Status s = write_out(pending_.data(), pending_.size());
  pending_.clear();
  return s;
}

Status OutputFile::write(std::string_view bytes) {
  size_ += bytes.size();
  if (pending_.size() + bytes.size() <= kGather) {
    if (pending_.capacity() < kGather) pending_.reserve(kGather);
    pending_.append(bytes);
    return Done{};
  }
  if (Status s = flush(); !s) return s;
  if (bytes.size() < kGather) {
    pending_.append(bytes);
    return Done{};
  }
  return write_out(bytes.data(), bytes.size());
}

Status OutputFile::copy(const FileImage& from, std::uint64_t offset, std::uint64_t length) {
  if (offset > from.bytes().size() || length > from.bytes().size() - offset) return failure(EINVAL);
  if (from.descriptor() < 0 || length < kWorthCopying) return write(from.bytes().substr(offset, length));
  if (Status s = flush(); !s) return s;
  const auto shrunk = [&from] {
    Error e{ErrorKind::Input,
            {},
            "the file became shorter while it was read",
            "run again when nothing else writes to it"};
    e.place.file = from.path();
    return e;
  };
  if (!from.still_whole()) return shrunk();
  std::uint64_t at = offset;
  const std::uint64_t end = offset + length;
  while (at < end) {
    std::uint64_t stop = end;
    if (regular_) {
      const off_t data = ::lseek(from.descriptor(), static_cast<off_t>(at), SEEK_DATA);
      const std::uint64_t begin = data >= 0        ? std::min(static_cast<std::uint64_t>(data), end)
                                  : errno == ENXIO ? end
                                                   : at;
      if (begin > at) {
        if (!from.still_whole()) return shrunk();
        if (::lseek(fd_, static_cast<off_t>(begin - at), SEEK_CUR) < 0) return failure(errno);
        size_ += begin - at;
        at = begin;
        if (::ftruncate(fd_, static_cast<off_t>(size_)) != 0) return failure(errno);
        continue;
      }
      const off_t hole = ::lseek(from.descriptor(), static_cast<off_t>(at), SEEK_HOLE);
      if (hole > static_cast<off_t>(at)) stop = std::min(static_cast<std::uint64_t>(hole), end);
    }
    while (at < stop) {
      auto in = static_cast<off_t>(at);
      const std::size_t wanted = std::min<std::uint64_t>(stop - at, kPiece);
      const ssize_t n = regular_ ? ::copy_file_range(from.descriptor(), &in, fd_, nullptr, wanted, 0) : -1;
      if (n > 0) {
        // Starts writing this range to the disk while the next one is copied, which shortens the sync at the
        // end. It is a hint, so its result is ignored.
        static_cast<void>(::sync_file_range(fd_, static_cast<off_t>(size_), n, SYNC_FILE_RANGE_WRITE));
        at += static_cast<std::uint64_t>(n);
        size_ += static_cast<std::uint64_t>(n);
        continue;
      }
      if (n == 0) return shrunk();
      if (regular_ && errno == EINTR) continue;
      if (regular_ && (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)) return failure(errno);
      // Across file systems, or where the kernel cannot copy ranges: through the map.
      if (Status s = write_out(from.bytes().data() + at, stop - at); !s) return s;
      size_ += stop - at;
      at = stop;
    }
  }
  return Done{};
}

Status OutputFile::skip_to(std::uint64_t offset) {
  static constexpr std::array<char, 4096> kZeros{};
  while (size_ < offset) {
    const std::size_t n = std::min<std::uint64_t>(kZeros.size(), offset - size_);
    if (Status s = write({kZeros.data(), n}); !s) return s;
  }
  return Done{};
}

Status OutputFile::finish() {
  if (finished_) return Done{};
  if (Status s = flush(); !s) return s;
  if (regular_ && lasting_ && ::fsync(fd_) != 0 && errno != EINVAL) return failure(errno);
  finished_ = true;
  return Done{};
}

Status OutputFile::commit() {
  if (Status s = finish(); !s) return s;
  if (!regular_) {
    if (owned_fd_ && ::close(std::exchange(fd_, -1)) != 0) return failure(errno);
    owned_fd_ = false;
    return Done{};
  }
  if (temporary_.empty()) {
    // An unnamed file cannot replace a named one: it gets a name of its own first.
    const std::string self = "/proc/self/fd/" + std::to_string(fd_);
    for (unsigned attempt = 0;; ++attempt) {
      if (!name_temporary(attempt)) return failure(EEXIST);
      if (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, temporary_.c_str(), AT_SYMLINK_FOLLOW) == 0) break;
      const int error = errno;
      forget_temporary();
      if (error != EEXIST) return failure(error);
    }
  }
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) return failure(errno);
  forget_temporary();
  const int fd = std::exchange(fd_, -1);
  owned_fd_ = false;
  ::close(fd);
  return Done{};
}

}  // namespace graphopt
