// What becomes of the operands of equal elementwise nodes when one node takes their place behind a Concat or
// in front of a Split (methods/rewrites.md, b2 and b3): shared by both.
#pragma once

#include <span>
#include <vector>

#include "hoist/moves/moves.h"

namespace graphopt {

struct Branch {
  DNode node;
  DValue operand;
  ShapeId from;  // the node's own shape
  ShapeId to;    // its share of the Concat's result, or the Split's piece
};

// Kept once (the same value or equal constants without extent on the axis), or constants joined along the
// axis. None, and `why`, when it is neither. `axis` counts in the shapes `to`. `parts`, if asked for: the
// constants to be joined, also where they cannot be (an extent is not known, too many elements).
DValue common_operand(Draft& d, std::span<const Branch> branches, std::size_t slot, std::uint32_t axis,
                      DNode before, Refusal& why, std::vector<DValue>* parts = nullptr);

// Constants that broadcast to `to`, one behind the other along a new axis in front of `axis`. None where one
// is too large.
DValue stacked_constants(Draft& d, std::span<const DValue> parts, ShapeId to, std::uint32_t axis);

// May all of these nodes be one that works on shape `to`? Operator, attributes, types, position (unless
// relaxed); distinct.
bool same_elementwise(const Draft& d, std::span<const DNode> nodes, ShapeId to, const MoveOptions& o,
                      Refusal& why);

// The operand of n, which does what `first` does, that pairs with operand `slot` of `first`: where the first
// two may be swapped bit for bit, they are where only so both pair with what is made in the same way, or by
// the same node.
DValue paired_operand(const Draft& d, DNode first, DNode n, std::size_t slot);

// Why a value that something outside of the graph's nodes reads has to stay.
Refusal held_because(const Draft& d, DValue v);
// Why a node that is not elementwise ends a walk.
Refusal not_elementwise(const Draft& d, DNode n);

}  // namespace graphopt
