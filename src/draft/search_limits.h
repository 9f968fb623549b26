// The limits of the search over moves and of the list of regions, and the numbers derived from them.
//
// Problem: some walks (over the readers of a value, along a chain, over a region) are cheap on real models
// and quadratic on graphs that are very wide or very long. A search must stay near linear on every graph.
// Method: such a walk has a limit. Beyond it the candidate is refused, or the walk stops with the answer that
// changes less. A limit costs a rewrite, never correctness, and no result depends on time or memory. Of 45
// exported models 20 reach region_update, 3 constant_elements, 2 fork_consumers, and none another limit.
// Code that stops at one of SearchLimit calls Draft::hit_limit(); the report names it (docs/report.md).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "graphopt/search_limit.h"

namespace graphopt {

struct SearchLimits {
  // --- the search ------------------------------------------------------------------------------------------
  // Nodes and uses of the clusters that one search of a graph of n nodes visits: cluster_visits + n *
  // cluster_visits_per_node. A cluster is visited once per boundary, so large clusters with many boundaries
  // would be quadratic.
  std::uint64_t cluster_visits = 1'000'000, cluster_visits_per_node = 200;
  // Consumers of one deformation that a fork moves together: each walks its own cluster.
  std::uint32_t fork_consumers = 16;
  // Neighbours of one node that the next sweep starts from; the next run of the search finds the others.
  std::uint32_t neighbours = 64;

  // --- moves -----------------------------------------------------------------------------------------------
  // Elements of a constant that a move makes (expanded, joined, transposed) or whose elements it checks: the
  // file must not grow by more than a few KiB for a node less.
  std::int64_t constant_elements = 4096;
  // Nodes on the path of a `through` move, and nodes visited to find it: one walk per deformation.
  std::size_t path_nodes = 24;
  // Operands of an elementwise node at which the walk for a path continues; it ignores the others. A walk
  // that continues at many operands of each node reaches path_nodes after few steps.
  std::uint32_t path_operands = 4;
  // Elementwise nodes between one result of a Split and the join node of its branch. GELU by tanh, written
  // out, has 9; many Splits along one long chain would be quadratic. `pairs` visits as many uses and operands
  // per part.
  std::size_t branch_nodes = 256;
  // Elementwise nodes at which a walk upstream from a DepthToSpace or SpaceToDepth gives up; one fewer may
  // stand between it and the one that it undoes. Several of them downstream of one chain each walk the chain.
  std::size_t block_chain = 64;
  // Slices with steps of one value that become one Split or Transpose; each pair is compared by phase.
  std::int64_t strided_slices = 64;
  // Readers of a value that are visited for its Slices; each of the Slices visits them.
  std::uint32_t strided_readers = 1024;
  // Slices of Slices between a Concat and the value that all of them read.
  std::uint32_t slice_chain = 8;
  // Uses of one value that are checked to be all by one Concat. One value in 60,000 slots took 9.5 s without
  // the limit, 4 ms with it.
  std::uint32_t common_uses = 16;
  // Operands of a Concat. Up to this number `common-concat` is tried and priced. Of a Concat with more, most
  // operands must come from a deformation: a candidate that is undone makes a node for each operand, which
  // for 10^5 operands took 7 percent of the time of both passes.
  std::uint32_t common_operands = 256;
  // Users of one value, and operands of a cluster, that rebase_may_pay() visits. If there are more, it
  // returns true and the move is tried, so this limit refuses nothing.
  std::size_t estimate_uses = 16;

  // --- canonicalization ------------------------------------------------------------------------------------
  // Users of one value among which a duplicate of a deformation or Transpose is searched: each of n would
  // search n.
  std::uint32_t duplicate_uses = 64;
  // Operands of a Concat that are searched for another Concat each time that the node is touched. In longer
  // ones the inner Concat finds the outer one, so this limit refuses nothing.
  std::uint32_t spliced_operands = 64;

  // --- regions ---------------------------------------------------------------------------------------------
  // Elementwise nodes whose region one update of the cost decides anew: a chain of 10^6 would be walked per
  // candidate.
  std::size_t region_update = 64;
  // Nodes that one check for a cycle visits when a node joins a region; beyond it the node stays outside.
  std::size_t region_visits = 512;
  // Edges that such a check visits to collect the nodes of one region: a Concat of 10^5 operands has few
  // nodes in its region and many edges.
  std::size_t region_edges = 8 * region_visits;
  // Visited nodes from which on such a check skips nodes that come after the region in the order; most checks
  // end before.
  std::size_t region_visits_in_full = region_visits / 8;
  // Edges that one check for a cycle visits when two groups of free elementwise nodes join
  // (regions/region_list.h); beyond it they stay apart.
  std::size_t cluster_edges = 512;
  // If a check stops at cluster_edges and one group had more edges than this, that group joins no other one
  // from then on: a value with very many readers is visited once and not for each reader.
  std::size_t hub_edges = cluster_edges / 2;

  // --- whether a graph is searched at all ------------------------------------------------------------------
  // Deformations in a row between a Concat or Split and the node that decides whether its branches look
  // alike.
  std::uint32_t skipped_deformations = 8;
  // Readers of a result of a Split whose operators are compared; with more the graph is searched.
  std::size_t compared_readers = 64;
};
inline constexpr SearchLimits kSearchLimits;

// How often each limit decided something, and which one did last.
struct LimitHits {
  std::array<std::uint64_t, Words<SearchLimit>::all.size()> times{};
  std::optional<SearchLimit> last;

  void add(SearchLimit limit) {
    ++times[static_cast<std::size_t>(limit)];
    last = limit;
  }
};

}  // namespace graphopt
