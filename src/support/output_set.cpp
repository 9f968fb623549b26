// See output_set.h. The files of a run are made in a hidden folder beside the list, `.LIST.graphopt`. It is
// the lock of the set (flock), and it is what an interrupted run leaves: its content goes, and its journal
// names the files that may have left it already.
#include "support/output_set.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <unordered_set>
#include <utility>

#include "support/folder_lock.h"
#include "support/sha256.h"

namespace graphopt {
namespace {

constexpr std::size_t kTagDigits = 32;
constexpr std::size_t kLongestStem = 180;  // a name of a file has 255 bytes at most
constexpr std::string_view kJournal = "journal";

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
         c == '-';
}

// What stands in a name for the content: another one in each set.
std::string tag_of(std::string_view list_name, std::string_view sha256) {
  Sha256 hash;
  hash.add("graphopt set\n");
  hash.add(list_name);
  hash.add("\n");
  hash.add(sha256);
  return hash.hex().substr(0, kTagDigits);
}

// Returns `path` as seen from `folder`, both without links: empty for the folder itself, else with a slash at
// the end; nothing if it is no folder below.
std::optional<std::string> below(const std::string& folder, const std::string& path) {
  if (path == folder) return "";
  const std::string start = folder == "/" ? folder : folder + "/";
  if (path.empty() || !path.starts_with(start)) return std::nullopt;
  return path.substr(start.size()) + "/";
}

Error output_error(const std::string& path, std::string what, std::string remedy) {
  Error e{ErrorKind::Output, {}, std::move(what), std::move(remedy)};
  e.place.file = path;
  return e;
}

// The file that the user knows, in place of one that is still being made.
Errors of_file(Errors errors, const std::string& path) {
  for (Error& e : errors)
    if (e.kind == ErrorKind::Output) e.place.file = path;
  return errors;
}

}  // namespace

std::string plain_stem(std::string_view text) {
  std::string out(text.substr(0, kLongestStem));
  for (char& c : out)
    if (!is_plain(c)) c = '_';
  if (out.empty() || out.front() == '.' || out.front() == '-') out.insert(out.begin(), '_');
  return out;
}

std::optional<std::string_view> stem_of(std::string_view name) {
  const std::size_t end = name.rfind('.');
  if (end == std::string_view::npos || end < kTagDigits + 2) return std::nullopt;
  const std::size_t tag = end - kTagDigits;
  if (name[tag - 1] != '.' ||
      name.substr(tag, kTagDigits).find_first_not_of("0123456789abcdef") != std::string_view::npos)
    return std::nullopt;
  return name.substr(0, tag - 1);
}

bool file_is_mapped(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 && FileImage::maps(info.st_dev, info.st_ino);
}

// --- lists -------------------------------------------------------------------------------------------------

std::string plain_list(const std::vector<SetFile>& files) {
  std::string out;
  for (const SetFile& f : files) out += f.sha256 + "  " + f.name + "\n";
  return out;
}

std::optional<std::vector<SetFile>> read_plain_list(std::string_view text) {
  std::vector<SetFile> out;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return std::nullopt;  // cut off
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (line.size() < Sha256::kHexDigits + 3 || !is_sha256_hex(line.substr(0, Sha256::kHexDigits)) ||
        line.substr(Sha256::kHexDigits, 2) != "  ")
      return std::nullopt;
    out.push_back({std::string(line.substr(Sha256::kHexDigits + 2)), 0,
                   std::string(line.substr(0, Sha256::kHexDigits))});
  }
  return out;
}

bool file_holds(const std::string& path, std::uint64_t bytes, const std::string& sha256) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return false;
  struct stat info{};
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) ||
      static_cast<std::uint64_t>(info.st_size) != bytes) {
    ::close(fd);
    return false;
  }
  // Read, not mapped: somebody else may shorten the file meanwhile.
  Sha256 hash;
  std::string piece(std::size_t{1} << 20, '\0');
  for (;;) {
    const ssize_t n = ::read(fd, piece.data(), piece.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      ::close(fd);
      return n == 0 && hash.hex() == sha256;
    }
    hash.add(std::string_view(piece).substr(0, static_cast<std::size_t>(n)));
  }
}

// --- opening -----------------------------------------------------------------------------------------------

Error OutputSet::failure(int error) const { return write_error(list_, folder_, error); }

