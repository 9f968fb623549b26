// onnx's own per-operator inference functions, called on the IR.
//
// An operator without a rule of our own is inferred here: its schema is made on first use (the registry would
// make all of them, which takes longer than our start-up), and its function is run on an InferenceContext
// that gives it the operands' types, constants and symbolic values. Symbolic dims pass through as dim_param
// texts that contain the DimId.
#pragma once

#include <memory>

#include "ir/model.h"

namespace graphopt {

class NodeContext;

class OnnxRules {
 public:
  explicit OnnxRules(Model& model);
  ~OnnxRules();
  // Infers the node with onnx's function; sets nothing where there is none, or where it refuses the node.
  void infer(NodeContext& c);

 private:
  struct State;
  std::unique_ptr<State> s_;
};

}  // namespace graphopt
