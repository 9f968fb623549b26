// The canonical form that a draft is brought to after each move, from a worklist.
//
// Each step lowers the cost or the depth of deformations (D) and Transposes (T): D of D reads the first
// source; D and T that change nothing go; D and T of a constant are computed; equal D or T of one value
// become one; T of T becomes one; a T that moves unit dims only becomes a D; Concat of Concat and Split of
// Split on one axis become one; Split and Concat that cancel go, and so does a Concat of one operand; Slices
// that cover an axis become a Split; dead nodes go.
#pragma once

#include "hoist/draft/draft.h"

namespace graphopt {

// Applies steps until none fits at a touched node or one that a step touched. All steps are exact: none
// changes a bit or the position of an element in a result.
void canonicalize(Draft& d);

// Removes n, whose one result equals `source`. Returns false, and changes nothing, if the result is live_out
// and the source cannot be renamed to it.
bool drop_node(Draft& d, DNode n, DValue source);

}  // namespace graphopt
