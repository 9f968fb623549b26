// Counts what is in a model, by the one rule that include/graphopt/report.h states.
#pragma once

#include <cstdint>
#include <vector>

#include "graphopt/report.h"
#include "ir/model.h"

namespace graphopt {

// Everything but `bytes`.
ModelFigures count_model(const Model& model);

// "Conv", "com.microsoft::Attention".
std::string operator_name(const Model& model, OpId op);

// How often the body of each function runs through per run of the main graph's nodes, calls by calls.
// Saturates: calls that double at each of 64 levels are a file of a few kilobytes.
std::vector<std::uint64_t> calls_per_function(const Model& model);

}  // namespace graphopt
