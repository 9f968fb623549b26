// Names for nodes, so that a manifest can say which it means.
#pragma once

#include "ir/model.h"

namespace graphopt {

// Gives every node outside of functions a name that no other node has, made from its operator and its first
// result where it had none, shared it, or had one that is not UTF-8. Names that are unique stay. Only nodes
// that are there count: a call of a region's function that a second run makes anew gets the name that it had.
// Constant nodes of bodies stay as they are: an initializer would do as well, and the writer, which makes
// such nodes before IR version 4, gives them no names. Two sweeps over the nodes.
void name_nodes(Model& m);

}  // namespace graphopt
