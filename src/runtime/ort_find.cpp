// Only lists the candidates; ort.cpp opens them. A fixed number of folders is listed, without recursion.
#include "runtime/ort_find.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <set>
#include <string_view>
#include <system_error>

namespace graphopt {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "libonnxruntime.so";

// Returns libonnxruntime.so* of a folder, the highest version first: sorting names is good enough (1.9 is too
// old anyway).
void add_libraries(const fs::path& folder, std::vector<std::string>& out) {
  std::vector<std::string> found;
  std::error_code failed;
  for (fs::directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed))
    if (it->path().filename().string().starts_with(kPrefix)) found.push_back(it->path().string());
  std::ranges::sort(found, std::greater<>());
  out.insert(out.end(), found.begin(), found.end());
}

// The library within the Python package onnxruntime of an environment: PREFIX/lib/python3.*/site-packages, or
// dist-packages as Debian's own Python has it.
void add_environment(const fs::path& prefix, std::vector<std::string>& out) {
  std::error_code failed;
  for (fs::directory_iterator it(prefix / "lib", failed), end; !failed && it != end; it.increment(failed))
    if (it->path().filename().string().starts_with("python"))
      for (const char* packages : {"site-packages", "dist-packages"})
        add_libraries(it->path() / packages / "onnxruntime" / "capi", out);
}

std::string variable(const char* name) {
  const char* text = std::getenv(name);
  return text != nullptr ? text : "";
}

// The environments whose packages a Python program started here would import: active ones, those of each
// python3 on $PATH, and the user's.
void add_environments_in_use(std::vector<std::string>& out) {
  for (const char* active : {"VIRTUAL_ENV", "CONDA_PREFIX"})
    if (const std::string prefix = variable(active); !prefix.empty()) add_environment(prefix, out);
  std::set<fs::path> prefixes;
  std::error_code failed;
  const std::string path = variable("PATH");
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    const fs::path folder = path.substr(begin, end - begin);
    begin = end + 1;
    if (folder.is_absolute() && fs::exists(folder / "python3", failed) &&
        prefixes.insert(folder.parent_path()).second)
      add_environment(folder.parent_path(), out);
  }
  if (const std::string home = variable("HOME"); !home.empty()) add_environment(home + "/.local", out);
}

// Interprets a user's path: a library, a folder with one, a Python environment, or its package onnxruntime.
std::vector<std::string> from_path(const std::string& path) {
  std::vector<std::string> files;
  std::error_code failed;
  if (fs::is_directory(path, failed)) {
    add_libraries(path, files);
    add_libraries(fs::path(path) / "lib", files);
    add_libraries(fs::path(path) / "capi", files);  // the Python package itself
    add_environment(path, files);
    if (files.empty()) files.push_back((fs::path(path) / kPrefix).string());
    return files;
  }
  // dlopen searches the current folder only when the name has a slash.
  const bool here = path.find('/') == std::string::npos && fs::exists(path, failed);
  files.push_back(here ? "./" + path : path);
  return files;
}

fs::path cache_folder() {
  if (const std::string own = variable("GRAPHOPT_CACHE"); !own.empty()) return own;
  if (const std::string xdg = variable("XDG_CACHE_HOME"); !xdg.empty()) return fs::path(xdg) / "graphopt";
  const std::string home = variable("HOME");
  return fs::path(home.empty() ? "/root" : home) / ".cache" / "graphopt";
}

}  // namespace

OrtPlaces ort_places(const std::string& path) {
  OrtPlaces places;
  if (!path.empty()) return {true, "--ort", from_path(path)};
  if (const std::string named = variable("GRAPHOPT_ORT"); !named.empty())
    return {true, "GRAPHOPT_ORT", from_path(named)};
  add_environments_in_use(places.files);
  places.files.insert(places.files.end(), {std::string(kPrefix), std::string(kPrefix) + ".1"});
  for (const char* folder : {"/usr/local/lib", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
                             "/usr/lib64", "/usr/lib", "/opt/onnxruntime/lib"})
    add_libraries(folder, places.files);
  add_environment(cache_folder() / "venv", places.files);
  return places;
}

}  // namespace graphopt
