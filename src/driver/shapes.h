// --shape, --dim and --infer in terms of src/specialize.
#pragma once

#include <span>
#include <vector>

#include "driver/run.h"
#include "ir/part.h"
#include "onnx/writer.h"
#include "specialize/bind.h"

namespace graphopt {

Bindings bindings_of(const InferStage::Options& options);

// Returns the types that the saved model states in place of those in the file; none where inference did not
// run. Call it after the passes.
std::vector<TypeOverride> saved_types(const Options& options, Work& work);

// Returns the types that a model of a part states: those of its borders (specialize/border_types.h), then
// those of `saved`, which saved_types returned; each value once. Entries for values outside the part are
// ignored when it is written. Precondition: inference ran.
std::vector<TypeOverride> part_types(Work& work, const ModelPart& part, std::span<const TypeOverride> saved);

}  // namespace graphopt
