// What the stage lower does to one model: the whole one, or that of a bucket.
#pragma once

#include <functional>

#include "driver/run.h"
#include "graphopt/error.h"
#include "graphopt/options.h"
#include "passes/explained.h"

namespace graphopt {

// Returns whether the options ask for lowered models.
bool lowers(const Options& options);

// Lowers the model for work.devices, and lets the passes clean up what that wrote, until nothing is left to
// lower. Rewrites count in work.pipeline. Without accelerators, or where the model is left alone, nothing
// happens. `should_stop` as in CleanUpHooks; work.pipeline.stopped says that it did.
Status lower_model(const Options& options, Work& work, const std::function<bool()>& should_stop, bool bound,
                   LowerStage::Report& report);

// Returns why nodes that no accelerator supports were not lowered, as far as --explain asks for it. Looks at
// a clone of the model, so that the result is the same without --explain.
std::vector<CleanUpStage::Refused> explain_lowering(const Options& options, const Work& work);

}  // namespace graphopt
