// Quantization annotations: which tensors hold the parameters of which (TensorAnnotation).
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "ir/model.h"

namespace graphopt {

// Returns the names of the tensors to which annotations of the main graph refer, in the order of the file,
// for the annotated tensors of which `wanted` returns true.
std::vector<std::string_view> annotation_parameters(const Model& m,
                                                    const std::function<bool(std::string_view)>& wanted);

}  // namespace graphopt
