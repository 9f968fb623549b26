// onnx's own per-operator inference functions, called on the IR.
//
// An operator without an own rule goes here: its schema is made when it is first asked for (the registry
// would make all of them, which takes longer than our start-up), and its function is run on an
// InferenceContext that shows it the operands' types, constants and symbolic values. Symbolic dims pass
// through as dim_param texts that hold the DimId.
#pragma once

#include <memory>

#include "ir/model.h"

namespace graphopt {

class NodeContext;

class OnnxRules {
 public:
  explicit OnnxRules(Model& model);
  ~OnnxRules();
  // Infers the node with onnx's function; nothing is set where there is none, or where it refuses the node.
  void infer(NodeContext& c);

 private:
  struct State;
  std::unique_ptr<State> s_;
};

}  // namespace graphopt
