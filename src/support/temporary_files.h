// Names of files that exist only while something is written.
//
// A signal that ends the process finds them in a list and unlinks them. The list is read by a signal handler
// at any moment, so entries and their texts are reused but never freed: its size is that of the largest
// number of names at one time.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace graphopt {

// A path that is unlinked (a file, or an empty folder) when the process is ended by a signal, from the moment
// when this object is made until forget() or its end. It removes nothing itself.
class TemporaryName {
 public:
  TemporaryName() = default;
  explicit TemporaryName(const std::string& path);
  TemporaryName(TemporaryName&& other) noexcept;
  TemporaryName& operator=(TemporaryName&& other) noexcept;
  ~TemporaryName() { forget(); }
  void forget();

 private:
  struct Listed;
  friend void remove_temporary_files() noexcept;
  static std::atomic<Listed*> first_;
  static Listed *free_, *free_large_;
  Listed* listed_ = nullptr;
};

// For signal handlers: unlinks the temporary files of this process, then the folders.
void remove_temporary_files() noexcept;

// The number of calls of remove_temporary_files() that have begun. A thread that makes a group of files
// permanent forgets their names first and then compares this number with an earlier one: if it has not grown,
// no handler has removed or will remove any of them.
std::uint64_t temporary_file_removals();

}  // namespace graphopt
