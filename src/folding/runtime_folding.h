// runtime-folding: what is the same in every run and has no native kernel is computed by ONNX Runtime.
//
// Problem: a Resize, a MatMul or a Loop of constants is computed in every run, and whatever follows from it,
// too; constant-folding has exact or plain kernels for simple operators only (ops/fold.h).
// Method: when the passes before the searches have nothing left to do, the nodes of the main graph that are a
// function of constants alone are taken together: pure ones, and control flow and calls whose bodies are pure
// and capture constants. Those of them that lead to a result worth keeping become one model without inputs,
// with the weights of this one (ir/part.h), which runs once with the runtime's own optimizations off. What
// the rest of the graph reads of it becomes initializers. Rounds: the bits are those of the kernels of the
// runtime and the processor at hand, so the result depends on both; its version is in the report. Where the
// same ones run the model later, each constant has the bits that its node would have given. Lowers: nodes;
// the file may grow by at most --fold-limit bytes per node that goes (size of its results less the size of
// constants that only it needs). Ends: each rewrite removes a node and makes none. What the runtime refused
// once is not tried again, nor is a result that turned out to be too large. Left alone: what constant-folding
// leaves alone (quantization, random and unknown operators, pinned values); bodies of nodes that vary, and of
// functions; results that are no tensors; results with very many elements. A node goes whole or not at all:
// an empty result in the middle is not allowed for every operator.
//
//   <float[1,1,2,2] w, float[4] scales>
//   r = Resize (w, , scales)   y = Add (x, r)        =>    <float[1,1,4,4] r>   y = Add (x, r)
#pragma once

#include <array>
#include <memory>
#include <string>
#include <unordered_set>

#include "graphopt/stages/clean_up.h"
#include "passes/pass.h"
#include "runtime/ort.h"

namespace graphopt {

class RuntimeFolding final : public Pass {
 public:
  // `folder`: of the model's external data.
  RuntimeFolding(std::shared_ptr<Runtime> runtime, std::string folder);
  bool run(PassContext& c) override;
  std::span<const Counter> counters() const override { return counters_; }
  const CleanUpStage::RuntimeFold& report() const { return report_; }

 private:
  std::shared_ptr<Runtime> runtime_;
  std::string folder_;
  CleanUpStage::RuntimeFold report_;
  std::unordered_set<NodeId> stay_;  // their results are no constants, as a run showed
  std::array<Counter, 1> counters_{{{"folded", "nodes that went, as ONNX Runtime computed them"}}};
};

extern const PassInfo kRuntimeFolding;

}  // namespace graphopt
