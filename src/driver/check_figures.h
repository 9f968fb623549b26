// A comparison of two models: what the user asks for, as the runtime takes it, and what was found, as a
// report has it.
#pragma once

#include "graphopt/stages/check.h"
#include "runtime/check.h"

namespace graphopt {

// `given`: the values of the files that the options name. At least one seed, also where --bisect alone is
// asked for.
CheckOptions check_options(const CheckStage::Options& options, const GivenInputs& given);

CheckStage::Report check_figures(const CheckReport& check);

}  // namespace graphopt
