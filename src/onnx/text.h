// ONNX text syntax.
#pragma once

#include <string>
#include <string_view>

#include "onnx/problems.h"

namespace graphopt {

// Is it text (rather than a binary ModelProto)? Decided by the first bytes.
bool looks_like_text(std::string_view bytes);

// The same model in binary form; false, and a problem, when the text is not right.
bool text_to_binary(std::string_view text, Problems& problems, std::string& binary);

}  // namespace graphopt
