// The state that passes and rules read and change.
#pragma once

#include <cstdint>
#include <optional>

#include "graphopt/error.h"
#include "infer/infer.h"
#include "ir/model.h"
#include "rewrite/journal.h"
#include "rewrite/move_log.h"

namespace graphopt {

struct PassOptions {
  std::uint64_t fold_limit = 0;  // bytes that one folded constant may add to the file
  bool exact = false;            // bit-exact rewrites only
  int level = 2;                 // of -O
};

// What --verify-each found wrong in the data that a pass keeps beside the model.
struct SelfCheck {
  std::optional<Error> broken;  // the first finding
};

class DraftStore;  // hoist/draft_store.h

struct PassContext {
  Model& model;
  Inference& infer;
  Journal& journal;
  const PassOptions& options;
  MoveLog* moves = nullptr;      // none: moves are not recorded
  DraftStore* drafts = nullptr;  // passed from one search to the next; none: each search builds its own
  SelfCheck* check = nullptr;    // --verify-each: passes compare what they keep up to date with a fresh count
};

}  // namespace graphopt
