// Initializers of the main graph that are also its inputs.
//
// Problem: before IR version 4 every initializer had to be listed among the inputs, and many exporters went
// on to do so. A caller may feed such an input, so nothing can be computed from it, although hardly anyone
// does. Method: on request these inputs leave the interface. Their types go with them, since a tensor has its
// own. Exact for every run that feeds none of them: each then has the value that it has now in every run.
//
//   inputs x, w; w = {1, 2}; y = x + (-w)   ->   inputs x; w = {1, 2}; and -w can be folded
#pragma once

#include <cstddef>

#include "ir/model.h"

namespace graphopt {

// The first IR version in which an initializer need not be an input.
inline constexpr std::int64_t kConstantsIrVersion = 4;

// Returns how many inputs of the main graph have an initializer as their default.
std::size_t count_defaults(const Model& m);

// Makes constants of them, raises the IR version to kConstantsIrVersion where it is lower and there are some,
// and returns how many there were. Call it on a model that has just been read: nobody listens yet.
std::size_t take_defaults_for_constants(Model& m);

}  // namespace graphopt
