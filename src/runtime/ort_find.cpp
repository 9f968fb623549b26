// Only lists the candidates; ort.cpp opens them. A fixed number of folders is listed, without recursion.
#include "runtime/ort_find.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
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

// Returns FOLDER/lib*/python*/site-packages/onnxruntime/capi of a Python environment.
void add_environment(const fs::path& environment, std::vector<std::string>& out) {
  std::error_code failed;
  for (fs::directory_iterator it(environment / "lib", failed), end; !failed && it != end;
       it.increment(failed))
    if (it->path().filename().string().starts_with("python"))
      add_libraries(it->path() / "site-packages" / "onnxruntime" / "capi", out);
}

std::string variable(const char* name) {
  const char* text = std::getenv(name);
  return text != nullptr ? text : "";
}

// Interprets a user's path: a library, a folder with one, or a Python environment.
std::vector<std::string> from_path(const std::string& path) {
  std::vector<std::string> files;
  std::error_code failed;
  if (fs::is_directory(path, failed)) {
    add_libraries(path, files);
    add_libraries(fs::path(path) / "lib", files);
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
  places.files = {std::string(kPrefix), std::string(kPrefix) + ".1"};
  for (const char* folder : {"/usr/local/lib", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
                             "/usr/lib64", "/usr/lib", "/opt/onnxruntime/lib"})
    add_libraries(folder, places.files);
  add_environment(cache_folder() / "venv", places.files);
  return places;
}

}  // namespace graphopt
