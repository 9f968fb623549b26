// The one rewrite engine: peephole rules driven by a worklist.
//
// Every node that a rule may start from is offered once, in topological order; after a rewrite the nodes
// around it (the node, users of its results, definitions of its operands) are offered again. Matching only
// reads; applying cannot fail. Nodes that a rewrite leaves without uses are erased before the next match, so
// that "has one use" means one live use. A value can take the name of only one output: matches that hand an
// output's name to another value wait until no other match is left and are applied in the order of the
// outputs, so that the result does not depend on the order of the file. The engine terminates because every
// rule lowers a cost that its head comment names.
//
// Where the run has accelerators, a rewrite that they would lose nodes by is undone (support_policy.h).
//
// Where --explain names the pass, the engine asks rules why they refuse a node, and records the last answer
// of each rule at each node that is left.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "rewrite/context.h"

namespace graphopt {

// What Rule::roots() returns for operators that need no name of their own.
template <OpKind... Kinds> inline constexpr OpKind kRootKinds[] = {Kinds...};

class Rule {
 public:
  virtual ~Rule() = default;
  virtual std::string_view name() const = 0;
  // The operators from which the rule starts; empty: all.
  virtual std::span<const OpKind> roots() const = 0;
  // Returns true if apply() may be called for this root while nothing changes in between. Otherwise c.no says
  // why, or nothing is said: where the rule has nothing to do with the node. The root's operator is known at
  // its opset and, where it has one result, something reads that.
  virtual bool match(const MatchContext& c, NodeId root) = 0;
  // What nothing reads afterwards is erased by the engine: it is enough to take the results from a node.
  virtual void apply(PassContext& c, NodeId root) = 0;
  // Returns false if apply() counts something that undoing it in the model would leave wrong: what it does is
  // not tried, and devices are not asked about it.
  virtual bool may_be_undone() const { return true; }
  // Returns true if apply() gives the name of an output to another value. Called after a match.
  virtual bool hands_output_over(const Model&, NodeId) const { return false; }

  std::uint64_t applied = 0;
};

// Applies the rules until none matches or the journal's budget is used up. Returns the number of rewrites.
std::uint64_t apply_rules(PassContext& c, std::span<Rule* const> rules);

}  // namespace graphopt
