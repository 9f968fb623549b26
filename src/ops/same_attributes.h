// Compares the attributes of two nodes of one operator, with defaults in place of absent ones.
#pragma once

#include "ir/model.h"
#include "ops/facts.h"

namespace graphopt {

// Compares bit by bit. Attributes that hold graphs are never equal. Precondition: both nodes have the same
// operator and opset.
bool same_attributes(const Model& m, NodeId a, NodeId b);

// Returns true if `a` equals the default of the attribute. `fact` may be null: then the default is unknown.
bool is_default_attribute(const AttrFact* fact, const Attr& a);

}  // namespace graphopt
