// The atomic groups of a profile in a model: nodes that a device takes together or not at all.
//
// Each kind is one sweep over the nodes of the main graph; groups of one kind that share a node are one
// group. Groups of different kinds may share nodes: the caller joins them with its own closure.
//
//   qdq       a QuantizeLinear, the node that makes its operand, and every DequantizeLinear that this node
//             reads; a single-use elementwise activation may stand between them. A node whose results have
//             other readers than QuantizeLinear, or that reads no DequantizeLinear, makes no group.
//   chain     nodes of the listed operators, each the only reader of the one before; first match wins, so a
//             node is in one chain of a rule.
//   nodes     the nodes with the listed names that the model has.
//   sequence  the producer of a value that is a sequence or a map, and its readers.
//   optional  the same of optional values.
//   state     the readers of a graph input that is a state, and the producer of the output that is the next
//             one. A pair is an input and an output of equal element type and rank whose names are
//             "past_key_values" + S, "past_key" + S, "past_value" + S or "past" + S, and "present" + S (or
//             "present_key_values" + S, "present_key" + S, "present_value" + S), with the same rest S.
//             A model does not say which input the next run gets from which output: names are all there is.
#pragma once

#include <vector>

#include "devices/profile.h"
#include "infer/infer.h"
#include "ir/model.h"

namespace graphopt {

struct AtomicGroup {
  AtomicKind kind = AtomicKind::Qdq;
  std::vector<NodeId> nodes;  // of the main graph, two or more, in the order of the graph
};

// Returns the groups in the order of their rules in the profile, then of their first nodes. A reader inside
// of a body counts as the node of the main graph that holds it.
std::vector<AtomicGroup> atomic_groups(const Model& model, const Inference& inference,
                                       const Profile& profile);

// A graph input and the graph output that is its next state, as positions in the main graph.
struct StatePair {
  std::size_t input = 0, output = 0;
};
std::vector<StatePair> state_pairs(const Model& model, const Inference& inference);

}  // namespace graphopt
