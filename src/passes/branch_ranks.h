// Ranks of values whose rank inference does not know, since branches of an If give different ones.
#pragma once

#include <cstdint>

#include "rewrite/context.h"

namespace graphopt {

// A set of ranks: bit r stands for rank r. Tensors of more dims are in no set but kAnyRank.
using Ranks = std::uint64_t;
inline constexpr Ranks kAnyRank = ~Ranks{0};

// Returns ranks of which v has one in every run that computes it. Passes through If, Unsqueeze, Squeeze and
// elementwise operators of one operand, to a depth of a few nodes.
Ranks possible_ranks(const MatchContext& c, ValueId v);

// Returns ranks of which v has one in every run that the model accepts and that computes v: a node of v's
// graph, on which an output depends, fails for the others. Passes through the same operators but If.
Ranks required_ranks(const MatchContext& c, ValueId v);

}  // namespace graphopt
