#include "exports/folder_form.h"

#include <filesystem>
#include <system_error>

#include "exports/marker.h"
#include "support/file.h"
#include "support/sha256.h"

namespace graphopt {
namespace {

namespace fs = std::filesystem;

constexpr const char* kModelList = "models.sha256";

}  // namespace

bool FolderExport::is_ours() const { return has_marker(path_, form()); }

bool FolderExport::is_unfinished() const { return OutputFolder::is_unfinished(path_); }

Status FolderExport::stage(const SavedSet& saved, std::string_view list) {
  Result<std::unique_ptr<OutputFolder>> folder = OutputFolder::open(path_);
  if (!folder) return folder.errors();
  folder_ = *std::move(folder);
  if (Status s = fill(saved); !s) return s;
  std::error_code none;
  const std::string manifest = fs::relative(manifest_path(source_.options), path_, none).generic_string();
  return write_text(kMarkerFile, marker_text(form(), manifest, sha256_hex(list)));
}

Status FolderExport::remove() {
  Result<std::unique_ptr<OutputFolder>> folder = OutputFolder::open(path_);
  if (!folder) return folder.errors();
  return is_ours() ? (*folder)->remove() : Status(Done{});
}

Status FolderExport::write_text(const std::string& name, std::string_view text) {
  files_.push_back({path_ + "/" + name, text.size()});
  return folder_->write(name, text);
}

Status FolderExport::write_part(const std::string& name, std::size_t part,
                                std::span<const TypeOverride> types) {
  const Result<std::string> path = folder_->file(name);
  if (!path) return path.errors();
  SaveOptions options = source_.save;
  options.path = *path;
  options.part = &source_.parts[part];
  options.types = types;
  const Result<SavedFiles> saved = save_model(source_.model, options);
  if (!saved) return saved.errors();
  const std::string folder = folder_of(path_ + "/" + name) + "/";
  files_.push_back({path_ + "/" + name, saved->bytes});
  if (!saved->data_path.empty()) files_.push_back({folder + last_part(saved->data_path), saved->data_bytes});
  return Done{};
}

Result<SavedSet> FolderExport::write_models(const std::string& folder, std::span<const SetModel> models) {
  const std::string list = folder + "/" + kModelList;
  const Result<std::string> path = folder_->file(list);
  if (!path) return path.errors();
  SetOptions options;
  options.list = *path;
  options.data_name = "weights";
  Result<SavedSet> saved = save_set(models, options);
  if (!saved) return saved.errors();
  for (const SetFile& file : saved->files())
    files_.push_back({path_ + "/" + folder + "/" + file.name, file.bytes});
  files_.push_back({path_ + "/" + list, saved->list_bytes});
  return saved;
}

}  // namespace graphopt
