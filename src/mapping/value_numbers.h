// Value numbers from both ends: operators with equal upstream cones have one number, and those with equal
// downstream cones have another one.
//
// Method: one sweep in canonical order, one against it. The forward number of an operator is a label of what
// it is, its attributes and the numbers of what it reads; the backward one of what it is, its constants, and
// the sorted numbers of its uses with their slots. Transparent operators are looked through. Where all is
// equal but names and order, the two numbers together find every counterpart that there is one of.
#pragma once

#include <array>
#include <vector>

#include "mapping/ends.h"
#include "mapping/labels.h"
#include "mapping/view.h"

namespace graphopt::mapping {

struct ValueNumbers {
  std::array<std::vector<Index>, 2> forward, backward, both;  // by side and operator
};

// `weights`: constants are what they hold, else their dims alone.
ValueNumbers number_values(const Matching& m, const View& view, const Ends& ends, bool weights,
                           Labels& labels);

// Returns the label of a constant, as far as it is looked at.
inline Index constant_label(const Constant& c, bool weights) { return weights ? c.content : c.shape; }

}  // namespace graphopt::mapping
