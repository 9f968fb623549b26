// The folder of the outputs. One process works on a shard at a time: it locks the shard's range of the file
// .graphopt/.lock, as if the file were as long as the range of all names (shard.h). The lock belongs to the
// open file, so it lasts until the last worker, too, has ended. Names with a '.' in front are no folders of
// models, whose records are next to these files.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "batch/record.h"
#include "batch/shard.h"
#include "graphopt/batch.h"
#include "support/file.h"

namespace graphopt {
namespace {

namespace fs = std::filesystem;

#ifdef F_OFD_SETLK
constexpr int kTry = F_OFD_SETLK, kWait = F_OFD_SETLKW;
#else
constexpr int kTry = F_SETLK, kWait = F_SETLKW;
#endif

int lock_range(int fd, ShardRange range, int how) {
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(range.begin);
  lock.l_len = static_cast<off_t>(range.end - range.begin);
  int result = 0;
  do result = ::fcntl(fd, how, &lock);
  while (result != 0 && errno == EINTR && how == kWait);
  return result == 0 ? 0 : errno;
}

// Temporary files of output files (support/file.cpp) that a process which was killed may have left.
void remove_leftovers(const std::string& folder) {
  std::error_code failure;
  for (fs::recursive_directory_iterator it(folder, failure), end; !failure && it != end;
       it.increment(failure)) {
    const std::string leaf = it->path().filename().string();
    std::error_code ignored;
    if (leaf.starts_with(".graphopt-") && leaf.ends_with(".tmp")) fs::remove(it->path(), ignored);
  }
}

}  // namespace

Result<BatchFolder> BatchFolder::open(const BatchOptions& options, const std::function<void()>& waits) {
  BatchFolder out;
  out.folder_ = options.output;
  const std::string records = records_folder(options.output);
  std::error_code failure;
  fs::create_directories(records, failure);
  if (failure) return write_error(records, folder_of(records), failure.value());
  const std::string path = records + "/.lock";
  constexpr mode_t kMode = 0666;
  out.lock_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kMode);
  if (out.lock_ < 0) return write_error(path, records, errno);
  const ShardRange range = range_of(options.shard);
  int error = lock_range(out.lock_, range, kTry);
  if (error == EAGAIN || error == EACCES) {
    if (waits) waits();
    error = lock_range(out.lock_, range, kWait);
  }
  // Some file systems have no such locks: then runs are not kept apart.
  if (error != 0 && error != ENOLCK && error != EINVAL && error != ENOTSUP && error != ENOSYS)
    return write_error(path, records, error);
  const bool is_whole = options.shard.count == 1;
  out.mark_ = mark_path(options);
  if (!is_whole) return out;
  bool interrupted = false;  // by any shard: none of them is there now
  for (fs::directory_iterator it(records, failure), end; !failure && it != end; it.increment(failure)) {
    if (!it->path().filename().string().starts_with(".unfinished")) continue;
    interrupted = true;
    std::error_code ignored;
    if (it->path() != fs::path(out.mark_)) fs::remove(it->path(), ignored);
  }
  if (interrupted) remove_leftovers(options.output);
  return out;
}

BatchFolder::BatchFolder(BatchFolder&& other) noexcept
    : lock_(std::exchange(other.lock_, -1)),
      folder_(std::move(other.folder_)),
      mark_(std::move(other.mark_)) {}

BatchFolder::~BatchFolder() {
  if (lock_ >= 0) ::close(lock_);
}

Status BatchFolder::begin_work() {
  constexpr mode_t kMode = 0666;
  const int fd = ::open(mark_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, kMode);
  if (fd < 0) return write_error(mark_, folder_of(mark_), errno);
  ::close(fd);
  return Done{};
}

void BatchFolder::end_work() { ::unlink(mark_.c_str()); }

Status delete_stale(const BatchOptions& options, const StaleOutput& stale) {
  std::error_code failure;
  for (const std::string& file : stale.files) {
    fs::remove(file, failure);
    if (failure) return write_error(file, folder_of(file), failure.value());
  }
  const std::string record = record_path(options.output, stale.name);
  fs::remove(record, failure);
  if (failure) return write_error(record, folder_of(record), failure.value());
  // Folders that are empty now; remove() refuses the others.
  for (const std::string& root : {options.output, records_folder(options.output)})
    for (fs::path below = fs::path(stale.name).parent_path(); !below.empty(); below = below.parent_path())
      if (!fs::remove(fs::path(root) / below, failure) || failure) break;
  return Done{};
}

}  // namespace graphopt
