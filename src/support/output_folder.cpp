#include "support/output_folder.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "support/file.h"
#include "support/folder_lock.h"

namespace graphopt {
namespace {

namespace fs = std::filesystem;

std::string hidden_name(const std::string& path) {
  return folder_of(path) + "/." + last_part(path) + ".graphopt";
}

// What a run makes in the hidden folder: the new folder, and the old one on its way out. Anything else there
// is not graphopt's, and stays.
constexpr const char* kNew = "/new";
constexpr const char* kOld = "/old";

void empty(const std::string& hidden) {
  std::error_code none;
  for (const char* name : {kNew, kOld}) fs::remove_all(hidden + name, none);
}

Status sync(const std::string& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return write_error(folder, folder, errno);
  const bool failed = ::fsync(fd) != 0 && errno != EINVAL;
  const int error = errno;
  ::close(fd);
  return failed ? Status(write_error(folder, folder, error)) : Status(Done{});
}

}  // namespace

OutputFolder::OutputFolder(std::string path) : path_(std::move(path)), hidden_(hidden_name(path_)) {}

bool OutputFolder::is_unfinished(const std::string& path) {
  std::error_code none;
  return fs::is_directory(fs::symlink_status(hidden_name(path), none));
}

std::string OutputFolder::fresh() const { return hidden_ + kNew; }

Error OutputFolder::failure(int error) const { return write_error(path_, folder_of(path_), error); }

Result<std::unique_ptr<OutputFolder>> OutputFolder::open(const std::string& path) {
  std::unique_ptr<OutputFolder> folder(new OutputFolder(path));
  if (Status s = folder->lock(); !s) return s.errors();
  empty(folder->hidden_);
  folder->temporaries_.emplace_back(folder->hidden_);
  return folder;
}

Status OutputFolder::lock() {
  const FolderLock lock = lock_folder(hidden_);
  fd_ = lock.fd;
  if (fd_ >= 0) return Done{};
  if (!lock.in_the_way) return failure(lock.error);
  Error e{ErrorKind::Output, {}, "it is in the way: graphopt makes a folder there", "remove it"};
  e.place.file = hidden_;
  return e;
}

OutputFolder::~OutputFolder() {
  if (fd_ < 0) return;
  empty(hidden_);
  ::rmdir(hidden_.c_str());
  ::close(fd_);  // the lock ends after the folder: who waits for it makes a new one
}

Status OutputFolder::make(const std::string& name) {
  std::string folder = fresh();
  for (std::size_t from = 0;;) {
    temporaries_.emplace_back(folder);
    if (::mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST) return failure(errno);
    if (from >= name.size()) return Done{};
    const std::size_t slash = std::min(name.find('/', from), name.size());
    folder += "/" + name.substr(from, slash - from);
    from = slash + 1;
  }
}

Result<std::string> OutputFolder::file(const std::string& name) {
  const std::size_t slash = name.rfind('/');
  if (Status s = make(slash == std::string::npos ? std::string{} : name.substr(0, slash)); !s)
    return s.errors();
  temporaries_.emplace_back(fresh() + "/" + name);
  return fresh() + "/" + name;
}

Status OutputFolder::write(const std::string& name, std::string_view text) {
  const Result<std::string> path = file(name);
  if (!path) return path.errors();
  Result<OutputFile> out = OutputFile::create(*path);
  if (!out) return out.errors();
  if (Status s = out->write(text); !s) return s;
  return out->commit();
}

// Files are durable when they have their names; so must be the names.
Status OutputFolder::sync_all() const {
  std::error_code error;
  for (fs::recursive_directory_iterator at(fresh(), error), end; !error && at != end; at.increment(error))
    if (at->is_directory(error))
      if (Status s = sync(at->path().string()); !s) return s;
  if (error) return failure(error.value());
  return sync(fresh());
}

Status OutputFolder::swap() const {
  struct stat info{};
  if (::lstat(path_.c_str(), &info) != 0) {
    if (errno != ENOENT) return failure(errno);
    return ::rename(fresh().c_str(), path_.c_str()) == 0 ? Status(Done{}) : failure(errno);
  }
  if (::renameat2(AT_FDCWD, fresh().c_str(), AT_FDCWD, path_.c_str(), RENAME_EXCHANGE) == 0) return Done{};
  if (errno != EINVAL && errno != ENOSYS) return failure(errno);
  const std::string old = hidden_ + kOld;
  if (::rename(path_.c_str(), old.c_str()) != 0) return failure(errno);
  if (::rename(fresh().c_str(), path_.c_str()) == 0) return Done{};
  const int error = errno;
  ::rename(old.c_str(), path_.c_str());
  return failure(error);
}

Status OutputFolder::place() {
  if (Status s = make({}); !s) return s;
  if (Status s = sync_all(); !s) return s;
  temporaries_.clear();  // from here on a signal leaves the hidden folder
  if (Status s = swap(); !s) return s;
  return sync(folder_of(path_));
}

Status OutputFolder::remove() {
  if (::rename(path_.c_str(), (hidden_ + kOld).c_str()) != 0 && errno != ENOENT) return failure(errno);
  return sync(folder_of(path_));
}

}  // namespace graphopt
