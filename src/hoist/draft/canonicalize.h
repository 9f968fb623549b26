// The clean-up between moves (methods/rewrites.md, b6), from a worklist.
//
// Each step lowers the cost or the depth of deformations: D of D reads the first source; identity D and T; D
// and T of a constant; equal D or T on one value become one; T of T becomes one; a T that moves unit dims
// only becomes a D; Concat of Concat and Split of Split on one axis; Split and Concat that undo each other;
// Concat of one; Slices that tile an axis become a Split; dead nodes.
#pragma once

#include "hoist/draft/draft.h"

namespace graphopt {

// Until no step fits at a touched node or around it. All steps are exact (b7) but for the places of elements,
// which none of them changes.
void canonicalize(Draft& d);

// Takes out n, whose one result equals `source`. No, and nothing changed, where the result belongs to the
// interface and the source cannot take over its name.
bool drop_node(Draft& d, DNode n, DValue source);

}  // namespace graphopt
