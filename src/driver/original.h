// The model as it was given, kept for --check and --bisect: both load it again, and ONNX Runtime runs it.
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

struct OriginalModel {
  // Reads stdin and pipes to their end: they can be read only once.
  static Result<std::unique_ptr<OriginalModel>> open(const Options& options, std::vector<Warning>& warnings);

  Result<Model> load(std::vector<Warning>& warnings) const;  // a fresh copy each time
  ModelSource source() const;                                // binary, as ONNX Runtime wants it

  std::string path, external_root, folder;
  bool in_memory = false;  // `bytes` is all there is
  std::string bytes;
  std::string binary;  // what the text says, for a model in text syntax
  InputPlan plan;      // made before the passes
};

}  // namespace graphopt
