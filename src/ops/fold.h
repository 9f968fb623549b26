// Constant folding kernels, by family (fold_*.cpp): evaluates a node whose operands are constants, or an
// operator on tensors without any node, which is how rules compute new weights.
//
// Exactness: a kernel counts as Exact only when its result has the same bits as ONNX Runtime's on every
// input, NaN payloads aside: data movement, integer arithmetic (wrapping as the C++ kernels do), comparisons,
// casts that ONNX Runtime computes the same way, and IEEE basic operations on single elements (+ - * / sqrt
// are correctly rounded). All others are Rounds (sums in another order, transcendental functions) and are
// folded only at levels that need not be exact.
#pragma once

#include <cstdint>
#include <initializer_list>
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
  bool only_read = false;      // fold(): results that nothing reads are left out
};

enum class FoldRefusal : std::uint8_t {
  None,
  NotFoldable,
  TooBig,
  BadOperands,
  NaN,  // an operand holds one, and kernels differ in what they make of it
};

struct Folded {
  FoldRefusal refusal = FoldRefusal::None;
  FoldExactness exactness = FoldExactness::No;  // of the results; No where there are none
  std::vector<Tensor> results;                  // one per output slot; unused optional slots hold Undefined

  explicit operator bool() const { return refusal == FoldRefusal::None; }
};

// operands[i] is none for an empty optional operand. Never throws, never reads out of bounds. Operands that
// the operator does not accept (wrong rank, index out of range, integer division by zero) give BadOperands,
// and the node stays.
Folded fold(const Model& m, NodeId n, std::span<const TensorId> operands, const FoldLimits& limits);
// The same with tensors that need not be the model's; null for an empty optional operand.
Folded fold(const Model& m, NodeId n, std::span<const Tensor* const> operands, const FoldLimits& limits);

// An operator as a node would name it.
struct Operation {
  OpKind kind = OpKind::Opaque;
  std::int64_t opset = 0;                 // of the operator's domain
  std::span<const Attr> attributes = {};  // the others have their defaults
  std::size_t results = 1;
};
// No limit: for sizes that the caller has checked.
inline constexpr FoldLimits kUnlimited{~std::uint64_t{0}, ~std::uint64_t{0}, false};
// The same without a node. Tensors are ready (unpacked()), null where an operand is absent; they may be
// shared by other nodes and of any size. `m` is the model of the attributes' tensors; it does not change.
Folded evaluate(const Model& m, const Operation& operation, std::span<const Tensor* const> operands,
                const FoldLimits& limits = kUnlimited);
Folded evaluate(const Model& m, const Operation& operation, std::initializer_list<const Tensor*> operands,
                const FoldLimits& limits = kUnlimited);

// Returns the tensor of a model with its payload in raw form, which is shared and not copied; nothing where
// it is broken.
std::optional<Tensor> unpacked(const Model& m, TensorId t);
// Tensors that own their elements, of rank 1 and 0.
Tensor int64_tensor(std::span<const std::int64_t> elements);
Tensor int64_tensor(std::int64_t element);
// Attributes for Operation. A list stays the caller's.
Attr int_attribute(NameId name, std::int64_t value);
Attr ints_attribute(NameId name, std::span<const std::int64_t> values);

}  // namespace graphopt
