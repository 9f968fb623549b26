#include "options/output_names.h"

#include <array>
#include <filesystem>
#include <system_error>

#include "graphopt/options.h"
#include "support/file.h"

namespace graphopt {

std::string without_suffix(const std::string& output) {
  constexpr std::string_view suffix = ".onnx";
  return output.ends_with(suffix) ? output.substr(0, output.size() - suffix.size()) : output;
}

std::string manifest_path(const Options& options) {
  const PartitionStage::Options& p = options.partition;
  const bool has_buckets = options.buckets.asked() && !options.buckets.single;
  if ((p.devices.empty() && !has_buckets) || p.plan || options.output.empty()) return {};
  return p.manifest.empty() ? without_suffix(options.output) + ".manifest.json" : p.manifest;
}

std::string parts_folder(const Options& options) {
  const std::string& folder = options.partition.parts_dir;
  if (folder.empty() || folder.front() == '/') return folder;
  return folder_of(resolved(manifest_path(options))) + "/" + folder;
}

std::string export_path(const Options& options, Export form) {
  constexpr std::array<const char*, kExports.size()> kSuffixes = {".triton", ".layers.json", ".genai",
                                                                  ".ort-package"};
  if (manifest_path(options).empty()) return {};
  const std::string& out = options.output;
  std::error_code none;
  const std::string name = last_part(without_suffix(out)) + kSuffixes[static_cast<std::size_t>(form)];
  if (std::filesystem::is_symlink(out, none)) return folder_of(resolved(out)) + "/" + name;
  return out.find('/') == std::string::npos ? name : folder_of(out) + "/" + name;
}

}  // namespace graphopt
