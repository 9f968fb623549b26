// The version of graphopt: of the headers that a program is compiled with, and of the library that it runs.
//
// Major, minor, patch. Before 1.0 a new minor version may change the public headers, a patch does not.
#pragma once

#include <string_view>

#define GRAPHOPT_VERSION_MAJOR 0
#define GRAPHOPT_VERSION_MINOR 2
#define GRAPHOPT_VERSION_PATCH 0
// One number for #if: 200 is 0.2.0.
#define GRAPHOPT_VERSION_NUMBER \
  (GRAPHOPT_VERSION_MAJOR * 10000 + GRAPHOPT_VERSION_MINOR * 100 + GRAPHOPT_VERSION_PATCH)

namespace graphopt {

// "0.2.0"
std::string_view version();

}  // namespace graphopt
