// What passes and rules read, and what they change.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "graphopt/error.h"
#include "infer/infer.h"
#include "ir/model.h"
#include "rewrite/journal.h"
#include "rewrite/refusal_log.h"
#include "rewrite/support_policy.h"
#include "rewrite/why.h"

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

// What a rule reads to decide whether it fits. The model is const here: the compiler holds that a match
// changes nothing. Questions about extents may intern new expressions in the pool of dims, which no graph
// shows.
struct MatchContext {
  const Model& model;
  const Inference& infer;
  const PassOptions& options;
  DimPool& dims;       // the model's
  Why* why = nullptr;  // none: nobody asks for reasons

  // Refuses node n, the root of the rule or a node of its pattern: notes the reason (a literal) where
  // somebody asks, and returns false. `matched`: how near the miss is, less than kRule for one of several
  // attempts.
  bool no(NodeId n, std::string_view reason, std::size_t matched = Why::kRule) const {
    if (why != nullptr) why->note({.node = n, .reason = reason, .matched = matched});
    return false;
  }
  // For looking at further nodes, whose misses are no reason to refuse this one.
  MatchContext without_reasons() const { return {model, infer, options, dims, nullptr}; }
};

// What --verify-each found wrong in the data that a pass keeps beside the model.
struct SelfCheck {
  std::optional<Error> broken;  // the first finding
};

// What passes of one kind keep between their runs. The pipeline makes it, and such a pass knows its type.
struct PassMemory {
  virtual ~PassMemory() = default;
};

struct PassContext {
  Model& model;
  Inference& infer;
  Journal& journal;
  const PassOptions& options;
  RefusalLog* refusals = nullptr;  // none: nobody asks for reasons
  PassMemory* memory = nullptr;    // of the searches; none: each builds its own drafts, and records no moves
  SelfCheck* check = nullptr;  // --verify-each: passes compare what they keep up to date with a fresh count
  SupportPolicy* support = nullptr;  // none: the run has no accelerators, or they do not matter

  MatchContext matching(Why* why = nullptr) const { return {model, infer, options, model.dims, why}; }
};

}  // namespace graphopt
