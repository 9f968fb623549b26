// Problem: sometimes two moves pay together, of which the first alone does not. Of several clusters that
// consume one deformation, each that moves upstream of it leaves a deformation downstream; only with the last
// one the shared deformation goes. A cluster next to a Transpose may reach an anchor only past the
// deformation upstream of it, too. And the deformation that common_concat() or common_split() leaves may
// stand between the Concat or Split and a cluster that was in its region.
// Method: both are carried out as one candidate, made of calls of rebase(): `fork` moves the clusters of all
// consumers, a pair moves one cluster past two boundaries, or past the common deformation. Between the two,
// canonicalize() merges the first boundary with the inverse of it that the first move made.
// Exact: as rebase() and common_concat().
// Lowers D by the shared deformation, or as rebase() and common_concat().
// Ends: a fork and the pairs with common deformations move SearchLimits::fork_consumers clusters at most,
// other pairs one cluster twice.
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
                   MoveRefusal& why) {
  std::vector<DNode> cluster;
  cluster_of(d, member, cluster);
  return rebase(d, boundary, cluster, direction, o, why);
}

// Returns the node on the other side of the boundary, past which the second move of a pair goes.
DNode next_boundary(const Draft& d, DNode boundary, Direction direction) {
  return direction == Direction::Down ? d.def(d.in(boundary, 0)) : d.single_user(d.out(boundary));
}

// Returns the consumers of the deformation, each once; none if not all of them are elementwise nodes that
// read it in full, or, with `why` set to Limit, if they are too many.
std::vector<DNode> full_consumers(const Draft& d, DNode deformation, MoveRefusal& why) {
  const DValue y = d.out(deformation);
  if (d[y].live_out) return {};
  if (d[y].use_count > kSearchLimits.fork_consumers) {
    d.hit_limit(SearchLimit::ForkConsumers);
    why = MoveRefusal::Limit;
    return {};
  }
  std::vector<DNode> consumers;
  for (DUse u = d.first_use(y); u; u = d.next_use(u))
    if (std::ranges::find(consumers, d.user(u)) == consumers.end()) consumers.push_back(d.user(u));
  const auto fits = [&](DNode m) { return consumes_in_full(d, m, deformation); };
  if (!std::ranges::all_of(consumers, fits)) return {};
  return consumers;
}

}  // namespace

std::vector<DNode> fork_consumers(const Draft& d, DNode deformation, MoveRefusal& why) {
  std::vector<DNode> consumers;
  if (d[d.out(deformation)].use_count >= 2) consumers = full_consumers(d, deformation, why);
  if (consumers.size() < 2) return {};
  return consumers;
}

bool fork(Draft& d, DNode deformation, std::span<const DNode> consumers, const MoveOptions& o,
          MoveRefusal& why) {
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
                     MoveRefusal& why) {
  const DNode next = next_boundary(d, boundary, direction);
  if (!rebase_around(d, boundary, member, direction, o, why)) return false;
  canonicalize(d);  // the first boundary cancels with its inverse
  if (!d[next].alive || !d[member].alive) return false;
  const bool adjacent =
      direction == Direction::Down ? consumes_in_full(d, member, next) : d.in(next, 0) == d.out(member);
  return adjacent && rebase_around(d, next, member, direction, o, why);
}

bool common_concat_past(Draft& d, DNode concat, const MoveOptions& o, MoveRefusal& why) {
  const DValue y = d.out(concat);
  if (d[y].live_out) return false;  // the deformation would have to stay downstream of the cluster, too
  if (!common_concat(d, concat, NodeClass::Deformation, why)) return false;
  canonicalize(d);
  const DNode common = d.def(y);
  if (!d.is(common, NodeClass::Deformation)) return false;  // nothing stands in the way
  const std::vector<DNode> consumers = full_consumers(d, common, why);
  return !consumers.empty() && fork(d, common, consumers, o, why);
}

bool common_split_past(Draft& d, DNode split, const MoveOptions& o, MoveRefusal& why) {
  if (!common_split(d, split, NodeClass::Deformation, why)) return false;
  canonicalize(d);
  const DNode common = d[split].alive ? d.def(d.in(split, 0)) : DNode{};
  if (!d.is(common, NodeClass::Deformation)) return false;
  const DNode member = d.def(d.in(common, 0));
  return d.is(member, NodeClass::Elementwise) && rebase_around(d, common, member, Direction::Up, o, why);
}

}  // namespace graphopt
