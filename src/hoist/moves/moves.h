// The kinds of moves; docs/hoisting.md has a section on each. A move rewrites the draft, without clean-up,
// and returns whether it could be carried out. If it returns false, it has set `why` where there is a reason
// to report, and the caller undoes what it began (Draft::roll_back). No move reads the cost: the search
// decides what is kept (hoist/search.h).
#pragma once

#include "hoist/draft/draft.h"
#include "hoist/moves/refusal.h"
#include "hoist/moves/reshaping.h"

namespace graphopt {

// Along the data flow: Down is towards the consumers, Up towards the producers.
enum class Direction : std::uint8_t { Down, Up };

struct MoveOptions {
  bool relaxed = false;  // -O3: operators whose bits depend on an element's position may be moved, too
};

// `merge`: one elementwise graph downstream of the Concat replaces one upstream of each operand.
bool merge_concat(Draft& d, DNode concat, const MoveOptions& o, Refusal& why);
// `split`: one elementwise graph upstream of the Split replaces one downstream of each result.
bool merge_split(Draft& d, DNode split, const MoveOptions& o, Refusal& why);
// `common-concat`, `common-split`, `transpose`: one node of class `what`, Deformation or Transpose,
// downstream of the Concat or upstream of the Split replaces one on each branch.
bool common_concat(Draft& d, DNode concat, NodeClass what, Refusal& why);
bool common_split(Draft& d, DNode split, NodeClass what, Refusal& why);

// `tiles`: the Gathers of the indices 0 .. n-1 of one axis become one Split and a Squeeze each.
bool unbind(Draft& d, DNode gather, Refusal& why);

// `tiles`: Slices that take every k-th element of an axis. Those that one Concat joins become Reshape,
// Transpose, Reshape (join_strides); others a Reshape to [m, k], a Split and a Squeeze each, which are moved
// past the elementwise nodes downstream (split_strides).
bool is_slice(const Draft& d, DNode n);  // any Slice, also one whose class is Other (other bounds or steps)
bool join_strides(Draft& d, DNode concat, Refusal& why);
bool split_strides(Draft& d, DNode slice, const MoveOptions& o, Refusal& why);

// `through`: the deformation or Transpose `boundary` passes operators that work along axes, and elementwise
// nodes. Up: one of the same class upstream of it sinks until the two meet. Down: it sinks until it has no
// effect.
bool pass_through(Draft& d, DNode boundary, Direction direction, const MoveOptions& o, Refusal& why);
// `through`: boundaries of class `what` upstream of several operands of a Concat sink to it, then
// common_concat().
bool pass_to_concat(Draft& d, DNode concat, NodeClass what, const MoveOptions& o, Refusal& why);
// `blocks`: removes a DepthToSpace and the SpaceToDepth `lower` that undoes it, or the other way round, with
// elementwise nodes between them.
bool cancel_blocks(Draft& d, DNode lower, const MoveOptions& o, Refusal& why);

// The cluster of `member`, in topological order: elementwise nodes of one shape, connected by values of that
// shape, all in one region or all in none, all absorbed or none.
void cluster_of(const Draft& d, DNode member, std::vector<DNode>& out);

// `serial-backward`, `serial-forward`, `fork`, `transpose`: the cluster that consumes (Down) or feeds (Up)
// `boundary`, a deformation or Transpose, works on the shape of the boundary's other side.
bool rebase(Draft& d, DNode boundary, std::span<const DNode> cluster, Direction direction,
            const MoveOptions& o, Refusal& why);
// Returns false if rebase() cannot lower the cost. Reads only the nodes around the cluster, so it is much
// cheaper than the move.
bool rebase_may_pay(const Draft& d, DNode boundary, std::span<const DNode> cluster, Direction direction);

// Returns whether both are constants of the same type, dims and bits.
bool equal_constants(const Draft& d, DValue a, DValue b);

}  // namespace graphopt
