// Bounds of the elements of integer tensors of any size: what inference, which knows small tensors element by
// element, does not keep.
#pragma once

#include "rewrite/context.h"

namespace graphopt {

// Inclusive bounds that hold for every element of v in every run (also when v has no elements); [Range::kMin,
// Range::kMax] when nothing is known. Looks at constants and through Clip, Mod, Min, Max, ArgMax, ArgMin,
// TopK's indices, Range, Where, casts between integers and operators that only move elements, a few nodes
// deep.
Range range_of(const PassContext& c, ValueId v);

}  // namespace graphopt
