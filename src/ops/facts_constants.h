// Operands that a runtime reads as constants in fewer types than it takes computed.
#pragma once

#include <cstddef>

#include "ir/op_kind.h"
#include "ir/types.h"

namespace graphopt {

// Returns whether ONNX Runtime loads a model in which operand `slot` is a constant of this type. It is asked
// of types that the operator's schema allows there, and that the runtime takes where the operand is computed.
bool takes_constant(OpKind kind, std::size_t slot, DType type);

}  // namespace graphopt
