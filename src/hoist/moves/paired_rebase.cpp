// Problem: sometimes two moves pay together, of which the first alone does not. Of several clusters that
// consume one deformation, each that moves upstream of it leaves a deformation downstream; only with the last
// one the shared deformation goes. A cluster next to a Transpose may reach an anchor only past the
// deformation upstream of it, too.
// Method: both are carried out as one candidate, made of calls of rebase(): `fork` moves the clusters of all
// consumers, a pair moves one cluster past two boundaries. Between the two, canonicalize() merges the first
// boundary with the inverse of it that the first move made.
// Exact: as rebase().
// Lowers D by the shared deformation, or as rebase().
// Ends: a fork moves SearchLimits::fork_consumers clusters at most, a pair one cluster twice.
//
//   r = Reshape (x, s)                  a = Neg (x)
//   a = Neg (r)                 =>      p = Reshape (a, s)
//   b = Exp (r)                         b = Exp (x)
//                                       q = Reshape (b, s)
#include <algorithm>

#include "hoist/moves/canonicalize.h"
#include "hoist/moves/conditions.h"
#include "hoist/moves/moves.h"

namespace graphopt {
namespace {

bool rebase_around(Draft& d, DNode boundary, DNode member, Direction direction, const MoveOptions& o,
                   Refusal& why) {
  std::vector<DNode> cluster;
  cluster_of(d, member, cluster);
  return rebase(d, boundary, cluster, direction, o, why);
}

// Returns the node on the other side of the boundary, past which the second move of a pair goes.
DNode next_boundary(const Draft& d, DNode boundary, Direction direction) {
  return direction == Direction::Down ? d.def(d.in(boundary, 0)) : d.single_user(d.out(boundary));
}

}  // namespace

std::vector<DNode> fork_consumers(const Draft& d, DNode deformation, Refusal& why) {
  const DValue y = d.out(deformation);
  if (d[y].live_out || d[y].use_count < 2) return {};
  if (d[y].use_count > kSearchLimits.fork_consumers) {
    d.hit_limit(SearchLimit::ForkConsumers);
    why = Refusal::Limit;
    return {};
  }
  std::vector<DNode> consumers;
  for (DUse u = d.first_use(y); u; u = d.next_use(u))
    if (std::ranges::find(consumers, d.user(u)) == consumers.end()) consumers.push_back(d.user(u));
  const auto fits = [&](DNode m) { return consumes_in_full(d, m, deformation); };
  if (consumers.size() < 2 || !std::ranges::all_of(consumers, fits)) return {};
  return consumers;
}

bool fork(Draft& d, DNode deformation, std::span<const DNode> consumers, const MoveOptions& o, Refusal& why) {
  return std::ranges::all_of(consumers, [&](DNode m) {
    return !consumes_in_full(d, m, deformation) ||  // the cluster of an earlier one held m
           rebase_around(d, deformation, m, Direction::Down, o, why);
  });
}

DNode pair_member(const Draft& d, DNode boundary, Direction direction) {
  const bool down = direction == Direction::Down;
  const DNode next = next_boundary(d, boundary, direction);
  const DNode member = down ? d.single_user(d.out(boundary)) : d.def(d.in(boundary, 0));
  const NodeClass other =
      d[boundary].node_class == NodeClass::Deformation ? NodeClass::Transpose : NodeClass::Deformation;
  if (!d.is(next, other) || !d.is(member, NodeClass::Elementwise)) return {};
  // A node in a region stays: a runtime may fuse it there (a scale that feeds a MatMul).
  if (d[member].region || d[member].absorbed) return {};
  return down && !consumes_in_full(d, member, boundary) ? DNode{} : member;
}

bool rebase_past_two(Draft& d, DNode boundary, DNode member, Direction direction, const MoveOptions& o,
                     Refusal& why) {
  const DNode next = next_boundary(d, boundary, direction);
  if (!rebase_around(d, boundary, member, direction, o, why)) return false;
  canonicalize(d);  // the first boundary cancels with its inverse
  if (!d[next].alive || !d[member].alive) return false;
  const bool adjacent =
      direction == Direction::Down ? consumes_in_full(d, member, next) : d.in(next, 0) == d.out(member);
  return adjacent && rebase_around(d, next, member, direction, o, why);
}

}  // namespace graphopt
