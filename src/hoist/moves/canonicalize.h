// The canonical form that a draft is brought to after each move.
#pragma once

#include "draft/draft.h"

namespace graphopt {

// Applies steps until none fits at a touched node or one that a step touched. All steps are exact: none
// changes a bit or the position of an element in a result. None raises the cost. The steps are listed in
// canonicalize.cpp.
void canonicalize(Draft& d);

// Removes n, whose one result equals `source`. Returns false, and changes nothing, if the result is live_out
// and the source cannot be renamed to it.
bool drop_node(Draft& d, DNode n, DValue source);

}  // namespace graphopt