Result<std::unique_ptr<OutputSet>> OutputSet::open(const std::string& list, const ListReader& read,
                                                   bool force, SetPlace place) {
  std::unique_ptr<OutputSet> set(new OutputSet);
  set->list_ = list;
  set->place_ = std::move(place);
  if (!set->place_.in_use) set->place_.in_use = file_is_mapped;
  struct stat info{};
  if (list == "-" || (::stat(list.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)))
    return output_error(list, "the list of a set of files must be a file itself",
                        "give it the path of a file, next to which the others can be");
  std::string target = real_path(list);
  if (target.empty()) target = list;
  set->folder_ = folder_of(target);
  set->list_name_ = last_part(target);
  set->staging_ = set->folder_ + "/." + set->list_name_ + ".graphopt";
  // Says what is wrong with a path that is a folder, empty or write-protected before anything is made.
  if (const Result<OutputFile> probe = OutputFile::create(list, force); !probe) return probe.errors();
  if (Status s = set->find_folder(set->place_.folder); !s) return s.errors();
  if (Status s = set->lock(); !s) return s.errors();
  if (Status s = set->read_old_list(read, force); !s) return s.errors();
  set->removals_ = temporary_file_removals();
  set->recover();
  set->temporaries_.emplace_back(set->staging_);
  if (Status s = set->check_moves(); !s) return s.errors();
  Result<OutputFile> file = OutputFile::create(list, force, set->staging_);
  if (!file) return file.errors();
  set->list_file_.emplace(*std::move(file));
  return set;
}

// Opens the folders and finds how the list names files in theirs. The list's own name in the tags is as seen
// from there: a list of the same name in that folder itself owns other files.
Status OutputSet::find_folder(const std::string& folder) {
  folder_fd_ = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder_fd_ < 0) return failure(errno);
  if (!folder.empty()) {
    const std::string real = real_path(folder);
    if (real.empty()) return write_error(folder, folder, errno);
    const std::optional<std::string> prefix = below(real_path(folder_), real);
    if (!prefix)
      return output_error(
          list_, "the files that it lists would be in '" + real + "', which is not below its own folder",
          "put it into that folder or into one above it");
    const auto unfit = [](char c) { return c == '\\' || static_cast<unsigned char>(c) < ' ' || c == '\x7F'; };
    if (std::ranges::any_of(*prefix, unfit))
      return output_error(list_,
                          "it cannot name files in '" + real +
                              "': a folder's name has a backslash "
                              "or a control character",
                          "rename that folder, or put this file into it");
    prefix_ = *prefix;
  }
  for (const char c : prefix_)
    if (c == '/') list_id_ += "../";
  list_id_ += list_name_;
  files_fd_ =
      ::openat(folder_fd_, prefix_.empty() ? "." : prefix_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  return files_fd_ < 0 ? Status(failure(errno)) : Status(Done{});
}

