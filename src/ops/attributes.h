// Typed access to the attributes of a node, or of an operator without one, with the defaults of the fact
// table, and to parameters that moved from attributes to operands between opsets.
//
// Each function returns nothing where the value is not known: the attribute is of another kind, refers to an
// attribute of the calling node (inside functions), or has no default; the operand is not a constant.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ir/model.h"
#include "ops/facts.h"
#include "support/known_names.h"

namespace graphopt {

// What is written of an operator, and its row in the fact table, which has the defaults of the others.
struct Attributes {
  const Model& model;  // of the names and tensors
  const OpFacts& row;
  std::span<const Attr> written;
};
std::optional<std::int64_t> int_attr(const Attributes& a, NameId name);
std::optional<float> float_attr(const Attributes& a, NameId name);
std::optional<std::string_view> string_attr(const Attributes& a, NameId name);
std::optional<std::span<const std::int64_t>> ints_attr(const Attributes& a, NameId name);
TensorId tensor_attr(const Attributes& a, NameId name);
bool has_attr(const Attributes& a, NameId name);

std::optional<std::int64_t> int_attr(const Model& m, NodeId n, NameId name);
std::optional<float> float_attr(const Model& m, NodeId n, NameId name);
std::optional<std::string_view> string_attr(const Model& m, NodeId n, NameId name);
std::optional<std::span<const std::int64_t>> ints_attr(const Model& m, NodeId n, NameId name);
std::optional<std::span<const float>> floats_attr(const Model& m, NodeId n, NameId name);
TensorId tensor_attr(const Model& m, NodeId n, NameId name);

// Returns true if the attribute is written at the node, also as a reference.
bool has_attr(const Model& m, NodeId n, NameId name);

// Returns true if the fact table has the operator at the node's opset and lists all attributes of the node,
// and none is a reference. Facts about the operator may be used only then.
bool attributes_known(const Model& m, NodeId n);

// Returns the elements of a constant operand of an integer type (int_list in ops/constants.h); nothing when
// it is absent or not a constant.
std::optional<std::vector<std::int64_t>> int_operand(const Model& m, NodeId n, std::size_t slot);

// Returns the axis or axes of a node as written (not normalized), from the attribute or operand that its
// opset has. Empty: an absent or empty list where that is allowed (the fact about the operator tells whether
// it means all axes or none).
std::optional<std::vector<std::int64_t>> axes_of(const Model& m, NodeId n);

// Returns axis, or axis + rank for a negative one; nothing outside -rank ... rank - 1.
std::optional<std::int64_t> normalize_axis(std::int64_t axis, std::size_t rank);
// The same for all axes, in the given order; nothing when one is out of range or occurs twice.
std::optional<std::vector<std::int64_t>> normalize_axes(std::span<const std::int64_t> axes, std::size_t rank);

}  // namespace graphopt
