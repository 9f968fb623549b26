// A Transpose as an order of axes, and the same order with fewer axes: axes that are neighbours in operand
// and result move as one, and axes of extent 1 hold no order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ir/dim.h"

namespace graphopt {

struct AxisOrder {
  std::vector<DimId> dims;         // of the operand
  std::vector<std::int64_t> perm;  // for each axis of the result, that of the operand; a permutation

  std::vector<DimId> result() const;  // the dims of the result
};

// Returns the axes that the next one follows in the result, too, in ascending order. Axes of extent 1 neither
// count nor separate others.
std::vector<std::size_t> joints(const DimPool& dims, const AxisOrder& order);

enum class Ones : std::uint8_t { Dropped, Kept };

// Joins each of these axes, which must be among the joints, with the next one that is not of extent 1. The
// elements of the result keep their row-major order. Nothing where an extent would leave int64.
std::optional<AxisOrder> join_axes(DimPool& dims, const AxisOrder& order, std::span<const std::size_t> joined,
                                   Ones ones);

// Returns the order with all joints joined and without axes of extent 1. Two Transposes with equal results of
// this, between values of the same dims, move each element to the same place.
std::optional<AxisOrder> least_order(DimPool& dims, const AxisOrder& order);

}  // namespace graphopt
