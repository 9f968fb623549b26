// Brings what a draft has kept to the model.
#pragma once

#include "hoist/draft/draft.h"

namespace graphopt {

// Through the model's mutators: nodes that vanished are erased, new ones made, changed ones get their
// operands, results and attributes. Values that stay keep their ids and names; new ones get names made from
// what they replace. Nodes that did not change stay where they are in the file unless an operand is made
// later now.
void write_draft(const Draft& d, Model& m);

}  // namespace graphopt
