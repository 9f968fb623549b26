#include "side_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "verbs.h"

namespace graphopt::tool {
namespace {

Status write_file(const SideFile& side, std::string_view text) {
  const std::string& path = side.path;
  const auto failure = [&](int error) {
    return Error{ErrorKind::Output, in_file(path),
                 std::string("the ") + side.what + " could not be written: " + std::strerror(error),
                 std::string("give ") + side.option + " a file in a folder that can be written to"};
  };
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return failure(errno);
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  int error = errno;
  const bool closed = std::fclose(file) == 0;
  if (written && !closed) error = errno;
  if (!written || !closed) return failure(error);
  return Done{};
}

}  // namespace

Status check_side_file(const SideFile& file) {
  const std::string& path = file.path;
  if (path.empty() || path == "-") return Done{};
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored) || std::filesystem::file_size(path, ignored) == 0)
    return Done{};
  std::ifstream old(path);
  std::string start(std::strlen(file.start), '\0');
  if (old.read(start.data(), static_cast<std::streamsize>(start.size())) && start == file.start)
    return Done{};
  return Error{ErrorKind::Usage, in_file(path),
               std::string("this file is there already and is no ") + file.what,
               std::string("give ") + file.option + " a file of its own"};
}

Status save_side_file(const SideFile& file, std::string_view text) {
  if (file.path.empty()) return Done{};
  return file.path == "-" ? write_stdout(text) : write_file(file, text);
}

}  // namespace graphopt::tool
