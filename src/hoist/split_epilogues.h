// What aggregate-elementwise would leave behind if a Split made values that several nodes make now.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "infer/infer.h"
#include "ir/model.h"

namespace graphopt {

// Returns how many nodes of the epilogues (rewrite/cost.h) of these values would stay downstream of a Split
// that makes them, with parts of `extent` elements in all along its axis: the search moves upstream of the
// Split what is equal on all branches (moves/merge_split.cpp), and each other node becomes a launch.
// Precondition: nodes make the values, at least one.
std::size_t left_behind_split(const Model& m, const Inference& infer, std::vector<ValueId> values,
                              std::int64_t extent);

}  // namespace graphopt
