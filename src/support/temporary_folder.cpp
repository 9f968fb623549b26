#include "support/temporary_folder.h"

#include <stdlib.h>  // mkdtemp

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "support/file.h"

namespace graphopt {

Result<TemporaryFolder> TemporaryFolder::create(const std::string& room) {
  std::error_code failed;
  std::string base = room.empty() ? std::filesystem::temp_directory_path(failed).string() : room;
  if (failed) {
    Error e = write_error("graphopt", folder_of("graphopt"), failed.value());
    e.what = "what TMPDIR names is no folder";
    e.remedy = "set TMPDIR to a folder with room for the model";
    return e;
  }
  // mkdtemp() replaces the last six characters of this pattern.
  std::string path = base + (room.empty() ? "/" : "/.") + "graphopt-XXXXXX";
  if (::mkdtemp(path.data()) != nullptr) return TemporaryFolder(std::move(path));
  Error e = write_error(path, base, errno);
  if (room.empty()) e.remedy = "set TMPDIR to a folder with room for the model";
  return e;
}

TemporaryFolder::TemporaryFolder(std::string path) : path_(std::move(path)) { noted_.emplace_back(path_); }

TemporaryFolder::TemporaryFolder(TemporaryFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})), noted_(std::move(other.noted_)) {}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;  // somebody may have removed it
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

void TemporaryFolder::announce(const std::string& file) { noted_.emplace_back(file); }

}  // namespace graphopt
