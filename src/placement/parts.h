// The parts of a partition, as models of their own in a canonical form.
//
// Problem: equal inputs and options give equal files, whatever the order of nodes in the file, and two parts
// that compute the same should have the same form, so that one compiled engine serves both.
// Method: nodes are in the order that the partition gives them. Inputs and outputs of the model come first,
// in the model's order. The other inputs follow in the order in which a depth-first walk from the part's
// outputs meets them, the other outputs in that of the canonical rank of their producers.
#pragma once

#include <vector>

#include "ir/model.h"
#include "ir/part.h"
#include "partition/result.h"
#include "placement/placement.h"

namespace graphopt {

// Returns the parts, by subgraph. A single part has all inputs of the model, unread ones too, so that it is
// the whole model. Linear in the model, after sorting the borders.
std::vector<ModelPart> parts_of(const Model& m, const Placement& placement,
                                const partition::Partition& partition);

}  // namespace graphopt
