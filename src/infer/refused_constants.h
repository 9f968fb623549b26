// Which values nodes may not read as constants.
//
// Problem: a body that never runs may hold a node that must fail, such as a window of an empty list of
// lengths. A runtime infers all bodies when it loads a model. While it does not know the list it has nothing
// to refuse; once the list is a constant, it refuses the model, which did run. The same happens in the main
// graph where onnx's function wants more than a kernel: a window of length 0 is computed, but not inferred,
// and axes of int32 are taken where they are computed only.
// Method: the table of types that constants may have is asked (ops/facts_constants.h), and onnx's own
// inference function about each reader, with the constant in place, and about the readers of its results that
// need not run (refused_nodes.h). In bodies it is asked about any value that takes the place of another, too.
// What is farther away is found when the passes are at rest (refused_nodes.h).
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

// As a policy it forbids that such a node reads a value in place of another one.
class RefusedConstants final : public UsePolicy {
 public:
  RefusedConstants(const Model& model, const Inference& infer);  // both outlive it
  ~RefusedConstants() override;
  // Returns whether a node that reads the value would be refused. False for nodes whose attributes a call
  // passes, and for those with bodies.
  bool refuses(const AssumedConstant& constant) const;

  bool may_read(const Model& m, UseId use, ValueId v) const override;
  bool may_become_constant(const Model&, ValueId) const override { return true; }

 private:
  bool refuses_at(UseId use, const AssumedConstant& constant) const;

  struct State;
  std::unique_ptr<State> s_;
};

}  // namespace graphopt
