// How models are saved: the options of the user in those of the writer, what was written in the report, and a
// model in memory in the form that ONNX Runtime loads, for --check and --fold ort, which run models before
// anything is written.
#pragma once

#include <span>
#include <string>

#include "graphopt/error.h"
#include "graphopt/report.h"
#include "graphopt/stages/save.h"
#include "ir/model.h"
#include "onnx/set_writer.h"
#include "onnx/writer.h"
#include "runtime/model_source.h"

namespace graphopt {

// Sets all but the path, the types and the part.
SaveOptions save_options(const SaveStage::Options& options);

// Adds what was written to the report: `files`, and `after.bytes`. Of a set: its model beside it, the list at
// the path as given, the data file, the models. `after.bytes` is that of OUT, and of the set's models and
// data when the run writes no OUT.
void report_files(const SavedFiles& saved, Report& report);
void report_files(const std::string& list, const SavedSet& saved, Report& report);

class SavedInMemory {
 public:
  // `folder`: the folder of the model's external data; references into it are kept. `part`: only this part is
  // saved. ErrorKind::NotChecked when the model exceeds the size of one message.
  Status save(const Model& model, std::span<const TypeOverride> types, const std::string& folder,
              const ModelPart* part = nullptr);
  ModelSource source() const { return {{}, bytes_, folder_}; }  // valid until the next save

 private:
  std::string bytes_, folder_;
};

}  // namespace graphopt
