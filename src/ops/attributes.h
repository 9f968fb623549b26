// Typed access to a node's attributes, with the defaults of the fact table, and to parameters that moved from
// attributes to operands between opsets.
//
// Nothing is returned where the value cannot be told: an attribute of another kind, a reference to an
// attribute of the calling node (inside functions), no attribute and no default, an operand that is not a
// constant.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ir/model.h"
#include "support/known_names.h"

namespace graphopt {

std::optional<std::int64_t> int_attr(const Model& m, NodeId n, NameId name);
std::optional<float> float_attr(const Model& m, NodeId n, NameId name);
std::optional<std::string_view> string_attr(const Model& m, NodeId n, NameId name);
std::optional<std::span<const std::int64_t>> ints_attr(const Model& m, NodeId n, NameId name);
std::optional<std::span<const float>> floats_attr(const Model& m, NodeId n, NameId name);
TensorId tensor_attr(const Model& m, NodeId n, NameId name);

// Is the attribute written at the node (also as a reference)?
bool has_attr(const Model& m, NodeId n, NameId name);

// Does the fact table know all attributes of the node, and none is a reference? What holds of an operator can
// be used only then.
bool attributes_known(const Model& m, NodeId n);

// The elements of an integer tensor (int32 or int64, of any rank, at most kMaxIntList of them).
inline constexpr std::int64_t kMaxIntList = 1 << 16;
std::optional<std::vector<std::int64_t>> int_elements(const Model& m, TensorId t);
// The same of a node's operand; nothing when it is absent or not a constant.
std::optional<std::vector<std::int64_t>> int_operand(const Model& m, NodeId n, std::size_t slot);

// The axis or axes of a node, as written (not normalized), wherever its opset keeps them. Empty: an absent or
// empty list where that is allowed (the reader of the fact knows whether it means all axes or none).
std::optional<std::vector<std::int64_t>> axes_of(const Model& m, NodeId n);

// axis + rank for negative ones; nothing outside -rank ... rank - 1.
std::optional<std::int64_t> normalize_axis(std::int64_t axis, std::size_t rank);
// All of them, in the given order; nothing when one is out of range or stands twice.
std::optional<std::vector<std::int64_t>> normalize_axes(std::span<const std::int64_t> axes, std::size_t rank);

}  // namespace graphopt
