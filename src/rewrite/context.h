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

// What a run may do to the bits of results, the strictest first. -O and --exact give one value, which every
// pass asks.
enum class Strictness : std::uint8_t {
  Plain,     // -O1, with --exact or without: keeps every bit, and makes no deformation that was not there
  Exact,     // --exact at -O2 and -O3: keeps every bit
  Rounding,  // -O2: a rewrite may round otherwise than the original
  Assuming,  // -O3: rounds more, and assumes that no index is out of range
};
constexpr bool keeps_bits(Strictness s) { return s <= Strictness::Exact; }
constexpr Strictness strictness_of(int level, bool exact) {
  if (level < 2) return Strictness::Plain;
  if (exact) return Strictness::Exact;
  return level == 2 ? Strictness::Rounding : Strictness::Assuming;
}

struct PassOptions {
  std::uint64_t fold_limit = 0;  // bytes that one folded constant may add to the file
  Strictness strictness = Strictness::Rounding;
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
