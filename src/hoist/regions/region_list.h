// The regions of one graph as a list: what --regions, --dot and `inspect` tell (methods/rewrites.md, part d).
//
// Problem: the draft knows of each elementwise node which anchor it works with; compilers and people want the
// finished list, elementwise clusters without an anchor in it, in an order in which every region could run as
// one node.
// Method: regions are groups of nodes; the graph in which each group is one node (the quotient) is put in
// order (Kahn). Then step 3: a free E joins the cluster of a free producer of its shape if the quotient stays
// acyclic. The order is kept up to date over these joins (Pearce and Kelly): only groups between the two
// places are looked at, SearchLimits::cluster_edges edges at most; with more, the two stay apart. So the
// quotient of the result is acyclic, without any "as far as was looked".
#pragma once

#include <cstdint>
#include <vector>

#include "hoist/search_limits.h"
#include "infer/infer.h"
#include "ir/model.h"

namespace graphopt {

struct Region {
  std::vector<NodeId> members;  // at least two, in topological order
  NodeId anchor;                // a member; none: a cluster of elementwise nodes alone
  std::vector<ValueId> inputs,
      outputs;  // made outside and read inside, by first use; made inside and read outside
};

struct RegionList {
  std::vector<Region> regions;  // in topological order of the quotient
  // What an executor that runs each region as one kernel starts per run: regions, and the nodes that are in
  // none. Nodes that compute shapes only, deformations and Constant nodes start nothing.
  std::uint64_t launches = 0;
  // Nodes that left their region because it stood in a cycle: when regions had grown (their search is
  // bounded), and when clusters had joined (never: a defect, if it is not 0).
  std::size_t left_regions = 0, left_clusters = 0;
  // All nodes of the graph in topological order, those of a region in a row. What need not move stays in the
  // order of the graph.
  std::vector<NodeId> order;
  LimitHits limit_hits;  // regions and clusters that stayed smaller because of a limit
};

// Inference must have run. The bodies of the graph's nodes are graphs of their own.
RegionList list_regions(Model& model, Inference& inference, GraphId graph);

}  // namespace graphopt
