#include "runtime/saved_for_runtime.h"

#include "onnx/data_writer.h"
#include "onnx/message_writer.h"
#include "support/file.h"

namespace graphopt {

Status SavedForRuntime::save(const Model& model, std::span<const TypeOverride> types,
                             const std::string& folder, const ModelPart* part) {
  files_.reset();
  bytes_.clear();
  SaveOptions options;
  // nothing is written there: the path determines where data files are found
  options.path = folder + "/model";
  options.types = types;
  options.part = part;
  const DataPlan plan(model, options, false, false);
  MessageWriter writer(model, options, plan);
  folder_ = folder;
  std::optional<std::string> bytes = in_one_piece(writer, largest_);
  if (!bytes) return save_files(model, std::move(options));
  bytes_ = *std::move(bytes);
  return Done{};
}

Status SavedForRuntime::save_files(const Model& model, SaveOptions options) {
  Result<TemporaryFolder> folder = TemporaryFolder::create(room_);
  if (!folder) {
    Error e = folder.error();
    e.what = "the model that is to be run exceeds 2 GiB and needs a file: " + e.what;
    return e;
  }
  files_.emplace(*std::move(folder));
  options.path = files_->model();
  options.external = SaveOptions::External::Always;
  const Result<SavedFiles> saved = save_model(model, options);
  if (!saved) return saved.errors();
  files_->announce(saved->path);
  if (!saved->data_path.empty()) files_->announce(saved->data_path);
  folder_.clear();
  return Done{};
}

std::string room_for_runtime(const std::string& output) {
  return output.empty() || output == "-" ? std::string() : folder_of(output);
}

}  // namespace graphopt
