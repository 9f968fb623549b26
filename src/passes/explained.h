// What --explain asks for, and which refusals answer it.
#pragma once

#include <string>
#include <vector>

#include "graphopt/stages/clean_up.h"
#include "ir/model.h"
#include "rewrite/refusal_log.h"

namespace graphopt {

// Returns the names of the passes that are to give reasons.
std::vector<std::string> explained_passes(const CleanUpStage::Options& options);

// Returns the refusals that the options ask for, in the order of the log. `m` is the model after the passes:
// a node is also found by another result than its first one if it is still there.
std::vector<CleanUpStage::Refused> asked_refusals(const RefusalLog& log, const Model& m,
                                                  const CleanUpStage::Options& options);

// Returns a warning for each name of the options that no node and no result has, or had before the passes.
std::vector<std::string> explained_nowhere(const Model& m, const CleanUpStage::Options& options);

// Returns a warning for each pass that --passes or --explain names and that the options leave out. `ran`:
// names of passes.
std::vector<std::string> named_but_left_out(const CleanUpStage::Options& options,
                                            const std::vector<std::string>& ran);

}  // namespace graphopt
