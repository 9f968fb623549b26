// Several files that appear all or not at all.
//
// Problem: a run writes models, their weights and a list that describes them. Renames replace one file in one
// step, not several, and a process can be killed between any two of them.
// Method: files are named by their content and never replaced by something else, so those of the old set stay
// whole while those of the new one come to stand beside them. The list has a fixed name; replacing it is the
// one step by which the set changes. docs/output-sets.md gives the order of all steps and what holds when a
// run ends between two of them.
// Ownership: the name of a file holds a tag, made of the name of the list and the SHA-256 of the content. A
// list owns a file only if both fit, so a list that names files of another set, or something outside the
// folder of the files, owns none of them, and nothing but what its list owns is ever removed.
//
//   net.json -> net.s0.<tag>.onnx, net.s1.<tag>.onnx, net.<tag>.data       tag: 32 hexadecimal digits
//
// The files stand beside the list, or in a folder below it (SetPlace::folder), in which case the list names
// them with that folder. A folder that a run made for them has a file `.graphopt-set` in it and is removed
// when nothing else is left in it. Errors are of kind Output. After an error the old set is as it was.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "graphopt/error.h"
#include "support/file.h"
#include "support/temporary_files.h"

namespace graphopt {

struct SetFile {
  std::string name;  // from the folder of the list; its last part is letters, digits, '.', '_', '-'
  std::uint64_t bytes = 0;
  std::string sha256;  // 64 hexadecimal digits in lower case

  friend bool operator==(const SetFile&, const SetFile&) = default;
};

// Returns the files that the text of a list names (their size need not be known); nothing when it is no list.
using ListReader = std::function<std::optional<std::vector<SetFile>>(std::string_view text)>;

// The plain form of a list, a line "<sha256>  <name>" for each file, as sha256sum writes and checks it.
std::string plain_list(const std::vector<SetFile>& files);
std::optional<std::vector<SetFile>> read_plain_list(std::string_view text);

// A file with a name of its own that is replaced together with the set, just before the list.
struct FileBeside {
  std::function<Status()> place;  // gives it its name, durably, or leaves all as it was
  std::function<void()> undo;     // is called when the list could not be replaced after place() succeeded
};

struct SetPlace {
  std::string folder;  // of the files: the list's or one below it, made if it is not there; empty: the list's
  // Returns true of a file with a tag of this list that something outside the set needs: it is not removed,
  // neither as a part of the old set nor as what an interrupted run left. Empty: file_is_mapped.
  std::function<bool(const std::string& path)> in_use;
};

class OutputSet {
 public:
  // Waits until no other process writes this set, removes what an interrupted run left of it, and reads the
  // list that is there; a file that is no list is replaced with `force` only. An error if the list could not
  // name files in place.folder, or they could not be moved there in one step.
  static Result<std::unique_ptr<OutputSet>> open(const std::string& list, const ListReader& read, bool force,
                                                 SetPlace place = {});
  ~OutputSet();
  OutputSet(const OutputSet&) = delete;
  OutputSet& operator=(const OutputSet&) = delete;

  // Adds a file of known content to the set and makes it durable; it has no place in the folder yet. `write`
  // is called unless the folder has this file already. Characters of `stem` that are not letters, digits,
  // '.', '_' or '-' become '_'.
  Result<SetFile> add(std::string_view stem, std::string_view extension, std::uint64_t bytes,
                      const std::string& sha256, const std::function<Status(OutputFile&)>& write);
  SetFile named(std::string_view stem, std::string_view extension, std::uint64_t bytes,
                const std::string& sha256) const;
  std::string path_of(const SetFile& file) const { return folder_ + "/" + file.name; }
  // The folder of the files as the list names it: empty, or with a slash at the end.
  const std::string& prefix() const { return prefix_; }
  // Returns the name by which the list can name another file; empty if it is outside the list's folder.
  std::string name_of(const std::string& path) const;
  // A path for something that is needed until the set is written; it is removed afterwards.
  std::string scratch(const std::string& name);

  // Gives all files their names and replaces the list. Files of the old set that are not in the new one are
  // removed, unless they are in use. After an error new files that are in use by then stay, too.
  Status commit(std::string_view list_text, const FileBeside& beside = {});
  // Instead of commit(): removes the files of the set, but for those in use, then the list. When the process
  // ends in between, the list is there, and another call goes on.
  Status clear();

 private:
  OutputSet() = default;
  Status find_folder(const std::string& folder);
  Status open_folder();
  Status make_folders();
  Status make_folder(const std::string& name);
  void remove_folders(std::string prefix);
  bool remove_folder(const std::string& name);
  Status lock();
  Status check_moves();
  Status read_old_list(const ListReader& read, bool force);
  void recover();
  Status write_journal();
  Status place();
  void undo_place();
  void forget_old();
  Status check_signals() const;
  Status sync(int fd) const;
  std::string base_of(const SetFile& file) const { return file.name.substr(prefix_.size()); }
  bool owns(const SetFile& file) const;
  bool remove(const SetFile& file);
  void remove_staging();
  Error failure(int error) const;

  std::string list_;       // as given
  std::string folder_;     // of the file that the list's name leads to
  std::string list_name_;  // in this folder
  std::string prefix_;     // of the names of the files: empty, or "sub/"
  std::string staging_;    // a folder beside the list, for what has no name yet; its lock is the set's
  SetPlace place_;
  int folder_fd_ = -1, files_fd_ = -1, staging_fd_ = -1;  // of the list, of the files, of what has no name
  std::optional<OutputFile> list_file_;
  std::vector<SetFile> old_, files_, staged_;  // `old_`: all that the old list names
  std::vector<SetFile> leftover_;              // of an interrupted run, in use when this one began
  std::unordered_set<std::string> names_;      // of files_
  std::vector<std::string> scratch_;
  std::vector<TemporaryName> temporaries_;  // also of files that have their places but no list yet
  std::size_t placed_ = 0;                  // of staged_
  std::uint64_t removals_ = 0;
  std::vector<TemporaryName> made_;     // folders, with what is in them
  std::set<std::string> old_prefixes_;  // of files of the set that were removed, or were not there any more
  bool keep_journal_ = false;
};

// Returns true if the path is a regular file (no link) of this size and content.
bool file_holds(const std::string& path, std::uint64_t bytes, const std::string& sha256);
// Returns true if the path is a file of which this process has a map.
bool file_is_mapped(const std::string& path);
// What a name of a file of a set begins with: at most 180 letters, digits, '.', '_' or '-', all others as
// '_'.
std::string plain_stem(std::string_view text);
// Returns the stem of a file's name, as named() got it; nothing where the name has no tag.
std::optional<std::string_view> stem_of(std::string_view name);

}  // namespace graphopt
