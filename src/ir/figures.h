// Counts the contents of a model, by the one rule in include/graphopt/report.h.
#pragma once

#include <cstdint>
#include <vector>

#include "graphopt/report.h"
#include "ir/model.h"
#include "ir/type_text.h"

namespace graphopt {

// Fills all fields but `bytes`.
ModelFigures count_model(const Model& model);

// Returns how often each function's body runs per run of the main graph's nodes. Saturates: calls that double
// at each of 64 levels fit in a file of a few kilobytes.
std::vector<std::uint64_t> calls_per_function(const Model& model);

}  // namespace graphopt
