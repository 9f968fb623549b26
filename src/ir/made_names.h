// Names for the nodes and values that passes made, from the final graph and the names of the file.
//
// Problem: a pass names what it makes after what is there at that moment. So names grow by each rewrite
// (x_moved_moved_axes_2), and their numbers depend on the order of the rewrites, of the nodes in the file,
// and on what was tried and undone. Method: when the passes are done, each made node and value gets its name
// anew, as a function of the graph:
//
//   a node whose first result has a name of the file     that name and the operator (node_names.h)
//   another node                                         its label and the operator
//   a result of a made node                              the node's name, "_output_", its position
//   a result of a node that has a name of the file       that name and "_moved": it is another value now
//   an initializer                                       its label and what it is: "shape", "bias",
//   "constant" a copy of something with a name of the file          that name, with a number
//
// The label of a value is the name of the nearest value downstream that the file names: of all readers the
// first one by the name, then the distance. Equal names get numbers, in the order of labels, distances, and a
// hash of the path to the label (operators, slots); two values that these do not distinguish keep the order
// of their ids. So a name depends neither on the order of the file nor on the history, and is no longer than
// a label and an operator. No value gets the name of one that is still there. Inputs, outputs of the main
// graph and of functions, and values that are named from outside keep their names. Nodes of the file without
// a name stay without. Linear in the nodes, the values and the uses of made values, but for a sort of what
// was made; a second call changes nothing.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>

#include "ir/model.h"

namespace graphopt {

// The names that values had and have, where they differ.
using RenamedValues = std::unordered_map<std::string, std::string>;

// Names the nodes with ids from `file_nodes` on that have none, and what has a name with an id from
// `file_names` on (StringPool::size() when the file had been read). `renamed`: null where nobody asks.
void name_made(Model& m, std::size_t file_names, std::size_t file_nodes, RenamedValues* renamed = nullptr);

}  // namespace graphopt
