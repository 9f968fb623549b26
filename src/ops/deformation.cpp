#include "ops/deformation.h"

namespace graphopt {

bool moves_type(std::int64_t opset, DType type) {
  // Concat before opset 4 and Reshape before 5 take only these.
  if (opset < 5) return type == DType::Float || type == DType::Double || type == DType::Float16;
  switch (type) {
      // clang-format off
    case DType::Float: case DType::Double: case DType::Float16: case DType::Bool:
    case DType::Int8: case DType::Int16: case DType::Int32: case DType::Int64:
    case DType::UInt8: case DType::UInt16: case DType::UInt32: case DType::UInt64:
      return true;
      // clang-format on
    case DType::BFloat16: return opset >= 13;
    default:  // strings, complex numbers and the small types: at least one of the operators does not take
              // them
      return false;
  }
}

}  // namespace graphopt
