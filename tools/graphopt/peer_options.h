// Options of similar tools, for people who come from them.
#pragma once

#include <string_view>

namespace graphopt::tool {

// Returns what to write instead of an option of onnxsim, onnxslim, onnxoptimizer or ONNX Runtime's converter;
// "" for any other.
std::string_view own_form(std::string_view option);

}  // namespace graphopt::tool
