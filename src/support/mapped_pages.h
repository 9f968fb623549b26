// Memory of mapped files that has been read and is not needed soon.
//
// Pages of a map that were read count as memory of the process for as long as the map lasts. Where new bytes
// take the place of large ones that were read from a file, both would count at once.
#pragma once

#include <string_view>

namespace graphopt {

// Gives the pages back that hold nothing but these bytes, if they are in a map of a file (support/file.h).
// The bytes stay what they are: who reads them again gets them from the file.
void release_mapped(std::string_view bytes);

}  // namespace graphopt
