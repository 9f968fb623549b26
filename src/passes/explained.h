// What --explain asks for, and which refusals answer it.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "graphopt/stages/clean_up.h"
#include "ir/made_names.h"
#include "ir/model.h"
#include "rewrite/refusal_log.h"

namespace graphopt {

// The stage that can be asked for like a pass; its rewrites have this name in reports of --bisect, too.
inline constexpr std::string_view kLowerPass = "lower";

// Returns PASS of an item of Options::explain, which is "PASS" or "PASS:NODE".
std::string explained_pass(std::string_view item);

// Which nodes the options ask about.
class ExplainWishes {
 public:
  // `m` is the model after the passes: a node is also found by another result than its first one if it is
  // still there.
  ExplainWishes(const CleanUpStage::Options& options, const Model& m);
  // Returns whether the options ask why this pass refused something at this place.
  bool about(const RefusedCandidate& r) const;
  // Returns NODE of each "all:NODE", in their order.
  std::vector<std::string> nodes() const;

 private:
  // One item of Options::explain.
  struct Wish {
    std::string pass;             // "all": every pass
    std::string node;             // empty: all nodes
    std::set<std::string> names;  // of the node: its own, and that of its first result
  };
  std::vector<Wish> wishes_;
};

// Returns the names of the passes that are to give reasons.
std::vector<std::string> explained_passes(const CleanUpStage::Options& options);

// Returns the refusals that the options ask for, in the order of the log. `m` is the model after the passes,
// in which nodes that they made have names, and `renamed` says which values got others since then.
std::vector<CleanUpStage::Refused> asked_refusals(const RefusalLog& log, const Model& m,
                                                  const RenamedValues& renamed,
                                                  const CleanUpStage::Options& options);

// Returns a warning for each name of the options that no node and no result has, or had before the passes.
std::vector<std::string> explained_nowhere(const Model& m, const CleanUpStage::Options& options);

// Returns a warning for each pass that --passes or --explain names and that the options leave out. `ran`:
// names of passes.
std::vector<std::string> named_but_left_out(const CleanUpStage::Options& options,
                                            const std::vector<std::string>& ran);

}  // namespace graphopt
