// Are the attributes of two nodes of one operator the same, an absent one standing for its default?
#pragma once

#include "ir/model.h"
#include "ops/facts.h"

namespace graphopt {

// Bit by bit. Attributes that hold graphs are never the same. Precondition: both nodes have the same operator
// and opset.
bool same_attributes(const Model& m, NodeId a, NodeId b);

// Is `a` what holds where the attribute is absent? `fact` may be null: then nothing is known.
bool is_default_attribute(const AttrFact* fact, const Attr& a);

}  // namespace graphopt
