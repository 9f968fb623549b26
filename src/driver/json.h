// What stages need to put their reports, and lists of files, into JSON.
#pragma once

#include <span>

#include "graphopt/stages/lower.h"
#include "support/json_text.h"

namespace graphopt {

struct Report;

// Of all reports in JSON; grows when a field changes its meaning or is removed.
inline constexpr int kJsonFormat = 2;

// Returns the report of a run, in which each stage has what it says.
Json report_json(const Report& report);

Json lowered_json(std::span<const LowerStage::Lowered> lowered);

}  // namespace graphopt
