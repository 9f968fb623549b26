// Files as the loader and the saver need them: images of input files, and output that appears whole or not at
// all.
//
// FileImage: the bytes of a file, mapped when it is a regular file, read into memory when it is a pipe.
// Nothing is copied and nothing is touched before somebody reads it, so opening 6 GiB of weights costs
// microseconds.
//
// OutputFile: bytes go to an unnamed (or, where the file system has no such thing, hidden) file in the
// target's folder; commit() makes them durable and gives them the target's name in one step. Until then the
// old file stays as it is; a file that is never committed leaves nothing behind. Pipes and devices are
// written to directly.
//
// Several files that appear together: support/output_set.h.
//
// Two hooks are for a process-wide signal handler, which belongs to the tool: remove_temporary_files()
// (support/temporary_files.h) and image_path_at(). Both only read memory and make system calls, so they may
// be called at any moment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "graphopt/error.h"
#include "support/temporary_files.h"

namespace graphopt {

class FileImage {
 public:
  // `path` "-" is the standard input. `max_bytes` bounds what is read into memory (0: no bound); maps cost
  // none.
  static Result<std::shared_ptr<const FileImage>> open(const std::string& path, std::uint64_t max_bytes = 0);
  // Opens the file of a descriptor, which the image then owns; `path` is for messages.
  static Result<std::shared_ptr<const FileImage>> adopt(int fd, const std::string& path,
                                                        std::uint64_t max_bytes = 0);
  static std::shared_ptr<const FileImage> from_memory(std::string bytes, std::string path);
  ~FileImage();
  FileImage(const FileImage&) = delete;
  FileImage& operator=(const FileImage&) = delete;

  std::string_view bytes() const { return {data_, size_}; }
  const std::string& path() const { return path_; }
  bool mapped() const { return mapped_; }
  // Of a mapped file; -1 when the bytes are in memory, and when so many files are open that this descriptor
  // was closed after mapping (some exporters write one file per tensor).
  int descriptor() const { return fd_; }
  bool is_file(const std::string& path) const;  // true if the path leads to this (mapped) file
  // Returns true if the file is still as long as it was: reading a map beyond the end of its file kills the
  // process.
  bool still_whole() const;
  // Returns the image that contains all of `bytes`; null when there is none.
  static const FileImage* holding(std::string_view bytes);
  // Returns true if some image is a map of this file.
  static bool maps(std::uint64_t device, std::uint64_t inode);

 private:
  friend const char* image_path_at(const void* address);
  FileImage() = default;
  void enlist();

  const char* data_ = nullptr;
  std::size_t size_ = 0;
  int fd_ = -1;
  bool mapped_ = false;
  std::uint64_t device_ = 0, inode_ = 0;
  std::string path_;
  std::string memory_;
};

// Returns the folder of a path, "." when the path has none.
std::string folder_of(const std::string& path);
// Returns what stands after the last '/'.
std::string last_part(const std::string& path);
// Returns the path without links, of a file that is there; empty when it is not.
std::string real_path(const std::string& path);
// The same, but the path itself when there is no such file.
std::string resolved(const std::string& path);

// The error of a file that cannot be written, by the number that the system gave (errno). `folder`: of the
// file, links followed. The remedy names no option: the path may be that of OUT, of a list or of a data file.
Error write_error(const std::string& path, const std::string& folder, int error);

class OutputFile {
 public:
  // `path` "-" is the standard output. A symbolic link is followed: the file that it names is replaced.
  // Without `force` a terminal is not written to and a write-protected file not replaced. The bytes wait in
  // `folder`, which is on the target's file system; empty: in the target's own.
  static Result<OutputFile> create(const std::string& path, bool force = false,
                                   const std::string& folder = {});
  OutputFile(OutputFile&&) noexcept;
  OutputFile& operator=(OutputFile&&) noexcept;
  ~OutputFile();

  bool regular() const { return regular_; }
  const std::string& target() const { return target_; }  // the file that is replaced, links followed

  Status write(std::string_view bytes);  // small writes are gathered
  // Writes the same bytes, copied from a mapped file by the system where that is possible. Holes stay holes.
  Status copy(const FileImage& from, std::uint64_t offset, std::uint64_t length);
  Status skip_to(std::uint64_t offset);  // writes zeros up to there
  std::uint64_t size() const { return size_; }
  Status finish();  // writes what is pending and makes it durable
  // For a file that can be made again: commit() does not wait for the disk. After a crash of the machine the
  // file may be empty.
  void need_not_last() { lasting_ = false; }
  Status commit();  // the same, and gives it its name

 private:
  OutputFile() = default;
  Status flush();
  Status write_out(const char* data, std::size_t size);
  Error failure(int error) const { return write_error(path_, folder_of(target_), error); }
  bool name_temporary(unsigned attempt);
  void forget_temporary();
  void discard();

  std::string path_;       // as given by the user
  std::string target_;     // what is replaced
  std::string folder_;     // where the bytes wait
  std::string temporary_;  // their name, once they have one
  TemporaryName noted_;    // that name, for signal handlers
  int fd_ = -1;
  bool regular_ = false;
  bool owned_fd_ = false;
  bool finished_ = false;
  bool lasting_ = true;
  std::uint64_t size_ = 0;
  std::string pending_;
};

// For a SIGBUS handler: returns the path of the mapped file that contains this address, or null.
const char* image_path_at(const void* address);

}  // namespace graphopt
