// Which nodes of a model are elementwise (docs/hoisting.md, "Elements and classes"), from the operator table
// (ops/facts.h) and a few attributes. Under which conditions a move may change such a node:
// moves/conditions.h.
#pragma once

#include <cstdint>
#include <optional>

#include "infer/infer.h"
#include "ir/model.h"

namespace graphopt {

// Returns whether `n` is elementwise as docs/hoisting.md ("Elements and classes") defines it: by its class,
// with one result, known types, no strings, known attributes, and equal shapes where the opset does not
// broadcast.
bool is_elementwise(const Model& m, const Inference& infer, NodeId n);
// The same for operands and a result of which is_plain() is known.
bool is_elementwise_on_plain(const Model& m, const Inference& infer, NodeId n);
// Returns whether t is known and not String.
inline bool is_plain(DType t) { return t != DType::Undefined && t != DType::String; }
// Returns the axis of a QuantizeLinear or DequantizeLinear per axis; nothing for one per tensor and for other
// operators.
std::optional<std::uint32_t> quantization_axis(const Model& m, const Inference& infer, NodeId n);

}  // namespace graphopt
