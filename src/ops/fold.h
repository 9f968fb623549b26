// Constant folding kernels, by family (fold_*.cpp): evaluates one node whose operands are constants.
//
// Exactness: a kernel counts as Exact only when its result has the same bits as ONNX Runtime's on every
// input, NaN payloads aside: data movement, integer arithmetic (wrapping as the C++ kernels do), comparisons,
// casts that ONNX Runtime does the same way, and IEEE basic operations on single elements (+ - * / sqrt are
// correctly rounded). Everything else is Rounds (sums in another order, transcendental functions) and is left
// to --exact-free levels.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/model.h"

namespace graphopt {

enum class FoldExactness : std::uint8_t { No, Exact, Rounds };

// Can this node be folded if all operands are constants, and with which exactness? Looks at operator, opset,
// attributes and element types only. Cheap.
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

// operands[i] is none for an empty optional operand. Never throws, never reads out of bounds: operands that
// do not fit the operator (wrong rank, index out of range, division by zero of integers) are BadOperands: the
// node stays.
Folded fold(const Model& m, NodeId n, std::span<const TensorId> operands, const FoldLimits& limits);

}  // namespace graphopt
