// --shape, --dim and --infer in terms of src/specialize.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "driver/run.h"
#include "ir/part.h"
#include "onnx/writer.h"
#include "onnx/written_model.h"
#include "shapes/bind.h"
#include "shapes/boundary_types.h"

namespace graphopt {

Bindings bindings_of(const InferStage::Options& options);
// Returns a warning for each option that makes a dim 0. It is a size like any other, and mostly meant as
// "any".
std::vector<std::string> empty_sizes(const InferStage::Options& options);

// Returns the types that the saved model states in place of those in the file; none where inference did not
// run. Call it after the passes.
std::vector<TypeOverride> saved_types(const Options& options, Work& work);
// The same of a model whose symbols were bound otherwise than by these options, too.
std::vector<TypeOverride> saved_types_of_bound(const Options& options, Work& work);
// The same while regions are no functions yet, and at least what is stated when they are. `bound`: symbols
// were bound otherwise, too.
std::vector<TypeOverride> coming_types(const Options& options, Work& work, bool bound);

// The types that models of parts state. Making it is linear in the model, of() in the part, up to sorting.
class PartTypes {
 public:
  // `saved`: what saved_types returned. Inference ran. The work must outlive this object and not change.
  PartTypes(Work& work, std::span<const TypeOverride> saved);

  // Returns the types of the borders of a part (shapes/boundary_types.h), then those of `saved` for other
  // values that it has; each value once. Dims that a border leaves open are those of `saved`: a second run
  // finds them in the file.
  std::vector<TypeOverride> of(const ModelPart& part);

 private:
  TypeId filled(TypeId border, TypeId saved);

  Model& m_;
  BoundaryTypes borders_;
  const KeptFields kept_;
  std::vector<TypeOverride> saved_;
  std::vector<std::uint32_t> position_;  // by value: 0, or one more than that in saved_
};

}  // namespace graphopt
