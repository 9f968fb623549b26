// Lowering: nodes that no accelerator supports are written in operators that one does.
//
// Problem: a device refuses LayerNormalization and takes each of the nine operators of which it is made. The
// model then falls into two more subgraphs at every layer, and part of its work stays on the host.
// Method: each node of the main graph that no accelerator supports is offered to the expansions of its
// operator (expansion.h), for one device after the other, in a trial of the model. What an expansion writes
// and the device refuses is expanded in turn. A combination of which the device supports every node in the
// end is kept, the first that is found; anything else is undone. So no node that an accelerator supports
// goes, and each node that is lowered puts more of the model on accelerators. Ends: each node is looked at
// once, with at most kMostTries combinations of kMostExpansions steps each.
//
//   device: takes Mul and HardSigmoid
//   y = HardSwish (x)    =>    h = HardSigmoid <alpha = 1/6, beta = 0.5> (x)    y = Mul (x, h)
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "devices/profile.h"
#include "infer/infer.h"
#include "ir/model.h"
#include "rewrite/context.h"

namespace graphopt {

inline constexpr std::int64_t kFirstLoweredIrVersion = 4;  // before it, nothing is lowered

struct LoweredNode {
  NodeId node;               // that was there; it is gone, or stays with other operands
  OpId op;                   // its operator
  std::size_t device = 0;    // into the profiles
  std::string_view first;    // name of the expansion that it began with
  std::vector<NodeId> made;  // what stands in its place now
};

struct LoweringInput {
  std::span<const Profile> devices;  // in the order of their priority
  // Nodes that stay as they are: a lowering of theirs did not pay.
  const std::unordered_set<NodeId>* kept = nullptr;
  std::function<bool()> should_stop = {};
};

// Lowers nodes of the main graph. Inference is up to date before and after. The context's strictness decides
// about expansions that round, its journal about each lowering; its `support` is not asked.
std::vector<LoweredNode> lower(PassContext& c, const LoweringInput& input);

}  // namespace graphopt
