// What the searches of one run of the passes share.
#pragma once

#include "hoist/draft_store.h"
#include "hoist/move_log.h"
#include "infer/infer.h"
#include "ir/model.h"
#include "rewrite/context.h"

namespace graphopt {

// The only PassMemory that a search meets (PassContext::memory).
struct SearchMemory final : PassMemory {
  SearchMemory(Model& model, const Inference& infer, MoveLog* log) : drafts(model, infer), moves(log) {}

  static SearchMemory* of(const PassContext& c) { return static_cast<SearchMemory*>(c.memory); }

  DraftStore drafts;
  MoveLog* moves;  // null: moves are not recorded
};

}  // namespace graphopt
