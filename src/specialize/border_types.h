// Types of the inputs and outputs of parts of a model that are written as models of their own.
#pragma once

#include <vector>

#include "infer/infer.h"
#include "ir/part.h"
#include "onnx/writer.h"

namespace graphopt {

// Returns what inference knows about the borders of a part: inputs and outputs that are none of the model's.
// Their dims are numbers and expressions over the symbols of the model's inputs; others stay open. A border
// whose type is not known is missing.
std::vector<TypeOverride> border_types(Model& m, const Inference& inference, const ModelPart& part);

}  // namespace graphopt
