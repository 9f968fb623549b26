// What users give instead of a model: a file of another format, told by its first bytes.
#pragma once

#include <string_view>

#include "onnx/problems.h"

namespace graphopt {

// Reports a problem and returns true if the bytes begin like a file of another known format. To be asked
// where the bytes cannot be read as a model: a model may begin like some of them.
bool is_other_format(std::string_view bytes, Problems& problems);

}  // namespace graphopt
