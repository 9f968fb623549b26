// The passes that the options choose, on one model: the whole one in the stage clean-up, each bucket's in
// specialize, and those that --bisect makes anew.
#pragma once

#include <functional>
#include <string_view>

#include "driver/run.h"
#include "folding/runtime_folding.h"
#include "graphopt/error.h"
#include "graphopt/options.h"
#include "hoist/move_log.h"
#include "rewrite/refusal_log.h"

namespace graphopt {

struct CleanUpHooks {
  std::function<bool()> should_stop = {};  // as in PipelineOptions; asked by the thread that calls clean_up()
  RefusalLog* refusals = nullptr;
  MoveLog* moves = nullptr;
  bool bound = false;  // symbols were bound otherwise than by the options, too
  std::function<void(std::string_view pass, const Model&, bool changed)> after_pass;
  std::function<void(const RuntimeFolding&)> folded = {};  // what --fold ort did, when it was asked for
};

// Runs the passes to their fixed point; inference must have run. work.pipeline says how they ended, also when
// should_stop ended them.
Status clean_up(const Options& options, Work& work, const CleanUpHooks& hooks);

}  // namespace graphopt
