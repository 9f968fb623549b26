#include "driver/saving.h"

#include <filesystem>
#include <system_error>

#include "options/output_names.h"
#include "support/file.h"
#include "support/marked_folder.h"

namespace graphopt {

SaveOptions save_options(const SaveStage::Options& options) {
  SaveOptions out;
  switch (options.external_data) {
    case ExternalData::Auto: out.external = SaveOptions::External::Auto; break;
    case ExternalData::Always: out.external = SaveOptions::External::Always; break;
    case ExternalData::Never: out.external = SaveOptions::External::Never; break;
  }
  out.external_threshold = options.external_threshold;
  out.data_name = options.external_file;
  if (!out.data_name.empty()) out.external = SaveOptions::External::Always;
  out.force = options.force;
  return out;
}

void report_files(const SavedFiles& saved, Report& report) {
  report.after.bytes = saved.bytes + saved.data_bytes;
  std::vector<SaveStage::File>& files = report.save.files;
  files.push_back({saved.path, saved.bytes});
  if (!saved.data_path.empty()) files.push_back({saved.data_path, saved.data_bytes - saved.kept_bytes});
  report.save.kept = {saved.kept_data, saved.kept_bytes};
}

void report_files(const std::string& list, const SavedSet& saved, Report& report) {
  if (saved.out) report_files(*saved.out, report);
  std::vector<SaveStage::File>& files = report.save.files;
  files.push_back({list, saved.list_bytes});
  std::error_code none;  // the list is there: it has just been written
  const bool link = std::filesystem::is_symlink(list, none);
  const std::string folder = folder_of(link ? std::filesystem::canonical(list, none).string() : list);
  const std::string before = folder == "." && !list.starts_with("./") ? "" : folder + "/";
  for (const SetFile& f : saved.files()) {
    files.push_back({before + f.name, f.bytes});
    if (report.output.empty()) report.after.bytes += f.bytes;
  }
}

ManifestFolders manifest_folders(const Options& options, std::error_code& error) {
  std::error_code none;
  const std::string parts = parts_folder(options);
  return {real_folder(parts.empty() ? folder_of(resolved(options.output)) : parts, error),
          real_folder(folder_of(resolved(manifest_path(options))), none)};
}

}  // namespace graphopt
