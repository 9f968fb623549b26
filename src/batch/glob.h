// Patterns of paths, as .gitignore and shells have them.
#pragma once

#include <string_view>

namespace graphopt {

// Returns whether a path ("bert/base/model.onnx") matches a pattern. `*`, `?` and `[a-z]` stand for
// characters of one part (fnmatch(3)), a part `**` for any number of parts. A pattern without '/' is about
// the last part of the path alone, wherever it is: `*.onnx`.
bool path_matches(std::string_view pattern, std::string_view path);

}  // namespace graphopt
