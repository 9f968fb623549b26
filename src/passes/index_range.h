// Bounds of the elements of integer tensors of any size. (Inference tracks elements, but only of small
// tensors.)
#pragma once

#include "rewrite/context.h"

namespace graphopt {

// Returns inclusive bounds that hold for every element of v in every run (also when v has no elements);
// [Range::kMin, Range::kMax] when nothing is known. Reads constants and passes through Clip, Mod, Min, Max,
// ArgMax, ArgMin, TopK's indices, Range, Where, casts between integers and operators that only move elements,
// to a depth of a few nodes.
Range range_of(const MatchContext& c, ValueId v);

}  // namespace graphopt
