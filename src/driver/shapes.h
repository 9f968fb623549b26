// --shape, --dim and --infer in terms of src/specialize.
#pragma once

#include <vector>

#include "driver/run.h"
#include "onnx/writer.h"
#include "specialize/bind.h"

namespace graphopt {

Bindings bindings_of(const InferStage::Options& options);

// Returns the types that the saved model states in place of those in the file; none where inference did not
// run. Call it after the passes.
std::vector<TypeOverride> saved_types(const Options& options, Work& work);

}  // namespace graphopt
