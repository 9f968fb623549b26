// Names of the files that a run writes next to OUT.
#pragma once

#include <string>

namespace graphopt {

// Returns the path of OUT without .onnx: what the names of the other files begin with.
std::string without_suffix(const std::string& output);

}  // namespace graphopt
