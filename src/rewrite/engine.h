// The one rewrite engine: peephole rules driven by a worklist.
//
// Every node that a rule may start from is offered once, in topological order; after a rewrite the nodes
// whose surroundings changed (the node, users of its results, definitions of its operands) are offered again.
// Matching only reads; applying cannot fail. What a rewrite leaves without use is swept before the next
// match, so that "has one use" means one live use. A value can take over one name of an output: matches that
// hand one over wait until nothing else is left, and come in the order of the outputs, so that the order of
// the file decides nothing. Ends because every rule lowers a cost that its head comment names.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "rewrite/context.h"

namespace graphopt {

class Rule {
 public:
  virtual ~Rule() = default;
  virtual std::string_view name() const = 0;
  // The operators that the rule starts from; empty: all.
  virtual std::span<const OpKind> roots() const = 0;
  // Reads only. True: apply() may be called for this root, and nothing has changed until then.
  virtual bool match(const PassContext& c, NodeId root) = 0;
  virtual void apply(PassContext& c, NodeId root) = 0;
  // Does apply() give the name of an output to another value? Asked after a match.
  virtual bool hands_output_over(const Model&, NodeId) const { return false; }

  std::uint64_t applied = 0;
};

// Applies the rules until none matches or the journal's budget is used up. Returns how many rewrites were
// made.
std::uint64_t apply_rules(PassContext& c, std::span<Rule* const> rules);

}  // namespace graphopt
