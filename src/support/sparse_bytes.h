// Reads bytes that may be a map of a sparse file without reading its holes.
//
// Weights that were never set are holes in many files. A hole has no pages: touching one through a map costs
// a page of memory each, and reading 6 GiB of them costs more than hashing as many zeros from one buffer.
#pragma once

#include <functional>
#include <string_view>

namespace graphopt {

// Calls f for consecutive pieces that together are `bytes`; pieces of holes are views of a buffer of zeros.
void for_each_piece(std::string_view bytes, const std::function<void(std::string_view)>& f);

}  // namespace graphopt
