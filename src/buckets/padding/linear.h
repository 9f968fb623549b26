// Flat indices into merged axes (linear.cpp).
#pragma once

#include "buckets/padding/context.h"

namespace graphopt {

// Returns true, and states the result, if the node makes a flat index of operands of which one is or contains
// an extent, or moves one.
bool flat_index_rule(PaddingContext& c);

}  // namespace graphopt
