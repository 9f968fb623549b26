// Places of values among the outputs of their graph.
#pragma once

#include <cstdint>

#include "ir/model.h"

namespace graphopt {

inline constexpr std::uint32_t kNoOutput = 0xFFFFFFFFu;
// The first output of its graph that a value is; none for no value, too.
std::uint32_t output_slot(const Model& m, ValueId v);

}  // namespace graphopt
