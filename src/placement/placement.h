// A model as a partition problem: which devices take each node of the main graph, what must stay together,
// what crosses a border and what it costs.
//
// Problem: the partitioner knows numbers only (partition/problem.h); profiles know single nodes
// (devices/support.h). Between them stand questions about the model: values that no border can carry, nodes
// that read through bodies, sizes, weights.
// Method: one sweep over the nodes for each device and one over the values. Nodes are numbered in the order
// of the main graph; their rank is the canonical one (ir/canonical_order.h), so names and the order of the
// file decide nothing. What stays together beside the groups of the profiles: the producer and the readers of
// a sequence, an optional or a map, and of a value whose type or rank is not known, since no model can
// declare it as an input. Constants, initializers and inputs of the model make no edge: each part has what it
// reads of them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "devices/profile.h"
#include "devices/support.h"
#include "infer/infer.h"
#include "ir/model.h"
#include "partition/problem.h"
#include "placement/assignment.h"

namespace graphopt {

// Why a device refused nodes of one operator.
struct RefusedNodes {
  std::size_t device = 0;  // into the profiles
  OpId op;
  DeviceRefusal refusal = DeviceRefusal::NoRule;
  NodeId first;        // of them, in the order of the graph
  std::string detail;  // of that node: the nearest rule and what it asks for
  std::uint64_t count = 0;
};

// A node that the model gives to a device whose profile refuses it.
struct OverruledNode {
  NodeId node;
  std::size_t device = 0;
  std::string detail;  // of the first ones: the nearest rule and what it asks for
};

struct Placement {
  partition::Problem problem;
  std::vector<NodeId> nodes;            // by the problem's number
  std::vector<partition::Index> index;  // the number of a node of the main graph, by NodeId
  // Values of the main graph that bodies of a node read, (node, value): by the node's number, then canonical.
  std::vector<std::pair<partition::Index, ValueId>> captures;
  std::vector<ValueId> values;        // by the problem's number: results that nodes read or that are outputs
  std::vector<bool> known_size;       // by the problem's number of a value: its bytes are a number
  std::vector<RefusedNodes> refused;  // most frequent first
  std::vector<OverruledNode> overruled;  // in the order of the graph, for one device after the other

  // Returns the canonical rank of a node of the main graph.
  partition::Index rank_of(NodeId n) const { return problem.rank[index[n.index()]]; }
};

// Returns the problem for devices in the order of their priority, the host last. Results of Constant nodes
// are expected to be initializers wherever the model can have them. Questions about dims may intern
// expressions in the model's pool; nothing else changes. Linear in the nodes, operands and rules of their
// operators. `assigned`, by NodeId: the device that a node goes to whatever the profile says; empty: none.
Placement place(Model& m, const Inference& inference, std::span<const Profile> devices,
                std::span<const Assignment> assigned = {});

}  // namespace graphopt
