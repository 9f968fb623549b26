// Integers for devices without int64: sets of nodes that compute in int64 compute in int32.
//
// Problem: exporters write shapes, positions and indices as int64. A device that has int32 only refuses these
// nodes, so they run on the host, in the middle of what the device runs.
// Method: each node of the main graph gets its integer slots (integer_slots.h) that may have int32. Nodes
// linked by such values make a set. A set is written in int32 in a trial of the model: constants become int32
// initializers, a Cast converts each value that comes in, and one each value that others read. It is kept if
// every node keeps the devices that it has, and more nodes get a device than Casts are refused. Ends: each
// set is tried once, in at most kMostNarrowings rounds.
//
// Exact, for all inputs. An int32 holds the same number where the bounds of the int64 are within int32
// (integer_ranges.h), and the operator then computes the same number:
//   Add, Mul, Abs ...  the result is within int32, so nothing wraps; Div and Mod meet no -2^31 by -1
//   Range              also the difference of its ends and the element behind the last are within int32
//   ReduceProd ...     no partial result in any order leaves int32
//   NonZero            reads whether a number is 0
// A Cast wraps, and so does a constant that is written anew: of an int64 beyond int32 it makes another
// number. That changes nothing in three cases.
//   - A node only moves elements (Reshape, Slice, Where ...), and its results are within int32: the elements
//     beyond are not in them. Each result may rest on another case as well.
//   - The number is an index along an axis of at most 2^31 - 1 entries. The original fails unless it is in
//     -extent ... extent - 1, which int32 holds; that a Gather fails is no effect that is kept
//     (rewrite/dead.h). This says nothing about other readers of the value: they read the int64, or their own
//     condition holds.
//   - A Cast to int32 reads it, which would wrap it as well.
// Constant bounds of a Slice that are beyond int32 become the ends of int32: along an axis of at most 2^31 -
// 1 entries they are cut to its ends in both types. Inputs and outputs of the model, values that bodies read,
// and operands that are int64 by the schema keep int64.
//
//   device: int32 only, and Shape, and Reshape by any target
//   n = Shape (x)                           n = Shape (x)    m = Cast <INT32> (n)
//   k = Gather (n, {0})               =>    k = Gather (m, {0})
//   t = Concat (k, {-1})                    c = Concat (k, {-1})    t = Cast <INT64> (c)
//   y = Reshape (x, t)                      y = Reshape (x, t)
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "lower/lower.h"
#include "rewrite/context.h"

namespace graphopt {

inline constexpr std::string_view kNarrowRule = "narrow-integers";  // of its rewrites

struct NarrowedSet {
  std::vector<NodeId> nodes;  // whose operands or results became int32, in the order of the graph
  std::size_t device = 0;     // into the profiles: the one that supports most of those that no device did
  std::vector<std::pair<NodeId, NameId>> results;  // that became int32: the node, and the name of the int64
  std::size_t casts = 0;                           // that were added
};

// Returns whether there is a set to try: it costs no trial.
bool may_narrow(PassContext& c, const LoweringInput& input);

// Writes sets of nodes in int32. Inference is up to date before and after. Nodes in input.kept stay as they
// are. The context's journal counts each set.
std::vector<NarrowedSet> narrow(PassContext& c, const LoweringInput& input);

}  // namespace graphopt
