// Short names for what nobody refers to from outside: inner values and nodes.
//
// Method: graphs are walked in the order of the file, bodies where their nodes stand, and names are numbered
// on the way, without those that stay: of inputs and outputs of any graph, of values that annotations,
// training information or sharding name, and those of function parameters. So a second run gives the same
// names. No two values of the model get one name, so none hides another one in a body.
#pragma once

#include "ir/model.h"

namespace graphopt {

// Names values v0, v1, ... and nodes that have names n0, n1, ... What the file states about the types of the
// renamed values goes, but for results of operators that are not known here: nothing else tells their types.
// `keep_types`: it stays.
void shorten_names(Model& m, bool keep_types = false);

// Returns whether shorten_names() renames the value and drops what the file states of it, unless that stays.
bool loses_stated_type(const Model& m, ValueId v);

}  // namespace graphopt
