// See output_set.h. The files of a run are made in a hidden folder beside the list, `.LIST.graphopt`. It is
// the lock of the set (flock), and it is what an interrupted run leaves: the files that a run made in it go,
// and its journal names those that may have left it already.
#include "support/output_set.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <unordered_set>
#include <utility>

#include "support/folder_lock.h"
#include "support/marked_folder.h"
#include "support/sha256.h"

namespace graphopt {
namespace {

constexpr std::size_t kTagDigits = 32;
constexpr std::size_t kLongestStem = 180;  // a name of a file has 255 bytes at most
constexpr std::string_view kJournal = "journal";
// What is needed while a set is written, OutputFile's among it, has such a name.
constexpr std::string_view kTemporaryBegin = ".graphopt-", kTemporaryEnd = ".tmp";
// A file that is moved there to see that it can be done: the next run removes that of one that was killed.
constexpr const char* kProbe = ".graphopt-probe.tmp";
// In the staging folder: a folder that is being made or removed, and a list of those that may have been made.
constexpr const char* kFolder = "folder";
constexpr const char* kFolders = "folders";

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

// Returns true for the name of a file that a run makes in the staging folder, but for the journal and the
// list of folders. Any other one there is not graphopt's, and stays.
bool is_staged(std::string_view name) {
  return stem_of(name) || (name.starts_with(kTemporaryBegin) && name.ends_with(kTemporaryEnd));
}

// "sub/" of "sub/net.s0.onnx".
std::string_view prefix_of(std::string_view name) { return name.substr(0, name.rfind('/') + 1); }

// The list as seen from the folder of its files: a list of the same name in that folder itself owns others.
std::string list_seen_from(std::string_view prefix, const std::string& list_name) {
  std::string out;
  for (const char c : prefix)
    if (c == '/') out += "../";
  return out + list_name;
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

// Files get their names by renames, which do not lead to another file system.
Error other_file_system(const std::string& list, const std::string& folder) {
  return output_error(
      list, "its files would be in '" + folder + "', which is on another file system",
      "give a folder on the file system of '" + list + "', or put that file into '" + folder + "'");
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
  if (Status s = set->make_folders(); !s) return s.errors();
  if (Status s = set->check_moves(); !s) return s.errors();
  Result<OutputFile> file = OutputFile::create(list, force, set->staging_);
  if (!file) return file.errors();
  set->list_file_.emplace(*std::move(file));
  return set;
}

// Opens the list's folder and finds how the list names files in theirs, which need not be there yet.
Status OutputSet::find_folder(const std::string& folder) {
  folder_fd_ = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder_fd_ < 0) return failure(errno);
  if (folder.empty()) return Done{};
  std::error_code error;
  const std::string real = real_folder(folder, error);
  if (error) return write_error(folder, folder, error.value());
  const std::optional<std::string> prefix = below(real_path(folder_), real);
  if (!prefix)
    return output_error(
        list_, "the files that it lists would be in '" + real + "', which is not below its own folder",
        "put it into that folder or into one above it");
  if (std::ranges::any_of(*prefix, is_unfit_for_lists))
    return output_error(list_,
                        "it cannot name files in '" + real +
                            "': a folder's name has a backslash "
                            "or a control character",
                        "rename that folder, or put this file into it");
  prefix_ = *prefix;
  return Done{};
}

// Opens the folder of the files, and makes it. It is locked together with others who write to it, so that
// nobody removes it; one that was removed before that is made again.
Status OutputSet::make_folders() {
  constexpr int kAttempts = 100;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    for (std::size_t end = prefix_.find('/'); end != std::string::npos; end = prefix_.find('/', end + 1))
      if (Status s = make_folder(prefix_.substr(0, end)); !s) return s;
    files_fd_ =
        ::openat(folder_fd_, prefix_.empty() ? "." : prefix_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (files_fd_ < 0 && errno == ENOENT) continue;
    if (files_fd_ < 0) return failure(errno);
    if (prefix_.empty()) return Done{};
    while (::flock(files_fd_, LOCK_SH) != 0 && errno == EINTR) {
    }
    struct stat opened{}, named{};
    if (::fstat(files_fd_, &opened) == 0 && ::fstatat(folder_fd_, prefix_.c_str(), &named, 0) == 0 &&
        opened.st_dev == named.st_dev && opened.st_ino == named.st_ino)
      return Done{};
    ::close(files_fd_);
    files_fd_ = -1;
  }
  return failure(EAGAIN);
}

// Makes one folder with the mark in it, in one step, unless it is there.
Status OutputSet::make_folder(const std::string& name) {
  const std::string path = folder_ + "/" + name;
  struct stat info{};
  if (::fstatat(folder_fd_, name.c_str(), &info, 0) == 0 && S_ISDIR(info.st_mode)) return Done{};
  // A link that leads nowhere is in the way as well.
  if (::fstatat(folder_fd_, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0) {
    if (S_ISDIR(info.st_mode)) return Done{};  // another run has made it meanwhile
    return output_error(path,
                        "it is in the way: the files of '" + list_ + "' would be in a folder of this name",
                        "remove it, or name another folder");
  }
  if (errno != ENOENT) return write_error(path, folder_of(path), errno);
  // A run that is killed leaves the list of what it may have made.
  const int folders = ::openat(staging_fd_, kFolders, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0666);
  if (folders < 0) return failure(errno);
  const std::string line = name + "\n";
  const bool written = ::write(folders, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  ::close(folders);
  temporaries_.emplace_back(staging_ + "/" + kFolders);
  if (!written) return failure(ENOSPC);
  const std::string mark = std::string(kFolder) + "/" + kFolderMark;
  if (::mkdirat(staging_fd_, kFolder, 0777) != 0) return failure(errno);
  const int fd = ::openat(staging_fd_, mark.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0666);
  if (fd >= 0) ::close(fd);
  int error = fd < 0 ? errno : 0;
  if (fd >= 0 && move_anew(staging_fd_, kFolder, folder_fd_, name) != 0) error = errno;
  if (error == 0) {
    made_.emplace_back(path);
    made_.emplace_back(path + "/" + kFolderMark);
    old_prefixes_.insert(name + "/");
    const int parent = ::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (parent >= 0) ::fsync(parent), ::close(parent);
    return Done{};
  }
  ::unlinkat(staging_fd_, mark.c_str(), 0);
  ::unlinkat(staging_fd_, kFolder, AT_REMOVEDIR);
  // Another run made it, or removed the one above it: that shows when it is opened.
  if (error == EEXIST || error == ENOTEMPTY || error == ENOENT) return Done{};
  if (error == EXDEV) return other_file_system(list_, path);
  return write_error(path, folder_of(path), error);
}

// Removes the folders of a prefix, from the last one on, as far as a run made them and nothing is in them.
void OutputSet::remove_folders(std::string prefix) {
  while (!prefix.empty()) {
    prefix.pop_back();
    if (!remove_folder(prefix)) return;
    prefix.resize(prefix.rfind('/') + 1);  // npos + 1: nothing is left
  }
}

// A folder in which another run writes is locked. It gets out of the way first, so that nobody opens it.
bool OutputSet::remove_folder(const std::string& name) {
  const int fd = open_below(folder_fd_, name + "/");
  if (fd < 0) return errno == ENOENT;
  ::unlinkat(fd, kProbe, 0);
  const bool removed = has_mark_alone(fd) && (::flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) &&
                       move_anew(folder_fd_, name, staging_fd_, kFolder) == 0;
  bool gone = removed;
  if (removed && !has_mark_alone(fd)) gone = move_anew(staging_fd_, kFolder, folder_fd_, name) != 0;
  if (gone) {
    ::unlinkat(fd, kFolderMark, 0);
    ::unlinkat(staging_fd_, kFolder, AT_REMOVEDIR);
  }
  ::close(fd);
  return gone;
}

// A folder below the list's can be on another file system, and no rename leads there.
Status OutputSet::check_moves() {
  if (prefix_.empty()) return Done{};
  const std::string name = kProbe;
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
  return other_file_system(list_, folder);
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
  if (const auto folders = FileImage::open(staging_ + "/" + kFolders); folders) {
    std::string_view text = (*folders)->bytes();
    for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
      old_prefixes_.insert(std::string(text.substr(0, end)) + "/");
      text.remove_prefix(end + 1);
    }
  }
  // What was being made or removed: only the mark is in it.
  ::unlinkat(staging_fd_, (std::string(kFolder) + "/" + kFolderMark).c_str(), 0);
  ::unlinkat(staging_fd_, kFolder, AT_REMOVEDIR);
  const int fd = ::openat(staging_fd_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* dir = fd < 0 ? nullptr : ::fdopendir(fd);
  if (dir == nullptr) return;
  while (const dirent* entry = ::readdir(dir)) {
    const std::string_view name = entry->d_name;
    // The journal may be what a run that is killed now has to leave to the next one, and `folders` always is.
    if (name == kJournal ? leftover_.empty() : is_staged(name)) ::unlinkat(staging_fd_, entry->d_name, 0);
  }
  ::closedir(dir);
}

OutputSet::~OutputSet() {
  if (staging_fd_ >= 0) {
    list_file_.reset();
    if (files_fd_ >= 0) ::flock(files_fd_, LOCK_UN);
    for (auto prefix = old_prefixes_.rbegin(); prefix != old_prefixes_.rend(); ++prefix)
      remove_folders(*prefix);
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
  ::unlinkat(staging_fd_, kFolders, 0);
  ::unlinkat(staging_fd_, std::string(kJournal).c_str(), 0);
  ::rmdir(staging_.c_str());
}

// --- files -------------------------------------------------------------------------------------------------

SetFile OutputSet::named(std::string_view stem, std::string_view extension, std::uint64_t bytes,
                         const std::string& sha256) const {
  const std::string tag = tag_of(list_seen_from(prefix_, list_name_), sha256);
  return {prefix_ + plain_stem(stem) + "." + tag + std::string(extension), bytes, sha256};
}

// Returns true if the file belongs to this set: its name can be made of nothing else. What stands before the
// tag does not matter, but it leads to no other folder.
bool OutputSet::owns(const SetFile& file) const {
  const std::string_view prefix = prefix_of(file.name);
  const std::string name = file.name.substr(prefix.size());
  if (!is_sha256_hex(file.sha256) || !std::ranges::all_of(name, is_plain)) return false;
  const std::string middle = "." + tag_of(list_seen_from(prefix, list_name_), file.sha256) + ".";
  const std::size_t at = name.find(middle);
  return at != std::string::npos && at > 0 && name.find('.', at + middle.size()) == std::string::npos;
}

std::string OutputSet::name_of(const std::string& path) const {
  const std::optional<std::string> folder = below(real_path(folder_), real_path(folder_of(path)));
  return folder ? *folder + last_part(path) : std::string{};
}

std::string OutputSet::scratch(const std::string& name) {
  scratch_.push_back(std::string(kTemporaryBegin) + name + std::string(kTemporaryEnd));
  temporaries_.emplace_back(staging_ + "/" + scratch_.back());
  return staging_ + "/" + scratch_.back();
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

// Returns false if the file is one of this set and stays because it is in use. It is found without following
// a link.
bool OutputSet::remove(const SetFile& file) {
  if (!owns(file)) return true;
  const std::string prefix(prefix_of(file.name)), name = file.name.substr(prefix.size());
  const int folder = open_below(folder_fd_, prefix);
  if (folder < 0) return true;
  if (!prefix.empty()) old_prefixes_.insert(prefix);
  struct stat info{};
  const bool there =
      ::fstatat(folder, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(info.st_mode);
  const bool stays = there && place_.in_use(path_of(file));
  if (there && !stays) ::unlinkat(folder, name.c_str(), 0);
  ::close(folder);
  return !stays;
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
  for (TemporaryName& name : made_) name.forget();
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