// A folder below the list's can be on another file system, and no rename leads there.
Status OutputSet::check_moves() {
  if (prefix_.empty()) return Done{};
  const std::string name = ".graphopt-" + std::to_string(::getpid()) + "-probe.tmp";
  const TemporaryName here(staging_ + "/" + name), there(folder_ + "/" + prefix_ + name);
  const int fd = ::openat(staging_fd_, name.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
  if (fd < 0) return failure(errno);
  ::close(fd);
  if (::renameat(staging_fd_, name.c_str(), files_fd_, name.c_str()) == 0) {
    ::unlinkat(files_fd_, name.c_str(), 0);
    return Done{};
  }
  const int error = errno;
  ::unlinkat(staging_fd_, name.c_str(), 0);
  const std::string folder = folder_ + "/" + prefix_.substr(0, prefix_.size() - 1);
  if (error != EXDEV) return write_error(folder, folder, error);
  return output_error(list_, "its files would be on another file system, in '" + folder + "'",
                      "put the list into that folder");
}

Status OutputSet::lock() {
  const FolderLock lock = lock_folder(staging_);
  staging_fd_ = lock.fd;
  if (staging_fd_ >= 0) return Done{};
  if (lock.in_the_way)
    return output_error(staging_, "it is in the way: graphopt makes its files in a folder there",
                        "remove it, or give the list of the set another name");
  return failure(lock.error);
}

Status OutputSet::read_old_list(const ListReader& read, bool force) {
  const std::string target = folder_ + "/" + list_name_;
  if (::access(target.c_str(), F_OK) != 0) return Done{};
  const auto refused = [&](const std::string& what) -> Status {
    if (force) return Done{};
    return output_error(list_, what, "give another name, remove the file, or use --force");
  };
  const Result<std::shared_ptr<const FileImage>> image = FileImage::open(target);
  if (!image) return refused("the list that is there cannot be read: " + image.error().what);
  std::optional<std::vector<SetFile>> files = read((*image)->bytes());
  if (!files) return refused("the file that is there is not the list of a set of files");
  old_ = *std::move(files);
  return Done{};
}

// Removes what a run left that was ended before it could: what its journal names and the list does not, which
// is the new set or the old one, and the content of the staging folder. A file that is in use stays until
// this run has replaced what uses it, and so does the journal, which still has to name it if this run fails.
void OutputSet::recover() {
  if (const auto journal = FileImage::open(staging_ + "/" + std::string(kJournal)); journal) {
    std::unordered_set<std::string_view> listed;
    for (const SetFile& f : old_) listed.insert(f.name);
    for (SetFile& f : read_plain_list((*journal)->bytes()).value_or(std::vector<SetFile>{}))
      if (!listed.contains(f.name) && !remove(f)) leftover_.push_back(std::move(f));
  }
  const int fd = ::openat(staging_fd_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* dir = fd < 0 ? nullptr : ::fdopendir(fd);
  if (dir == nullptr) return;
  while (const dirent* entry = ::readdir(dir))
    if (leftover_.empty() || entry->d_name != kJournal) ::unlinkat(staging_fd_, entry->d_name, 0);
  ::closedir(dir);
}

OutputSet::~OutputSet() {
  if (staging_fd_ >= 0) {
    list_file_.reset();
    remove_staging();
    ::close(staging_fd_);  // the lock ends after the folder: who waits for it makes a new one
  }
  if (files_fd_ >= 0) ::close(files_fd_);
  if (folder_fd_ >= 0) ::close(folder_fd_);
}

void OutputSet::remove_staging() {
  for (std::size_t i = placed_; i < staged_.size(); ++i)
    ::unlinkat(staging_fd_, base_of(staged_[i]).c_str(), 0);
  for (const std::string& name : scratch_) ::unlinkat(staging_fd_, name.c_str(), 0);
  if (keep_journal_ || !leftover_.empty()) return;
  ::unlinkat(staging_fd_, std::string(kJournal).c_str(), 0);
  ::rmdir(staging_.c_str());
}

// --- files -------------------------------------------------------------------------------------------------

SetFile OutputSet::named(std::string_view stem, std::string_view extension, std::uint64_t bytes,
                         const std::string& sha256) const {
  return {prefix_ + plain_stem(stem) + "." + tag_of(list_id_, sha256) + std::string(extension), bytes,
          sha256};
}

// Returns true if the file belongs to this set: its name can be made of nothing else. What stands before the
// tag does not matter, but it leads to no other folder.
bool OutputSet::owns(const SetFile& file) const {
  if (!is_sha256_hex(file.sha256) || !file.name.starts_with(prefix_)) return false;
  const std::string name = base_of(file);
  if (!std::ranges::all_of(name, is_plain)) return false;
  const std::string middle = "." + tag_of(list_id_, file.sha256) + ".";
  const std::size_t at = name.find(middle);
  return at != std::string::npos && at > 0 && name.find('.', at + middle.size()) == std::string::npos;
}

std::string OutputSet::name_of(const std::string& path) const {
  const std::optional<std::string> folder = below(real_path(folder_), real_path(folder_of(path)));
  return folder ? *folder + last_part(path) : std::string{};
}

std::string OutputSet::scratch(const std::string& name) {
  scratch_.push_back(name);
  temporaries_.emplace_back(staging_ + "/" + name);
  return staging_ + "/" + name;
}

Result<SetFile> OutputSet::add(std::string_view stem, std::string_view extension, std::uint64_t bytes,
                               const std::string& sha256, const std::function<Status(OutputFile&)>& write) {
  SetFile file = named(stem, extension, bytes, sha256);
  if (!names_.insert(file.name).second) return file;
  if (!file_holds(path_of(file), bytes, sha256)) {
    const std::string path = staging_ + "/" + base_of(file);
    temporaries_.emplace_back(path);
    Result<OutputFile> out = OutputFile::create(path);
    if (!out) return of_file(out.errors(), path_of(file));
    if (Status s = write(*out); !s) return of_file(s.errors(), path_of(file));
    if (Status s = out->commit(); !s) return of_file(s.errors(), path_of(file));
    staged_.push_back(file);
  }
  files_.push_back(file);
  return file;
}

// --- the change --------------------------------------------------------------------------------------------

Status OutputSet::sync(int fd) const {
  if (::fsync(fd) != 0 && errno != EINVAL) return failure(errno);
  return Done{};
}

// The files that this run may put into the folder, and those that it may have to remove from it. A signal
// leaves a journal that names what an earlier run left.
Status OutputSet::write_journal() {
  std::vector<SetFile> all = staged_;
  all.insert(all.end(), leftover_.begin(), leftover_.end());
  std::ranges::copy_if(old_, std::back_inserter(all), [this](const SetFile& f) { return owns(f); });
  if (leftover_.empty()) temporaries_.emplace_back(staging_ + "/" + std::string(kJournal));
  Result<OutputFile> journal = OutputFile::create(staging_ + "/" + std::string(kJournal));
  if (!journal) return of_file(journal.errors(), list_);
  if (Status s = journal->write(plain_list(all)); !s) return of_file(s.errors(), list_);
  if (Status s = journal->commit(); !s) return of_file(s.errors(), list_);
  return sync(staging_fd_);
}

Status OutputSet::place() {
  for (; placed_ < staged_.size(); ++placed_) {
    const std::string path = path_of(staged_[placed_]), name = base_of(staged_[placed_]);
    temporaries_.emplace_back(path);
    if (::renameat(staging_fd_, name.c_str(), files_fd_, name.c_str()) != 0)
      return write_error(path, folder_of(path), errno);
  }
  return sync(files_fd_);
}

// What stands beside the set may need some of the files where it could not be brought back: they stay, and
// the journal with them.
void OutputSet::undo_place() {
  for (std::size_t i = 0; i < placed_; ++i) {
    if (place_.in_use(path_of(staged_[i]))) keep_journal_ = true;
    else ::unlinkat(files_fd_, base_of(staged_[i]).c_str(), 0);
  }
}

// Returns false if the file is one of this set and stays because it is in use.
bool OutputSet::remove(const SetFile& file) const {
  struct stat info{};
  const std::string name = owns(file) ? base_of(file) : std::string{};
  if (name.empty() || ::fstatat(files_fd_, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0 ||
      !S_ISREG(info.st_mode))
    return true;
  if (place_.in_use(path_of(file))) return false;
  ::unlinkat(files_fd_, name.c_str(), 0);
  return true;
}

// Removes what only the old set has, and what an interrupted run left.
void OutputSet::forget_old() {
  old_.insert(old_.end(), leftover_.begin(), leftover_.end());
  leftover_.clear();
  for (const SetFile& f : old_)
    if (!names_.contains(f.name)) remove(f);
}

// A signal whose handler ends the process a moment later has removed files of this run.
Status OutputSet::check_signals() const {
  if (temporary_file_removals() == removals_) return Done{};
  return output_error(list_, "the run was interrupted", "run it again");
}

Status OutputSet::commit(std::string_view list_text, const FileBeside& beside) {
  if (Status s = check_signals(); !s) return s;
  if (Status s = list_file_->write(list_text); !s) return s;
  if (Status s = list_file_->finish(); !s) return s;
  if (Status s = write_journal(); !s) return s;
  Status s = place();
  // From here on a signal leaves the files alone, since what stands beside the set may need them: one that
  // came before has removed some of them.
  for (TemporaryName& name : temporaries_) name.forget();
  if (s) s = check_signals();
  if (s && beside.place) s = beside.place();
  if (!s) {
    undo_place();
    return s;
  }
  s = list_file_->commit();
  if (!s) {
    if (beside.undo) beside.undo();
    undo_place();
    return s;
  }
  if (Status synced = sync(folder_fd_); !synced) {  // after a power cut it may be the old list that is there
    keep_journal_ = true;
    return synced;
  }
  forget_old();
  return Done{};
}

Status OutputSet::clear() {
  if (Status s = check_signals(); !s) return s;
  forget_old();
  if (::unlinkat(folder_fd_, list_name_.c_str(), 0) != 0 && errno != ENOENT) return failure(errno);
  return Done{};
}

}  // namespace graphopt
