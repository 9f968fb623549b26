// Where two graphs begin and end alike: which inputs and outputs correspond.
//
// Method: by name where names agree, then by type and dims, then by position where as many are left on both
// sides. Each pair of values gets one number, which value numbers and scores read; values that have no
// counterpart have numbers of their own.
#pragma once

#include <array>
#include <vector>

#include "infer/infer.h"
#include "mapping/side.h"

namespace graphopt::mapping {

struct Ends {
  // By side and value: the number of a graph input or output; kNone for other values.
  std::array<std::vector<Index>, 2> input, output;
  // Pairs of values that correspond: of A and of B.
  std::vector<std::pair<Index, Index>> inputs, outputs;
};

Ends find_ends(const Side& a, const Inference& of_a, const Side& b, const Inference& of_b);

}  // namespace graphopt::mapping
