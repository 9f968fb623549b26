#include "batch/record.h"

#include <algorithm>
#include <climits>
#include <filesystem>
#include <system_error>
#include <variant>

#include "devices/find.h"
#include "graphopt/option_table.h"
#include "support/file.h"
#include "support/utf8.h"

namespace graphopt {
namespace {

namespace fs = std::filesystem;

constexpr int kFormat = 1;

Json value_json(const OptionValue& value) {
  Json out;
  std::visit([&out](const auto& v) { out = v; }, value);
  return out;
}

// A path is any bytes, and JSON has none that are not UTF-8: those of such a path are written as numbers.
Json path_json(const std::string& path) {
  if (is_utf8(path)) return path;
  Json out = Json::array();
  for (const char c : path) out.push_back(static_cast<unsigned char>(c));
  return out;
}

bool take_path(const Json& j, std::string& to) {
  const auto at = j.find("path");
  if (at == j.end()) return false;
  if (at->is_string()) {
    at->get_to(to);
    return true;
  }
  if (!at->is_array()) return false;
  for (const Json& byte : *at) {
    if (!byte.is_number_unsigned() || byte.get<std::uint64_t>() > UCHAR_MAX) return false;
    to += static_cast<char>(byte.get<unsigned char>());
  }
  return true;
}

Json files_json(const std::vector<RecordedFile>& files, bool with_times) {
  Json out = Json::array();
  for (const RecordedFile& f : files) {
    Json& one = out.emplace_back(Json{{"path", path_json(f.path)}, {"bytes", f.state.bytes}});
    if (with_times) {
      one["modified"] = f.state.modified;
      one["inode"] = f.state.inode;
    }
    one["content"] = f.state.content;
  }
  return out;
}

// Returns false, and leaves `to`, when the member is not there or has another type.
template <class T> bool take(const Json& j, const char* key, T& to) {
  const auto at = j.find(key);
  if (at == j.end()) return false;
  if constexpr (std::is_same_v<T, std::string>) {
    if (!at->is_string()) return false;
  } else if (!at->is_number_integer()) {
    return false;
  }
  at->get_to(to);
  return true;
}

bool take_file(const Json& j, bool with_times, RecordedFile& to) {
  if (!j.is_object() || !take_path(j, to.path) || !take(j, "bytes", to.state.bytes) ||
      !take(j, "content", to.state.content))
    return false;
  return !with_times || (take(j, "modified", to.state.modified) && take(j, "inode", to.state.inode));
}

bool take_files(const Json& j, const char* key, bool with_times, std::vector<RecordedFile>& to) {
  const auto at = j.find(key);
  if (at == j.end() || !at->is_array()) return false;
  for (const Json& item : *at)
    if (!take_file(item, with_times, to.emplace_back())) return false;
  return true;
}

bool take_texts(const Json& j, const char* key, std::vector<std::string>& to) {
  const auto at = j.find(key);
  if (at == j.end() || !at->is_array()) return false;
  for (const Json& item : *at) {
    if (!item.is_string()) return false;
    to.push_back(item.get<std::string>());
  }
  return true;
}

bool take_options(const Json& j, const char* key, RecordedOptions& to) {
  const auto at = j.find(key);
  if (at == j.end() || !at->is_object()) return false;
  for (const auto& [name, value] : at->items()) to.emplace(name, value);
  return true;
}

std::string canonical(const std::string& path) {
  std::error_code ignored;
  const fs::path found = fs::weakly_canonical(path, ignored);
  return found.empty() ? path : found.string();
}

}  // namespace

std::string records_folder(const std::string& output) { return (fs::path(output) / ".graphopt").string(); }

std::string mark_path(const BatchOptions& options) {
  std::string whole = records_folder(options.output) + "/.unfinished";
  if (options.shard.count == 1) return whole;
  return whole + '.' + std::to_string(options.shard.index) + "-of-" + std::to_string(options.shard.count);
}

std::string record_path(const std::string& output, const std::string& name) {
  return records_folder(output) + '/' + name + ".json";
}

std::string to_json(const Record& r) {
  const Json input = files_json({r.input}, true).front();
  return json_text({{"format_number", kFormat},
                    {"version", r.version},
                    {"input", input},
                    {"data_files", files_json(r.data, true)},
                    {"option_files", files_json(r.asked, true)},
                    {"options", Json(r.options)},
                    {"check", r.check ? Json(*r.check) : Json()},
                    {"status", r.status},
                    {"error", r.error},
                    {"files", files_json(r.written, false)},
                    {"begun", r.begun},
                    {"nodes_before", r.figures.nodes_before},
                    {"nodes_after", r.figures.nodes_after},
                    {"bytes_before", r.figures.bytes_before},
                    {"bytes_after", r.figures.bytes_after}});
}

std::optional<Record> read_record(const std::string& path) {
  const auto image = FileImage::open(path);
  if (!image) return std::nullopt;
  const Json j = Json::parse((*image)->bytes(), nullptr, false);
  int format = 0;
  Record r;
  const bool complete =
      j.is_object() && take(j, "format_number", format) && format == kFormat &&
      take(j, "version", r.version) && j.contains("input") && take_file(j["input"], true, r.input) &&
      take_files(j, "data_files", true, r.data) && take_files(j, "option_files", true, r.asked) &&
      take_options(j, "options", r.options) && j.contains("check") && take(j, "status", r.status) &&
      take(j, "error", r.error) && take_files(j, "files", false, r.written) &&
      take_texts(j, "begun", r.begun) && take(j, "nodes_before", r.figures.nodes_before) &&
      take(j, "nodes_after", r.figures.nodes_after) && take(j, "bytes_before", r.figures.bytes_before) &&
      take(j, "bytes_after", r.figures.bytes_after);
  if (!complete) return std::nullopt;
  if (!j["check"].is_null() && !take_options(j, "check", r.check.emplace())) return std::nullopt;
  return r;
}

Status write_record(const std::string& path, const Record& record) {
  std::error_code failure;
  fs::create_directories(folder_of(path), failure);
  if (failure) return write_error(path, folder_of(path), failure.value());
  Result<OutputFile> file = OutputFile::create(path);
  if (!file) return file.errors();
  file->need_not_last();  // without it the model is done again
  if (Status written = file->write(to_json(record)); !written) return written;
  return file->commit();
}

std::optional<std::string> written_path(const std::string& folder, const std::string& below) {
  const fs::path plain = fs::path(below).lexically_normal();
  if (plain.empty() || plain == "." || plain.is_absolute() || *plain.begin() == "..") return std::nullopt;
  std::string path = (fs::path(folder) / plain).string();
  // A link inside of the folder may lead out, too.
  const fs::path root = canonical(folder), real = canonical(folder_of(path));
  const auto [in_root, in_real] = std::mismatch(root.begin(), root.end(), real.begin(), real.end());
  if (in_root != root.end()) return std::nullopt;
  return path;
}

std::vector<std::string> written_paths(const std::string& output, const std::string& name,
                                       const Record& record) {
  const std::string folder = folder_of((fs::path(output) / name).string());
  std::vector<std::string> out;
  for (const RecordedFile& f : record.written)
    if (auto path = written_path(folder, f.path)) out.push_back(*std::move(path));
  return out;
}

std::vector<std::string> set_paths(const Options& options) {
  std::vector<std::string> out = {manifest_path(options)};
  for (const Export form : options.partition.exports) out.push_back(export_path(options, form));
  std::erase(out, "");
  return out;
}

std::vector<std::string> recorded_names(const std::string& output) {
  const fs::path records = records_folder(output);
  std::vector<std::string> names;
  std::error_code failure;
  for (fs::recursive_directory_iterator it(records, failure), end; !failure && it != end;
       it.increment(failure)) {
    std::string name = it->path().lexically_relative(records).string();
    constexpr std::string_view kEnding = ".json";
    if (!name.ends_with(kEnding)) continue;
    name.resize(name.size() - kEnding.size());
    names.push_back(std::move(name));
  }
  std::ranges::sort(names);
  return names;
}

std::set<std::string> written_by_others(const std::string& output, const std::set<std::string>& names) {
  std::set<std::string> out;
  for (const std::string& name : recorded_names(output)) {
    if (names.contains(name)) continue;
    const auto record = read_record(record_path(output, name));
    if (!record) continue;
    for (std::string& path : written_paths(output, name, *record)) out.insert(std::move(path));
  }
  return out;
}

std::string absolute_path(const std::string& path) {
  std::error_code ignored;
  return fs::absolute(path, ignored).string();
}

RecordedOptions recorded_options(const Options& options) {
  RecordedOptions out;
  for (const auto& [key, value] : result_options(options)) out[key] = value_json(value);
  if (!options.partition.devices.empty()) out["devices"] = options.partition.devices;
  // It says which data files are found.
  if (!options.load.external_root.empty()) out["external_root"] = absolute_path(options.load.external_root);
  return out;
}

std::optional<RecordedOptions> recorded_check(const Options& options) {
  if (options.check.seeds == 0 && !options.check.bisect) return std::nullopt;
  RecordedOptions out;
  for (const char* name : {"--check", "--check-tolerance", "--check-input"})
    if (const auto value = find_option(name)->get(options)) out[name + 2] = value_json(*value);
  return out;
}

Status check_asked_files(const Options& options) {
  if (!options.partition.devices.empty())
    if (const auto profiles = load_devices(options.partition.devices, device_folders()); !profiles)
      return profiles.errors();
  for (const std::string& path : asked_files(options))
    if (!state_of(path))
      return Error{ErrorKind::Usage,
                   {path, {}, {}, {}, {}},
                   "an option names this file, which is not there",
                   "check the path; it is relative to the current folder"};
  return Done{};
}

std::vector<std::string> asked_files(const Options& options) {
  std::vector<std::string> out;
  if (!options.buckets.file.empty()) out.push_back(canonical(options.buckets.file));
  if (!options.partition.devices.empty())
    if (const auto profiles = load_devices(options.partition.devices, device_folders()))
      for (const Profile& profile : *profiles) {
        out.push_back(canonical(profile.file));
        if (profile.cost && !profile.cost->table.empty())
          out.push_back(canonical(folder_of(profile.file) + '/' + profile.cost->table));
      }
  for (const std::string& given : options.check.inputs)
    out.push_back(canonical(given.substr(given.find('=') + 1)));
  return out;
}

}  // namespace graphopt
