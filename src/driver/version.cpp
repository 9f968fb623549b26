// The version has one source, the project line of CMakeLists.txt, and enters the code only here.
#include "graphopt/version.h"

namespace graphopt {

std::string_view version() { return GRAPHOPT_VERSION; }

}  // namespace graphopt
