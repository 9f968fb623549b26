// How models are saved: the options of the user in those of the writer, what was written in the report, and a
// model in the form that ONNX Runtime loads, for --check and --fold ort, which run models before anything is
// written.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "graphopt/error.h"
#include "graphopt/report.h"
#include "graphopt/stages/save.h"
#include "ir/model.h"
#include "onnx/set_writer.h"
#include "onnx/writer.h"
#include "runtime/model_source.h"
#include "support/temporary_folder.h"

namespace graphopt {

// Sets all but the path, the types and the part.
SaveOptions save_options(const SaveStage::Options& options);

// Returns the bytes of a part of a model as a model of its own, with these types. References to external data
// that hold from `folder` on stay; other such data come into the bytes. ErrorKind::Input when they exceed the
// size of one message.
Result<std::string> part_in_memory(const Model& model, std::span<const TypeOverride> types,
                                   const std::string& folder, const ModelPart& part);

// Adds what was written to the report: `files`, and `after.bytes`. Of a set: its model beside it, the list at
// the path as given, the data file, the models. `after.bytes` is that of OUT, and of the set's models and
// data when the run writes no OUT.
void report_files(const SavedFiles& saved, Report& report);
void report_files(const std::string& list, const SavedSet& saved, Report& report);

// A model in the form that ONNX Runtime loads: in memory, or, when it exceeds one message, in a folder of
// temporary files, which end with this object and with the process.
class SavedForRuntime {
 public:
  // The largest message that protobuf takes, and so a range of memory that ONNX Runtime loads.
  static constexpr std::uint64_t kLargest = std::numeric_limits<std::int32_t>::max();

  // `room`: a folder in which a large model is written; empty: that of the system ($TMPDIR, /tmp).
  explicit SavedForRuntime(std::string room = {}, std::uint64_t largest = kLargest)
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
