// Names of the files that a run writes next to OUT.
#pragma once

#include <string>

#include "graphopt/options.h"

namespace graphopt {

// Returns the path of OUT without .onnx: what the names of the other files begin with.
std::string without_suffix(const std::string& output);

// Returns the path of --parts-dir; empty when it is not given.
std::string parts_folder(const Options& options);

}  // namespace graphopt
