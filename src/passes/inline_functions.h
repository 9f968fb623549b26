// Functions of the model in place of their calls.
#pragma once

#include <string_view>

#include "ir/model.h"
#include "passes/pass.h"

namespace graphopt {

// Replaces each call that can be replaced, whether that helps or not: for analyses that look into no
// function. It is not in the list of passes; hand it to the pipeline (AddedPass).
extern const PassInfo inline_every_function;

// Returns why a call cannot be replaced by the body of its function; empty where it can. The call is in no
// function.
std::string_view why_not_inlined(const Model& m, NodeId call);
// Replaces a call that can be replaced. Its function stays, called or not.
void inline_call(Model& m, NodeId call);
// Erases the function if nothing calls it, and what was called by it alone.
void erase_if_uncalled(Model& m, FunctionId f);

}  // namespace graphopt
