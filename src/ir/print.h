// A model in ONNX text syntax (onnx/defs/parser.h reads it), straight from the IR: for --print-after and
// messages. For a tensor above `max_elements` elements only the declaration is written, so the result is for
// people, not for saving.
#pragma once

#include <string>

#include "ir/model.h"

namespace graphopt {

std::string print(const Model& model, std::size_t max_elements = 16);
std::string print(const Model& model, GraphId graph, std::size_t max_elements = 16);

}  // namespace graphopt
