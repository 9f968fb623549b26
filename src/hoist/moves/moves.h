// The kinds of moves, by the file that holds them; docs/hoisting.md has a section on each. A move rewrites
// the draft and returns whether it could be carried out. If it returns false, it has set `why` where there is
// a reason to report, and the caller undoes what it began (Draft::roll_back). Then the search canonicalizes
// the draft (moves/canonicalize.h). No move reads the cost: the search decides what is kept (hoist/search.h).
#pragma once

#include "draft/draft.h"
#include "hoist/moves/refusal.h"
#include "hoist/moves/reshaping.h"
#include "rewrite/context.h"

namespace graphopt {

struct MoveOptions {
  Strictness strictness = Strictness::Exact;
  // Of merges past Concat and Split, which save a launch: they keep every bit at -O2. Transposes, which copy
  // the whole tensor, may cost a rounding there.
  Strictness merging() const { return strictness == Strictness::Rounding ? Strictness::Exact : strictness; }
};

// Which neighbour of a deformation or Transpose takes part in a move: Down, what reads it; Up, what feeds it.
enum class Direction : std::uint8_t { Down, Up };

// The dims of a value as they are now; the draft's own move when a shape is added.
inline std::vector<DimId> copy_of(std::span<const DimId> dims) { return {dims.begin(), dims.end()}; }

// --- merge_concat.cpp --------------------------------------------------------------------------------------
// `merge`: one elementwise graph downstream of the Concat replaces one upstream of each operand.
bool merge_concat(Draft& d, DNode concat, const MoveOptions& o, MoveRefusal& why);

// --- merge_split.cpp ---------------------------------------------------------------------------------------
// `split`: one elementwise graph upstream of the Split replaces one downstream of each result.
bool merge_split(Draft& d, DNode split, const MoveOptions& o, MoveRefusal& why);

// --- merge_pairs.cpp ---------------------------------------------------------------------------------------
// `pairs`: one elementwise graph upstream of Splits replaces one that reads the parts of this Split and of
// others with equal parts.
bool merge_pairs(Draft& d, DNode split, const MoveOptions& o, MoveRefusal& why);

// --- common_deformation.cpp --------------------------------------------------------------------------------
// `common-concat`, `common-split`, `transpose`: one node of class `what`, Deformation or Transpose,
// downstream of the Concat or upstream of the Split replaces one on each branch.
bool common_concat(Draft& d, DNode concat, NodeClass what, MoveRefusal& why);
bool common_split(Draft& d, DNode split, NodeClass what, MoveRefusal& why);

// --- unbind.cpp --------------------------------------------------------------------------------------------
// `tiles`: the Gathers of the indices 0 .. n-1 of one axis become one Split and a Squeeze each.
bool unbind(Draft& d, DNode gather, MoveRefusal& why);

// --- strided_slices.cpp ------------------------------------------------------------------------------------
// `tiles`: Slices that take every k-th element of an axis. Those that one Concat joins become Reshape,
// Transpose, Reshape (join_strides); others a Reshape to [m, k], a Split and a Squeeze each, which are moved
// past the elementwise nodes downstream (split_strides).
bool is_slice(const Draft& d, DNode n);  // any Slice, also one whose class is Other (other bounds or steps)
bool join_strides(Draft& d, DNode concat, MoveRefusal& why);
bool split_strides(Draft& d, DNode slice, const MoveOptions& o, MoveRefusal& why);

// --- rebase.cpp --------------------------------------------------------------------------------------------
// Sets `out` to the cluster of `member`, in topological order: the largest set of elementwise nodes that
// holds it and is of one shape, connected by values of that shape, all in one region or all in none, all
// absorbed or none.
void cluster_of(const Draft& d, DNode member, std::vector<DNode>& out);
// `serial-backward`, `serial-forward`, `transpose`: the cluster that consumes (Down) or feeds (Up)
// `boundary`, a deformation or Transpose, works on the shape of the boundary's other side.
bool rebase(Draft& d, DNode boundary, std::span<const DNode> cluster, Direction direction,
            const MoveOptions& o, MoveRefusal& why);
// Returns false only if rebase() cannot lower the cost: it would add at least as many deformations as it
// removes at most, and would bring no elementwise node that is in no region next to a region. Returns true
// for every Transpose, and where the neighbours do not tell. Reads only the nodes around the cluster, so it
// is much cheaper than the move.
bool rebase_may_pay(const Draft& d, DNode boundary, std::span<const DNode> cluster, Direction direction);

// --- paired_rebase.cpp -------------------------------------------------------------------------------------
// `fork`: the clusters of all consumers of one deformation move upstream of it at once.
// Returns the consumers, each once. Returns none if they are fewer than two or not all of them are
// elementwise nodes that read the deformation in full; also, with `why` set to Limit, if they are too many.
std::vector<DNode> fork_consumers(const Draft& d, DNode deformation, MoveRefusal& why);
bool fork(Draft& d, DNode deformation, std::span<const DNode> consumers, const MoveOptions& o,
          MoveRefusal& why);
// `serial-backward` (Down) and `serial-forward` (Up) as a pair: a cluster moves past a deformation and the
// Transpose next to it, or past a Transpose and the deformation next to it.
// Returns a node of the cluster that reads or feeds `boundary`, if it is in no region and there is such a
// next node; else none.
DNode pair_member(const Draft& d, DNode boundary, Direction direction);
bool rebase_past_two(Draft& d, DNode boundary, DNode member, Direction direction, const MoveOptions& o,
                     MoveRefusal& why);
// `common-concat` and `common-split` as a pair with rebase(): the clusters that consume the Concat, or the
// one that feeds the Split, move past the common deformation, so that they stay next to the Concat or Split.
bool common_concat_past(Draft& d, DNode concat, const MoveOptions& o, MoveRefusal& why);
bool common_split_past(Draft& d, DNode split, const MoveOptions& o, MoveRefusal& why);

// --- pass_through.cpp --------------------------------------------------------------------------------------
// `through`: a deformation or Transpose passes operators that work along axes, and elementwise nodes. Up:
// `start` stays, and one of the same class upstream of it sinks to it. Down: `start` itself sinks until it
// has no effect.
bool pass_through(Draft& d, DNode start, Direction direction, const MoveOptions& o, MoveRefusal& why);
// `through`: deformations or Transposes (`what`) upstream of several operands of a Concat sink to it, then
// common_concat().
bool pass_to_concat(Draft& d, DNode concat, NodeClass what, const MoveOptions& o, MoveRefusal& why);

// --- cancel_blocks.cpp -------------------------------------------------------------------------------------
// `blocks`: removes a DepthToSpace and the SpaceToDepth `lower` that undoes it, or the other way round, with
// elementwise nodes between them.
bool cancel_blocks(Draft& d, DNode lower, const MoveOptions& o, MoveRefusal& why);

}  // namespace graphopt
