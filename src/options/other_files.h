// Names of OUT that mean another format than ONNX.
#pragma once

#include <string_view>

#include "graphopt/error.h"

namespace graphopt {

// Refuses a name whose ending stands for something that graphopt does not write. ErrorKind::Usage.
Status fits_output(std::string_view path);

}  // namespace graphopt
