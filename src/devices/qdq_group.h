// Which nodes are inside a QDQ group: a device that computes in 8-bit integers runs an operator when its
// operands come from DequantizeLinear and its results go to QuantizeLinear, and no other.
//
// Problem: the operator of such a group is a float one (Conv of float tensors), so its own types do not say
// whether a device may compute it in integers; its neighbours do.
// Method: the group of an operator (the core) is found from any of its nodes. It has the core; perhaps one
// elementwise activation that alone reads it; the QuantizeLinear nodes that read the last of both; the
// DequantizeLinear nodes that make the core's operands. The group is quantized as a whole when each floating
// operand of the core comes from a DequantizeLinear of the same graph, at least one does, and nothing but
// QuantizeLinear reads the results. A constant scalar (a bound of Clip, the value of Pad) may stay float,
// since devices have it as a parameter. Operands that are no floats (indices, shapes) do not count.
// An answer costs the operands and readers of the core, of which there are at most kMostQdqNeighbours: a node
// with more is in no group.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "infer/infer.h"
#include "ir/model.h"

namespace graphopt {

inline constexpr std::size_t kMostQdqNeighbours = 1024;

// Whether a node is QuantizeLinear or DequantizeLinear, of ai.onnx or com.microsoft.
bool quantizes(const Model& m, NodeId n);
bool dequantizes(const Model& m, NodeId n);

// Returns the DequantizeLinear that makes an operand; none for others.
NodeId dequantizer(const Model& m, ValueId v);

// Returns true if some operand of the node comes from a DequantizeLinear.
bool reads_dequantized(const Model& m, NodeId n);

// Returns true if each result of the node is read, and by QuantizeLinear nodes alone.
bool only_quantized(const Model& m, NodeId n);

// Returns the node whose result, through the activation `last` if it is one, reaches QuantizeLinear: the core
// of the group that `last` ends.
NodeId qdq_core(const Model& m, NodeId last);

// Returns nothing if the node is inside a QDQ group, as a QuantizeLinear or DequantizeLinear of it, too; else
// what is missing: "float input 1 'w' is not made by DequantizeLinear".
std::optional<std::string> outside_qdq_group(const Model& m, const Inference& inference, NodeId n);

}  // namespace graphopt
