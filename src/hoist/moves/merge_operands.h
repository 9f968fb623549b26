// Operands of the one node that replaces equal elementwise nodes on all branches of a Concat or Split; used
// by merge_concat, merge_split and merge_pairs (docs/hoisting.md, "Operands").
#pragma once

#include <span>
#include <vector>

#include "hoist/moves/moves.h"

namespace graphopt {

// One operand of one of the nodes.
struct Branch {
  DNode node;
  DValue operand;
  ShapeId from;  // shape of the node's result
  ShapeId to;    // shape of the Concat's operand, or of the Split's result, on this branch
};

// Returns the operand of the merged node at `slot`: the branches' value, if it is one (or equal constants)
// and has extent 1 along `axis`; else their constants joined along `axis`, which counts in the shapes `to`.
// Returns none, and sets `why`, if neither is possible. If `parts` is given, it receives the branches' mapped
// constants that have to be joined, also when joining fails (unknown extent, too many elements).
DValue common_operand(Draft& d, std::span<const Branch> branches, std::size_t slot, std::uint32_t axis,
                      DNode before, MoveRefusal& why, std::vector<DValue>* parts = nullptr);

// Returns the constants, each of which broadcasts to `to`, stacked along a new axis before `axis`; none if
// the result has too many elements.
DValue stacked_constants(Draft& d, std::span<const DValue> parts, ShapeId to, std::uint32_t axis);

// Returns whether one node that works on shape `to` can replace all of these: distinct elementwise nodes with
// equal operator, attributes and types, whose bits do not depend on the position (as far as the options ask
// for that). Sets `why` if not.
bool same_elementwise(const Draft& d, std::span<const DNode> nodes, ShapeId to, const MoveOptions& o,
                      MoveRefusal& why);

// Returns the operand of n that pairs with operand `slot` of `first`; the two nodes have the same operator.
// Where the operator's first two operands can be swapped bit for bit, they are swapped if only then both pair
// with values of the same operator, or of the same node.
DValue paired_operand(const Draft& d, DNode first, DNode n, std::size_t slot);

// Returns whether both are constants of the same type, dims and bits.
bool equal_constants(const Draft& d, DValue a, DValue b);

// Returns why a value is live-out: Captured or GraphOutput.
MoveRefusal live_out_reason(const Draft& d, DValue v);
// Returns why a node that is not elementwise ends a walk: Barrier or Operand.
MoveRefusal not_elementwise_reason(const Draft& d, DNode n);

}  // namespace graphopt
