// Constant folding kernels, by family (fold_*.cpp): evaluates one node whose operands are constants.
//
// Exactness: a kernel counts as Exact only when its result has the same bits as ONNX Runtime's on every
// input, NaN payloads aside: data movement, integer arithmetic (wrapping as the C++ kernels do), comparisons,
// casts that ONNX Runtime computes the same way, and IEEE basic operations on single elements (+ - * / sqrt
// are correctly rounded). All others are Rounds (sums in another order, transcendental functions) and are
// folded only at levels that need not be exact.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/model.h"

namespace graphopt {

// Returns true if nodes of the operator can be folded for some opset and element types.
bool has_fold_kernel(OpKind kind);

enum class FoldExactness : std::uint8_t { No, Exact, Rounds };

// Returns whether this node can be folded if all operands are constants, and with which exactness. Reads only
// operator, opset, attributes and element types, so it is cheap.
FoldExactness fold_exactness(const Model& m, NodeId n, std::span<const TensorId> operands);

struct FoldLimits {
  std::uint64_t max_result_bytes =
      0;                       // of all results together; a kernel sizes its results before it allocates
  std::uint64_t max_work = 0;  // elements visited
};

enum class FoldRefusal : std::uint8_t { None, NotFoldable, TooBig, BadOperands };

struct Folded {
  FoldRefusal refusal = FoldRefusal::None;
  std::vector<Tensor> results;  // one per output slot of the node; unused optional slots hold Undefined
};

// operands[i] is none for an empty optional operand. Never throws, never reads out of bounds. Operands that
// the operator does not accept (wrong rank, index out of range, integer division by zero) give BadOperands,
// and the node stays.
Folded fold(const Model& m, NodeId n, std::span<const TensorId> operands, const FoldLimits& limits);

}  // namespace graphopt
