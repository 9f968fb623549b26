// Functions of the model in place of their calls.
#pragma once

#include "passes/pass.h"

namespace graphopt {

// Replaces each call that can be replaced, whether that helps or not: for analyses that look into no
// function. It is not in the list of passes; hand it to the pipeline (AddedPass).
extern const PassInfo inline_every_function;

}  // namespace graphopt
