// Nodes at which a runtime refuses a model when it loads it.
//
// Problem: a branch that is not taken, or a body without iterations, may hold a node that cannot run. While
// the runtime does not know its operands (a Reshape in front has a computed target), it has nothing to
// refuse. A pass that folds the target, a number that is bound to a symbol, or a type that is written down
// makes the dims known, and then the runtime refuses the whole model, which did run.
// Method: the model is looked at as a runtime does: node by node, with onnx's own inference functions, from
// what is written down and from constants. Where this is not known exactly, more is taken to be known than is
// (results of nodes with bodies, of calls and of operators without a function have the types that inference
// found), so a model that passes does load. First only nodes that need not run are asked, those in bodies and
// those with operands without elements (kernels take such operands that inference refuses) and those of which
// kernels take more in general (OpFacts::kernel_takes_more), with all that
// inference knows: a model in which they are well typed costs no more.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "infer/infer.h"

namespace graphopt {

// A type that the saved model states in place of what the file states; `keeps_dims`: dims that are open in it
// stay as in the file.
struct StatedAs {
  ValueId value;
  TypeId type;
  bool keeps_dims = true;
};

struct RefusedNode {
  NodeId node;
  // Operands: were nothing but their element types known, the node would be taken. Empty: there are none.
  std::vector<ValueId> hide;
  // It is in the main graph, and no kernel takes what inference refuses (operands without elements, and what
  // OpFacts::kernel_takes_more says): it fails in every run.
  bool fails = false;
};

struct LoadQuestion {
  std::span<const StatedAs> stated;
  bool whole = false;  // all nodes of the main graph count as well
  bool folds = false;  // what inference knows of elements counts as constants: a runtime computes it
  // Where it is not known exactly what a runtime knows, less is taken to be known than is: it refuses what is
  // returned, an If whose branches it cannot merge (merged_branches.h) too.
  bool least = false;
  std::function<bool(NodeId reader, ValueId operand)> can_hide;
};

// Returns the nodes that are refused, each graph's in its order, outer graphs first. The types of later nodes
// are those with the operands of earlier ones hidden. Inference is up to date.
std::vector<RefusedNode> refused_at_load(Model& m, const Inference& infer, const LoadQuestion& question);

// Returns false if onnx's inference refuses, with what is known, no node in a body and none with an operand
// without elements: there is nothing to ask then.
bool any_may_be_refused(Model& m, const Inference& infer);

// Returns whether the graph, or one around it, holds a node that onnx's inference refuses with what is known:
// no run computes its values, so two facts about one of them may contradict each other.
bool certainly_fails(Model& m, const Inference& infer, GraphId g);

}  // namespace graphopt
