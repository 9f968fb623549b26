// Which of several equal nodes gives the first output of their graph.
#pragma once

#include <cstdint>

#include "ir/model.h"

namespace graphopt {

inline constexpr std::uint32_t kNoOutput = 0xFFFFFFFFu;
// The first output of its graph that a value is.
std::uint32_t output_slot(const Model& m, ValueId v);

// Is there no node equal to n whose first result is an earlier output? Where one of them only can hand its name over (to the operand that
// they all return), it is that of the first output, whatever the order of the file. True for what is no output.
bool gives_first_output(const Model& m, NodeId n);

}  // namespace graphopt
