// The version of graphopt.
#pragma once

#include <string_view>

namespace graphopt {

// "0.1.0": major, minor, patch.
std::string_view version();

}  // namespace graphopt
