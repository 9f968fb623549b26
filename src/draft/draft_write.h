// Writes the changes that a draft has kept to the model.
#pragma once

#include "draft/draft.h"

namespace graphopt {

// Uses the model's mutators: erases nodes that vanished, makes new ones, and gives changed ones their
// operands, results and attributes. Values that stay keep their ids and names; new ones are named after what
// they replace. Nodes that did not change keep their position in the file unless an operand is defined later
// now.
void write_draft(const Draft& d, Model& m);

}  // namespace graphopt
