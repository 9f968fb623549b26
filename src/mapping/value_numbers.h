// Value numbers from both ends: operators with equal upstream cones have one number, and those with equal
// downstream cones have another one.
//
// Method: one sweep in canonical order, one against it. The forward number of an operator is a label of what
// it is, its attributes and the numbers of what it reads; the backward one of what it is, its constants, and
// the sorted numbers of its uses with their slots. Transparent operators are looked through. Where all is
// equal but names and order, the two numbers together find every counterpart that there is one of.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "mapping/ends.h"
#include "mapping/labels.h"
#include "mapping/view.h"

namespace graphopt::mapping {

struct ValueNumbers {
  std::array<std::vector<Index>, 2> forward, backward, both;  // by side and operator
};

// What a constant is known by.
enum class Contents : std::uint8_t {
  Ignored,  // its dims
  Shared,   // what it holds, where both graphs have such a constant; else its dims
  All,      // what it holds
};

ValueNumbers number_values(const Matching& m, const View& view, const Ends& ends, Contents contents,
                           Labels& labels);

}  // namespace graphopt::mapping
