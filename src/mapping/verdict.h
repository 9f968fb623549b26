// Whether two mapped graphs are one model.
//
// Problem: any two networks have operators that can be paired somehow, and what is left between their inputs
// and outputs makes a group. Method: two kinds of evidence. Weights: the share of the constants of the
// smaller graph, by their bytes, that the other one has, too; or of the numbers in them (weight_sketch.h),
// where they were cut or transposed. Structure: the share of the operators of the smaller graph in pairs
// whose results and weights have as many elements. With either, enough of both graphs must be mapped, or of
// one where they share most weights. A group counts as far as one side explains the other: an operator
// becomes a few dozen at most, and where both sides are large it says nothing.
#pragma once

#include <array>

#include "mapping/map_graphs.h"

namespace graphopt::mapping {

struct Verdict {
  bool is_one_model = false;
  std::array<double, 2> mapped{};  // shares of the operators of both sides
};

// `weights`: contents of constants count.
Verdict judge_mapping(const Mapping& mapping, bool weights);

}  // namespace graphopt::mapping
