// Types and sizes of values as the manifest states them.
#pragma once

#include <string>

#include "deploy/manifest.h"
#include "infer/infer.h"
#include "ir/model.h"
#include "onnx/stated_type.h"

namespace graphopt::deploy {

inline constexpr const char* kUndefined = "UNDEFINED";

// Returns the name of a type in TensorProto.DataType: "FLOAT", "INT64". Empty for a number that it has not.
std::string enumerator(DType t);

ValueType value_type(const StatedType& type);
// The formula is left out where it has a symbol that is none of the inputs'.
Size size_of(Model& m, const Inference& inference, ValueId v);

// The sum of such sizes.
class SizeSum {
 public:
  explicit SizeSum(Model& m) : m_(m), sum_(m.dims.constant(0)) {}
  void add(const Inference& inference, ValueId v);
  Size size() const;

 private:
  Model& m_;
  DimId sum_;  // none: not known
};

}  // namespace graphopt::deploy
