// A model as ONNX Runtime can take it from memory: for --check, which runs the result before anything is
// written.
#pragma once

#include <span>
#include <string>

#include "graphopt/error.h"
#include "ir/model.h"
#include "onnx/writer.h"
#include "runtime/model_source.h"

namespace graphopt {

class SavedInMemory {
 public:
  // `folder`: where the model's external data lie; references into it are kept. ErrorKind::CheckFailed when
  // the model passes what one message can hold.
  Status save(const Model& model, std::span<const TypeOverride> types, const std::string& folder);
  ModelSource source() const { return {{}, bytes_, folder_}; }  // valid until the next save

 private:
  std::string bytes_, folder_;
};

}  // namespace graphopt
