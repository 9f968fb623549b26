// Keeps a model one that a runtime loads: with what passes, bound numbers and written types make known.
#pragma once

#include <string_view>

#include "driver/run.h"
#include "graphopt/error.h"

namespace graphopt {

// Hides operands of nodes in bodies that a runtime would refuse (rewrite/hide_types.h); sets `changed` where
// it did. Returns an error, which names the node, where a node of the main graph cannot work with numbers
// that were bound (`bound`, or by the options), or one that a runtime would refuse cannot be kept from it.
// Inference is up to date, before and after.
Status keep_loading(const Options& options, Work& work, bool bound, bool& changed);

// The warning of a run that left a model alone (Work::left_alone).
inline constexpr std::string_view kLeftAlone =
    "a body holds a node that cannot run, and its types cannot be hidden from a runtime: no pass ran, and no "
    "inferred type is written";

// Returns false if a body holds a node that a runtime would refuse if it knew what inference knows, and some
// operand there cannot be hidden from it: what passes make known could not be taken back. Call it before
// passes.
bool can_keep_loading(Work& work);

// Returns false if a runtime certainly refuses the model as it stands, for a node in a body: there is nothing
// to keep then. Call it before passes, for a model in which no numbers were bound.
bool loads_as_it_stands(Work& work);

}  // namespace graphopt
