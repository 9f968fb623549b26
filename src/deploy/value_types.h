// Types and sizes of values as the manifest states them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "infer/infer.h"
#include "ir/model.h"
#include "onnx/stated_type.h"

namespace graphopt {

// Returns the name of a type in TensorProto.DataType: "FLOAT", "INT64".
std::string enumerator(DType t);

nlohmann::json type_json(const StatedType& type);
// {"bytes": 64} or {"bytes": null, "formula": "4*batch*seq"}; the formula is left out where it has a symbol
// that is none of the inputs'.
nlohmann::json size_json(Model& m, const Inference& inference, ValueId v);

// The sum of such sizes: a number, a formula, or null.
class SizeSum {
 public:
  explicit SizeSum(Model& m) : m_(m), sum_(m.dims.constant(0)) {}
  void add(const Inference& inference, ValueId v);
  nlohmann::json json() const;

 private:
  Model& m_;
  DimId sum_;  // none: not known
};

}  // namespace graphopt
