// A part of a model's main graph: nodes, and what they need to stand as a model of their own.
//
// Problem: a subgraph for one device, or one half of a model that is cut in two, is written as a model. Its
// inputs are the values that come from outside, also those that bodies of its nodes capture; its outputs are
// those that something outside reads; initializers, functions and operator sets come along as far as the part
// uses them.
// Method: one walk over the nodes of the part and of the bodies inside. Nothing is copied: the writer takes
// the part beside the model (onnx/writer.h).
// Order: nodes as in the graph; inputs that are inputs of the model come first, in the model's order, then
// the others in the order in which they are defined; outputs of the model first, likewise.
//
//   x -> a -> b -> y   cut after a:   part 0: x -> a -> (a)      part 1: (a) -> b -> y
#pragma once

#include <cstdint>
#include <vector>

#include "ir/model.h"

namespace graphopt {

struct ModelPart {
  std::vector<NodeId> nodes;          // of the main graph, in its order
  std::vector<ValueId> inputs;        // overridable initializers included, as in the model
  std::vector<ValueId> outputs;       // values of the part; of the model's outputs only these
  std::vector<ValueId> initializers;  // in the order of the file; overridable ones are inputs, too
  std::vector<FunctionId> functions;  // that the part calls, directly or not, in the order of the model
  std::vector<OpsetImport> opsets;    // of the model's imports those that the part uses
};

// Makes parts of one model that does not change meanwhile. Making it is linear in the values of the model, so
// that many parts cost no walk over its inputs, outputs and initializers each.
class PartMaker {
 public:
  explicit PartMaker(const Model& m);

  // Returns the part of these nodes of the main graph, each given once, in any order. Linear in the nodes,
  // with their operands, results and bodies, in the uses of their results and in the functions that they
  // call, after sorting.
  ModelPart part_of(std::vector<NodeId> nodes) const;

  // By value: 0, or one more than its position among those of the main graph.
  struct Positions {
    std::vector<std::uint32_t> inputs, outputs, initializers;
  };

 private:
  const Model& m_;
  Positions positions_;
};

// The same for one part.
ModelPart part_of(const Model& m, std::vector<NodeId> nodes);

}  // namespace graphopt
