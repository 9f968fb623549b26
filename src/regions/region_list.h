// The regions of one graph as a list, for --regions, --dot and `inspect` (docs/regions.md).
//
// Problem: the draft states of each elementwise node in which anchor's region it is. Compilers and people
// need the finished list, with the *free groups* (connected elementwise nodes of one shape without an
// anchor), in an order in which every region can run as one node. Method: regions are groups of nodes, and
// the quotient, the graph in which each group is one node, is put in topological order (Kahn). Then a free
// elementwise node joins the group of a free producer of its shape if the quotient stays acyclic. The order
// is kept up to date over these joins (Pearce and Kelly): only groups between the two positions are visited,
// and SearchLimits::cluster_edges edges at most; beyond it the two stay apart. So the quotient of the result
// is always acyclic.
#pragma once

#include <cstdint>
#include <vector>

#include "draft/search_limits.h"
#include "infer/infer.h"
#include "ir/model.h"

namespace graphopt {

struct Region {
  std::vector<NodeId> members;   // at least two, in topological order
  NodeId anchor;                 // a member; none: a free group
  std::vector<ValueId> inputs;   // defined outside and read inside, by first use
  std::vector<ValueId> outputs;  // defined inside and read outside
};

struct RegionList {
  std::vector<Region> regions;  // in topological order of the quotient
  // The number of kernels that an executor with one kernel per region launches per run: regions, and nodes in
  // no region. Shape computations, deformations and Constant nodes are not counted.
  std::uint64_t launches = 0;
  // Nodes that left their region because it was in a cycle of the quotient. left_regions: after regions had
  // grown, since a long check for a cycle may miss one (Regions::acyclic). left_groups: after free groups had
  // joined; always 0, unless there is a defect.
  std::size_t left_regions = 0, left_groups = 0;
  // All nodes of the graph in topological order, those of a region next to each other; otherwise as close to
  // the order of the graph as possible.
  std::vector<NodeId> order;
  LimitHits limit_hits;  // regions and free groups that stayed smaller because of a limit
};

// Returns the regions of the graph, without those of bodies of its nodes. Precondition: inference has run.
RegionList list_regions(Model& model, Inference& inference, GraphId graph);

}  // namespace graphopt
