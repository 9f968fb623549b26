// The version has one source, the project line of CMakeLists.txt, and reaches the code here alone.
#include "graphopt/version.h"

namespace graphopt {

std::string_view version() { return GRAPHOPT_VERSION; }

}  // namespace graphopt
