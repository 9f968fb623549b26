// Models in text: ONNX syntax, and protobuf's text format.
#pragma once

#include <string>
#include <string_view>

#include "onnx/problems.h"

namespace graphopt {

// Returns true for text (rather than a binary ModelProto), judging by the first bytes.
bool looks_like_text(std::string_view bytes);

// Converts the model to binary form; returns false, and reports a problem, when the text is not valid.
bool text_to_binary(std::string_view text, Problems& problems, std::string& binary);

}  // namespace graphopt
