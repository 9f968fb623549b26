// Names for nodes, so that a manifest can say which it means.
#pragma once

#include "ir/model.h"

namespace graphopt {

// Gives every node outside of functions a name that no other node has, made from its operator and its first
// result where it had none, shared it, or had one that is not UTF-8. Names that are unique stay. Two sweeps
// over the nodes.
void name_nodes(Model& m);

}  // namespace graphopt
