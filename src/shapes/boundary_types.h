// Types of the inputs and outputs of parts of a model that are written as models of their own. A border is an
// input of the part that is none of the model's, or an output of the part that is none of the model's. An
// output of the model that the part reads is such an input: its type is the one that the model states, as in
// the part that makes it; what inference knows if the model states no rank.
#pragma once

#include <vector>

#include "infer/infer.h"
#include "ir/part.h"
#include "onnx/writer.h"

namespace graphopt {

// Returns what inference knows about the borders of a part, an entry per border; about no other value. Their
// dims are numbers and expressions over the symbols of the model's inputs; others are as the file has them,
// unless inference refuted what it states, and else open. A border of which not even the kind of type is
// known is missing; one of unknown rank is not. What else the part states is in saved_types
// (driver/shapes.h).
std::vector<TypeOverride> boundary_types(Model& m, const Inference& inference, const ModelPart& part);

// The same for many parts: what inference refuted is looked up once. Both must outlive this object, and
// inference must not change.
class BoundaryTypes {
 public:
  BoundaryTypes(Model& m, const Inference& inference);
  std::vector<TypeOverride> of(const ModelPart& part);

 private:
  Model& m_;
  const Inference& inference_;
  bool is_read(ValueId v) const;  // by a node

  std::vector<ValueId> refuted_;  // sorted
  std::vector<bool> returned_;    // by value: an output of the model
};

// Returns a border of the part that an ONNX model cannot declare, because of a tensor the element type or the
// rank is not known, or else the kind of type; none when it can declare all of them. onnx's checker refuses
// an input or output without a shape.
ValueId boundary_without_type(const Model& m, const Inference& inference, const ModelPart& part);

}  // namespace graphopt
