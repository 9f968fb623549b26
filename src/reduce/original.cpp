#include "reduce/original.h"

#include <cerrno>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "onnx/external.h"
#include "onnx/reader.h"
#include "onnx/writer.h"

namespace graphopt {
namespace {

std::set<std::string> locations_of(const Model& m) {
  std::set<std::string> out;
  for (std::size_t i = 0; i < m.tensor_count(); ++i)
    if (const Tensor& t = m.tensor(TensorId{i}); t.external) out.emplace(location_of(t.proto));
  return out;
}

// Returns whether the path names a file below the folder from which it counts.
bool stays_below(const std::string& location) {
  const std::filesystem::path path(location);
  if (path.empty() || path.is_absolute()) return false;
  for (const std::filesystem::path& part : path)
    if (part == "..") return false;
  return true;
}

}  // namespace

Error no_room(const std::string& path, int error) {
  Error e = write_error(path, folder_of(path), error);
  e.remedy = "set TMPDIR to a folder with room for the model";
  return e;
}

Status copy_image(const FileImage& from, const std::string& path) {
  std::error_code failed;
  std::filesystem::remove_all(path, failed);
  if (!failed) std::filesystem::create_directories(folder_of(path), failed);
  if (failed) return no_room(path, failed.value());
  Result<OutputFile> file = OutputFile::create(path);
  if (!file) return file.errors();
  if (const Status done = file->copy(from, 0, from.bytes().size()); !done) return done.errors();
  return file->commit();
}

Result<Original> Original::open(const std::string& path, const std::string& name,
                                const std::string& external_root) {
  std::vector<Warning> warnings;
  Result<Model> model = load_model({path, external_root, 0, true}, warnings);
  if (!model) return model.errors();
  Result<std::shared_ptr<const FileImage>> image = FileImage::open(path);
  if (!image) return image.errors();
  Original out;
  out.name_ = name;
  out.image_ = *std::move(image);
  for (const std::string& location : locations_of(*model)) {
    // The places in the order in which the reader looks (onnx/external.cpp).
    std::string file = folder_of(path) + "/" + location;
    if (real_path(file).empty() && !external_root.empty()) file = external_root + "/" + location;
    Result<std::shared_ptr<const FileImage>> data = FileImage::open(file);
    if (!stays_below(location) || location == name || !data) {
      out.written_ = std::make_shared<const Model>(*std::move(model));
      break;
    }
    out.data_.push_back({location, *std::move(data)});
  }
  return out;
}

Result<std::string> Original::copy() {
  folder_.reset();
  Result<TemporaryFolder> folder = TemporaryFolder::create();
  if (!folder) return folder.errors();
  folder_.emplace(*std::move(folder));
  const std::string path = folder_->path() + "/" + name_;
  folder_->announce(path);
  if (written_) {
    SaveOptions options;
    options.path = path;
    options.external = SaveOptions::External::Always;
    const Result<SavedFiles> saved = save_model(*written_, options);
    if (!saved) return saved.errors();
    if (!saved->data_path.empty()) folder_->announce(saved->data_path);
    return path;
  }
  for (const DataFile& d : data_) {
    folder_->announce(folder_->path() + "/" + d.location);
    if (const Status done = copy_image(*d.image, folder_->path() + "/" + d.location); !done)
      return done.errors();
  }
  if (const Status done = copy_image(*image_, path); !done) return done.errors();
  return path;
}

}  // namespace graphopt
