// Nodes whose device the model itself names, and passes that must not mix them.
//
// Problem: a model can say which device runs which of its nodes. Passes know of no devices: they would fold a
// node of one into a node of another, or have both read one result of two equal ones.
// Method: while passes run, a border node stands on each edge to nodes of another assignment: between nodes,
// and behind inputs of the model that nodes of two assignments read. Inference takes it for an identity, so
// what is known of dims and numbers crosses it; for passes it is a barrier. Beside that, a node may not be
// made to read a value of another assignment (UsePolicy), which keeps equal values of two assignments apart.
// Nodes that passes make get the assignment of the nodes that they are connected to without a border.
// Constants belong to no assignment. Afterwards the readers of a border read its operand again; where that
// cannot be, because the border's result has become an output of the model, the border becomes an Identity.
// Ends: a bounded number of sweeps over the nodes. Linear in the nodes and operands.
//
//   npu: a = Relu (x)  cpu: b = Relu (x)    =>    p = Border (x)  a = Relu (p)  q = Border (x)  b = Relu (q)
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "ir/model.h"

namespace graphopt {

// A number of a device, or one of:
using Assignment = std::uint32_t;
inline constexpr Assignment kNotAssigned = 0xFFFFFFFFu;  // the profiles decide
inline constexpr Assignment kNotKnown = 0xFFFFFFFEu;     // made by a pass, connected to nothing that is known

// By NodeId; nodes beyond its end are not known. A node in a body counts as the node of the main graph that
// holds it.
using Assignments = std::vector<Assignment>;

// Inputs of the model that nodes of one assignment alone read: new nodes that read them are of it.
using InputReaders = std::unordered_map<ValueId, Assignment>;

// Gives each node of the main graph that is not known the assignment of what it is connected to; what stays
// unknown is not assigned.
void inherit_assignments(const Model& m, const InputReaders& inputs, Assignments& assignments);

// From construction to remove() borders are in the model, and it has a use policy that asks `other` (may be
// null) too. The caller sets that policy, since it lives as long as a run of the passes. Both references must
// outlive this object.
class AssignmentBorders final : public UsePolicy, public Listener {
 public:
  AssignmentBorders(Model& m, Assignments& assignments);
  ~AssignmentBorders() override;
  AssignmentBorders(const AssignmentBorders&) = delete;
  AssignmentBorders& operator=(const AssignmentBorders&) = delete;

  // Takes the borders out. Then each node of the main graph has its assignment.
  void remove();

  bool may_read(const Model& m, UseId use, ValueId v) const override;
  bool may_become_constant(const Model&, ValueId) const override { return true; }
  void node_added(NodeId n) override;

 private:
  void insert(ValueId v);
  void read_operand(ValueId result, ValueId from);

  Model& m_;
  Assignments& assignments_;
  InputReaders inputs_;
};

}  // namespace graphopt
