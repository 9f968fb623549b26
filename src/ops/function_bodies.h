// Which nodes ONNX Runtime computes by the body of a function of ONNX, since it has no kernel for them.
//
// A body is written for one opset, and ONNX Runtime takes it where the model has just this opset. In any
// other it casts the operands to float32, for which it has a kernel. So the bits of a node may depend on the
// opset.
#pragma once

#include <cstdint>

#include "ops/facts.h"

namespace graphopt {

// Returns whether a Relu is computed as Max (x, 0): which zero comes of -0 then depends on the length of the
// vector, as in any Max of two zeros. Measured: float16 in opset 18; bfloat16 has no kernel for either.
inline bool relu_is_max(OpKind kind, DType type, std::int64_t opset) {
  constexpr std::int64_t kOpsetOfBody = 18;
  return kind == OpKind::Relu && opset == kOpsetOfBody && (type == DType::Float16 || type == DType::BFloat16);
}

}  // namespace graphopt
