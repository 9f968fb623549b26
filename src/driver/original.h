// The input model, kept for --check and --bisect: both load it again, and ONNX Runtime runs it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "graphopt/error.h"
#include "graphopt/options.h"
#include "ir/model.h"
#include "onnx/reader.h"
#include "runtime/inputs.h"
#include "runtime/model_source.h"

namespace graphopt {

// Returns the folder in which references of this input to external data begin.
std::string data_folder(const std::string& input);

struct OriginalModel {
  // Reads stdin and pipes completely, since they can be read only once.
  static Result<std::unique_ptr<OriginalModel>> open(const Options& options, std::vector<Warning>& warnings);

  Result<Model> load(std::vector<Warning>& warnings) const;  // a new copy each time
  ModelSource source() const;                                // binary, for ONNX Runtime
  // From now on the model is this one, in binary form, with external data in the same folder.
  void become(std::string model);

  std::string path, external_root, folder;
  bool dim_expressions = true;  // as in LoadOptions
  bool in_memory = false;       // there is no file, only `bytes`
  std::string bytes;
  std::string binary;  // the binary form of a model in text syntax
  InputPlan plan;      // made before the passes
  GivenInputs given;   // of --check-input
};

}  // namespace graphopt
