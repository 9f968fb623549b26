// The moves of methods/rewrites.md, part b. Each carries itself out in the draft, without clean-up, and says
// whether it could; what it began and did not finish is undone by the caller (Draft::roll_back). None of them
// looks at the cost.
#pragma once

#include "hoist/draft/draft.h"
#include "hoist/moves/reshaping.h"

namespace graphopt {

enum class Direction : std::uint8_t { Down, Up };

struct MoveOptions {
  bool relaxed = false;  // -O3: positions may change for operators whose bits depend on them
};

// b2: one elementwise graph behind the Concat instead of one in front of each operand.
bool merge_concat(Draft& d, DNode concat, const MoveOptions& o, Refusal& why);
// b3: one elementwise node, or small graph, in front of the Split instead of one behind each result.
bool merge_split(Draft& d, DNode split, const MoveOptions& o, Refusal& why);
// b4: one deformation (or transposition) behind the Concat, in front of the Split, instead of one on each
// branch.
bool common_concat(Draft& d, DNode concat, NodeClass what, Refusal& why);
bool common_split(Draft& d, DNode split, NodeClass what, Refusal& why);

// Part f, 6: scalar Gathers 0 .. n-1 of one axis become a Split and a Squeeze each.
bool unbind(Draft& d, DNode gather, Refusal& why);

// Part f, 4: Slices that take every k-th element of an axis. Joined by one Concat they become Reshape,
// Transpose, Reshape; else a Split of [m, k] and Squeezes, past which the elementwise nodes behind them are
// taken.
bool is_slice(const Draft& d, DNode n);  // also one that is not the Part, as its bounds or steps are others
bool join_strides(Draft& d, DNode concat, Refusal& why);
bool split_strides(Draft& d, DNode slice, const MoveOptions& o, Refusal& why);

// Part f, 11, 12, 14: the deformation or transposition `border` and one above it meet (Up), or it goes down
// to where it vanishes (Down), past operators that work along axes and elementwise nodes.
bool pass_through(Draft& d, DNode border, Direction direction, const MoveOptions& o, Refusal& why);
// The same from borders above several operands of a Concat, and then b4.
bool pass_to_concat(Draft& d, DNode concat, NodeClass what, const MoveOptions& o, Refusal& why);
// A DepthToSpace and the SpaceToDepth that undoes it, or the other way round, with elementwise nodes between:
// both go.
bool cancel_blocks(Draft& d, DNode lower, const MoveOptions& o, Refusal& why);

// The cluster of `member`: elementwise nodes of one shape, connected by values of that shape, in one region
// or none, all absorbed or none; in topological order.
void cluster_of(const Draft& d, DNode member, std::vector<DNode>& out);

// b5: the cluster of elementwise nodes that consumes (Down) or feeds (Up) `border`, a deformation or
// transposition, works on the shape beyond it.
bool rebase(Draft& d, DNode border, std::span<const DNode> cluster, Direction direction, const MoveOptions& o,
            Refusal& why);
// Could the cost fall by that? A look at the borders, much cheaper than the move. No: it stays or rises.
bool rebase_may_pay(const Draft& d, DNode border, std::span<const DNode> cluster, Direction direction);

// Two constants with the same type, dims and bits.
bool equal_constants(const Draft& d, DValue a, DValue b);

}  // namespace graphopt
