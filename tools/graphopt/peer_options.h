// Options and commands of similar tools, for people who come from them.
#pragma once

#include <string_view>

namespace graphopt::tool {

// Returns what to write instead of an option of onnxsim, onnxslim, onnxoptimizer or ONNX Runtime's converter;
// "" for any other.
std::string_view own_form(std::string_view option);

// Returns what to write instead of a word that is a command elsewhere, such as "optimize" or "info"; "" for
// any other. IN and OUT stand for the models.
std::string_view own_command(std::string_view word);

}  // namespace graphopt::tool
