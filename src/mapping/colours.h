// Colours: what an operator's neighbourhood of a few steps looks like.
//
// Method: Weisfeiler and Leman's refinement, bounded. The first colour is family, dims of the results and of
// constants; each round adds the colours of what is read, slot by slot, and of the readers. Operators that
// have a counterpart are individuals, so that each pair makes the colours around it finer.
// Source: Weisfeiler and Leman, "A reduction of a graph to a canonical form", 1968.
#pragma once

#include <array>
#include <vector>

#include "mapping/ends.h"
#include "mapping/labels.h"
#include "mapping/view.h"

namespace graphopt::mapping {

using Colours = std::array<std::vector<Index>, 2>;  // by side and operator

// `shapes`: dims count, else they do not: one side lacks them.
Colours colours_of(const Matching& m, const View& view, const Ends& ends, bool shapes, unsigned radius,
                   Labels& labels);

// Returns whether dims are known on both sides, or open on both alike.
bool have_shapes(const Side& a, const Side& b);

}  // namespace graphopt::mapping
