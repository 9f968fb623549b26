// Which values nodes may not read as constants.
//
// Problem: a body that never runs may hold a node that must fail, such as a window of an empty list of
// lengths. A runtime infers all bodies when it loads a model. While it does not know the list it has nothing
// to refuse; once the list is a constant, it refuses the model, which did run. The same happens in the main
// graph where onnx's function wants more than a kernel: a window of length 0 is computed, but not inferred.
// Method: onnx's own inference function is asked about each reader, with the constant in place; in the main
// graph only where there is no inference rule of our own, which says when a node fails.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "infer/infer.h"

namespace graphopt {

// A value that is not constant, taken for one.
struct AssumedConstant {
  ValueId value;
  DType type = DType::Undefined;
  std::span<const std::int64_t> dims;
  Bytes raw;  // little-endian, row-major
};

// As a policy it forbids that such a node reads a constant in place of another value.
class RefusedConstants final : public UsePolicy {
 public:
  RefusedConstants(const Model& model, const Inference& infer);  // both outlive it
  ~RefusedConstants() override;
  // Returns whether onnx's inference refuses a node that reads the value. False for nodes whose
  // attributes a call passes, and for those with bodies.
  bool refuses(const AssumedConstant& constant) const;

  bool may_read(const Model& m, UseId use, ValueId v) const override;
  bool may_become_constant(const Model&, ValueId) const override { return true; }

 private:
  bool refuses_at(NodeId reader, const AssumedConstant& constant) const;

  struct State;
  std::unique_ptr<State> s_;
};

}  // namespace graphopt
