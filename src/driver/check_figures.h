// What a comparison of two models found, in the form of a report.
#pragma once

#include "graphopt/stages/check.h"
#include "runtime/check.h"

namespace graphopt {

CheckStage::Report check_figures(const CheckReport& check);

}  // namespace graphopt
