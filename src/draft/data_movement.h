// What is needed to move data in a draft: the types that new Reshapes, Transposes, Concats and Splits take,
// the lengths of a Split, and constants, whose elements are moved at once instead of by a node.
#pragma once

#include <cstdint>
#include <span>

#include "draft/draft.h"

namespace graphopt {

// Returns whether Reshape, Squeeze, Unsqueeze, Transpose, Concat and Split take this type in the model's
// opset and have kernels for it in ONNX Runtime.
bool type_can_move(const Draft& d, DType type);

// Sets the lengths of a Split to the extents of its results along its axis, which must be numbers.
void set_lengths(Draft& d, DNode split);

// Returns a constant with other dims over the same bytes.
DValue reshaped_constant(Draft& d, DValue constant, ShapeId to);
// The next three make new bytes. They return none if the result would have more than
// SearchLimits::constant_elements elements (which counts as a hit of that limit), or the source has no raw
// bytes.
// Returns a constant with its axes permuted.
DValue transposed_constant(Draft& d, DValue constant, std::span<const std::int64_t> perm);
// Returns a constant broadcast to `dims`; none also if it does not broadcast to them.
DValue expanded_constant(Draft& d, DValue constant, std::span<const std::int64_t> dims);
// Returns constants of one rank, whose dims are equal but for `axis`, joined along it.
DValue joined_constants(Draft& d, std::span<const DValue> constants, std::size_t axis);

}  // namespace graphopt
