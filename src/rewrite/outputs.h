// Positions of values among the outputs of their graph.
#pragma once

#include <cstdint>

#include "ir/model.h"

namespace graphopt {

inline constexpr std::uint32_t kNoOutput = 0xFFFFFFFFu;
// Returns the position of the first output that is this value; kNoOutput when there is none.
std::uint32_t output_slot(const Model& m, ValueId v);

}  // namespace graphopt
