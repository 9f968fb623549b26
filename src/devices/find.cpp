// See find.h.
#include "devices/find.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "devices/node_table.h"
#include "devices/profile_reader.h"
#include "support/file.h"
#include "support/nearest.h"

namespace graphopt {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kExtension = ".json";
constexpr std::uint64_t kMaxTableBytes = std::uint64_t{256} << 20;
constexpr std::string_view kHost = "cpu";  // the profile that is added when none is a host

Error usage(std::string what, std::string remedy) {
  return {ErrorKind::Usage, {}, std::move(what), std::move(remedy)};
}

bool is_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

// Returns the folder of shipped profiles, empty when there is none. Installed it is bin/../share; in a build
// tree the program lies in build/PRESET or below.
fs::path shipped_folder() {
  constexpr int kLevels = 5;
  std::error_code error;
  fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (int i = 0; i < kLevels && !error && folder.has_relative_path(); ++i) {
    folder = folder.parent_path();
    fs::path found = folder / "share" / "graphopt" / "devices";
    if (is_folder(found)) return found;
  }
  return {};
}

// Returns the folder of the user's profiles, there or not; empty when the environment names none.
fs::path user_folder() {
  const char* config = std::getenv("XDG_CONFIG_HOME");
  const char* home = std::getenv("HOME");
  fs::path user;
  if (config != nullptr && *config == '/') user = config;  // a relative one is invalid, by its specification
  else if (home != nullptr && *home != '\0') user = fs::path(home) / ".config";
  return user.empty() ? user : user / "graphopt" / "devices";
}

// Reads the measured times that the profile refers to.
Status read_times(Profile& p) {
  const std::string path = (fs::path(p.file).parent_path() / p.cost->table).string();
  const Result<std::shared_ptr<const FileImage>> image = FileImage::open(path, kMaxTableBytes);
  if (!image) {
    Error e = image.error();
    e.what += fmt::format(" (cost.table of {} names it)", p.file);
    return e;
  }
  Result<NodeTable> table = read_node_table((*image)->bytes(), path);
  if (!table) return table.errors();
  p.cost->measured = *std::move(table);
  return Done{};
}

Result<Profile> read_file(const std::string& path) {
  const Result<std::shared_ptr<const FileImage>> image = FileImage::open(path, kMaxProfileBytes + 1);
  if (image) {
    Result<Profile> profile = read_profile((*image)->bytes(), path);
    if (profile && profile->cost && !profile->cost->table.empty())
      if (Status s = read_times(*profile); !s) return s.errors();
    return profile;
  }
  if (image.error().kind != ErrorKind::Limit) return image.errors();
  return Error{ErrorKind::Input,
               {path, {}, {}, {}, {}},
               "is no device profile: it is too large",
               fmt::format("a profile has at most {} bytes", kMaxProfileBytes)};
}

std::string join(const std::vector<std::string>& folders) {
  std::string out;
  for (const std::string& folder : folders) out += (out.empty() ? "" : ", ") + folder;
  return out;
}

std::string where_searched(const std::vector<std::string>& folders) {
  if (!folders.empty()) return "searched: " + join(folders);
  const std::string user = user_folder().string();
  return "searched: share/graphopt/devices next to the program's folder" + (user.empty() ? "" : ", " + user) +
         (user.empty() ? " (it is not there)" : " (neither is there)");
}

}  // namespace

std::vector<std::string> device_folders() {
  std::vector<std::string> out;
  if (const fs::path shipped = shipped_folder(); !shipped.empty()) out.push_back(shipped.string());
  if (const fs::path user = user_folder(); is_folder(user)) out.push_back(user.string());
  return out;
}

std::vector<FoundProfile> find_profiles(const std::vector<std::string>& folders) {
  std::vector<FoundProfile> out;
  for (const std::string& folder : folders) {
    std::error_code error;
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
      const fs::path& path = it->path();
      if (path.extension() == kExtension) out.push_back({path.stem().string(), path.string()});
    }
  }
  // A stable sort by name keeps folders in their order.
  std::ranges::stable_sort(out, {}, &FoundProfile::name);
  const auto twice = std::ranges::unique(out, {}, &FoundProfile::name);
  out.erase(twice.begin(), twice.end());
  return out;
}

Result<Profile> load_device(std::string_view name, const std::vector<std::string>& folders) {
  const std::string text(name);
  if (name.find('/') != std::string_view::npos || name.ends_with(kExtension)) return read_file(text);
  const std::vector<FoundProfile> found = find_profiles(folders);
  const auto at = std::ranges::find(found, name, &FoundProfile::name);
  if (at != found.end()) return read_file(at->path);
  std::vector<std::string> names;
  for (const FoundProfile& f : found) names.push_back(f.name);
  std::error_code error;
  const std::string here = "./" + text + std::string(kExtension);
  if (fs::is_regular_file(here, error))
    return usage("there is no device profile '" + text + "'", "did you mean the file '" + here + "'?");
  std::string remedy = suggest(name, names, "device profiles");
  remedy += "; a file is given by a path with '/' or by its ending .json; " + where_searched(folders);
  return usage("there is no device profile '" + text + "'", std::move(remedy));
}

Result<std::vector<Profile>> load_devices(std::string_view list, const std::vector<std::string>& folders) {
  std::vector<Profile> out;
  Errors errors;
  const auto take = [&](std::string_view name) {
    Result<Profile> profile = load_device(name, folders);
    if (profile) out.push_back(*std::move(profile));
    else errors.insert(errors.end(), profile.errors().begin(), profile.errors().end());
  };
  for (std::string_view rest = list;;) {
    const std::size_t comma = rest.find(',');
    const std::string_view name = rest.substr(0, comma);
    if (name.empty())
      return usage("'" + std::string(list) + "' has an empty name",
                   "write names with one comma between them");
    take(name);
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  const auto is_host = [](const Profile& p) { return p.host; };
  if (errors.empty() && std::ranges::none_of(out, is_host)) {
    take(kHost);
    if (!errors.empty() && errors[0].kind == ErrorKind::Usage)
      return usage("none of the devices is a host, and the profile '" + std::string(kHost) +
                       "', which is added then, was not found",
                   "add a profile that has \"host\": true; " + where_searched(folders));
  }
  if (errors.size() > kMaxErrors) errors.resize(kMaxErrors);
  if (!errors.empty()) return errors;
  const Profile* host = nullptr;
  for (std::size_t i = 0; i < out.size(); ++i) {
    Profile& p = out[i];
    for (std::size_t k = 0; k < i; ++k)
      if (out[k].id == p.id)
        return usage("two devices have the id '" + p.id + "': " + out[k].file + " and " + p.file,
                     "name each device once, or give one of them another id");
    if (p.host && host != nullptr)
      return usage("two devices are hosts: " + host->file + " and " + p.file, "keep one of them");
    if (p.host) host = &p;
    p.priority = static_cast<std::int64_t>(i);
  }
  if (host == nullptr)
    return usage("no device is a host: '" + std::string(kHost) + "' is not one in " + out.back().file,
                 "name a profile that has \"host\": true");
  return out;
}

}  // namespace graphopt
