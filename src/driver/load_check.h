// Keeps a model one that a runtime loads: with what passes, bound numbers and written types make known.
#pragma once

#include <string_view>

#include "driver/run.h"
#include "graphopt/error.h"

namespace graphopt {

// Hides operands of nodes that need not run and that a runtime would refuse (rewrite/hide_types.h); sets
// `changed` where it did. Returns an error, which names the node, where a node of the main graph cannot work
// with numbers that were bound (`bound`, or by the options), or where a runtime certainly refuses one though
// the numbers are written on the inputs only. Inference is up to date, before and after.
Status keep_loading(const Options& options, Work& work, bool bound, bool& changed);

// The warning of a run that left a model alone (Work::left_alone).
inline constexpr std::string_view kLeftAlone =
    "a runtime would refuse a node if it knew more of its operands, and nothing can be hidden from it: "
    "no pass ran, and no inferred type is written";

// Decides what keep_loading looks at, and whether the model is left alone (Work::loads_folded, left_alone).
// It is if a runtime that knew what inference knows would refuse a node that need not run, and some operand
// there cannot be hidden from it: what passes make known could not be taken back; and if it may come to
// refuse one for numbers that inference does not know (infer/appearing_numbers.h), or an If for its branches
// (infer/merged_branches.h). Call it before passes, for a model that loads as it stands.
void plan_loading(Work& work);

// Returns false if a runtime certainly refuses the model as it stands, for a node that need not run: there is
// nothing to keep then. Call it before passes, for a model in which no numbers were bound.
bool loads_as_it_stands(Work& work);

}  // namespace graphopt
