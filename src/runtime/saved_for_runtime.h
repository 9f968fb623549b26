// A model in the form that ONNX Runtime loads, for --check and --fold ort, which run models before anything
// is written.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "graphopt/error.h"
#include "ir/model.h"
#include "onnx/in_memory.h"
#include "onnx/writer.h"
#include "runtime/model_source.h"
#include "support/temporary_folder.h"

namespace graphopt {

// A model in the form that ONNX Runtime loads: in memory, or, when it exceeds one message, in a folder of
// temporary files, which end with this object and with the process.
class SavedForRuntime {
 public:
  // `room`: a folder in which a large model is written; empty: that of the system ($TMPDIR, /tmp).
  explicit SavedForRuntime(std::string room = {}, std::uint64_t largest = kLargestInMemory)
      : room_(std::move(room)), largest_(largest) {}
  SavedForRuntime(const SavedForRuntime&) = delete;
  SavedForRuntime& operator=(const SavedForRuntime&) = delete;

  // `folder`: the folder of the model's external data; references into it are kept where the model fits into
  // memory. `part`: only this part is saved. ErrorKind::Output when a file cannot be written.
  Status save(const Model& model, std::span<const TypeOverride> types, const std::string& folder,
              const ModelPart* part = nullptr);
  // Valid until the next save.
  ModelSource source() const { return {files_ ? files_->model() : "", bytes_, folder_}; }

 private:
  Status save_files(const Model& model, SaveOptions options);

  std::string room_;
  std::uint64_t largest_;
  std::string bytes_, folder_;
  std::optional<TemporaryFolder> files_;  // when the model is in files
};

// Returns the folder in which a run may write a model for ONNX Runtime: OUT's, where there must be room for
// such a model anyway; empty without one.
std::string room_for_runtime(const std::string& output);

}  // namespace graphopt
