// How ONNX Runtime's CPU provider computes a node: by a kernel, between Casts, by the operator's function
// body, or not at all.
//
// Passes that write an operator ask here whether the result runs, and as what. The table is measured, so it
// is apart from the fact table, which follows the schemas. It has rows only for operators that somebody asks
// about; of all others nothing is known, which means no.
#pragma once

#include <cstdint>

#include "ir/op_kind.h"
#include "ir/types.h"

namespace graphopt {

enum class Computed : std::uint8_t {
  Unknown,   // refused, or the table does not know the operator, the opset or the type
  ByKernel,  // by a kernel for this element type
  ByCasts,   // float16 alone: by the kernel for float, between Casts
  ByBody,    // expanded to the nodes of ONNX's function body
};

// Returns how a node of this operator of ai.onnx is computed in this opset, if its data operands and its
// first result have this element type.
Computed computed_by(OpKind kind, std::int64_t opset, DType type);

inline bool has_kernel(OpKind kind, std::int64_t opset, DType type) {
  return computed_by(kind, opset, type) == Computed::ByKernel;
}

// Returns whether the node stays one node of its operator, maybe between Casts.
inline bool runs_as_one_node(OpKind kind, std::int64_t opset, DType type) {
  const Computed way = computed_by(kind, opset, type);
  return way == Computed::ByKernel || way == Computed::ByCasts;
}

// Returns whether a Relu is computed as Max (x, 0): which zero comes of -0 then depends on the length of the
// vector, as in any Max of two zeros. A function body is written for one opset, and ONNX Runtime takes it
// where the model has just this opset and there is no kernel for the type. So the bits of a node may depend
// on the opset.
inline bool relu_is_max(OpKind kind, DType type, std::int64_t opset) {
  return kind == OpKind::Relu && is_float(type) && computed_by(kind, opset, type) == Computed::ByBody;
}

}  // namespace graphopt
