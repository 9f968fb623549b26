// Where two graphs begin and end alike: which inputs and outputs correspond.
//
// Method: those of main graphs correspond by name where names agree, then by type and dims, then by position
// where as many are left on both sides. Those of two bodies whose owners are a pair correspond by position
// where there are as many, and values of the graphs around them as they do there. Each pair of values gets
// one number, which value numbers and scores read; values that have no counterpart have numbers of their own.
#pragma once

#include <array>
#include <utility>
#include <vector>

#include "infer/infer.h"
#include "mapping/side.h"

namespace graphopt::mapping {

struct Ends {
  // By side and value: the number of an input or output; kNone for other values.
  std::array<std::vector<Index>, 2> input, output;
  // Pairs of values that correspond: of A and of B. Those of graphs around are among the inputs.
  std::vector<std::pair<Index, Index>> inputs, outputs;
};

Ends find_ends(const Side& a, const Inference& of_a, const Side& b, const Inference& of_b);

// The same of two bodies. `around`: by ValueId of A, the value of B that corresponds to it, if any.
Ends find_body_ends(const Side& a, const Inference& of_a, const Side& b, const Inference& of_b,
                    const std::vector<ValueId>& around);

}  // namespace graphopt::mapping
