#include "ops/axis_order.h"

#include <algorithm>

namespace graphopt {
namespace {

constexpr std::size_t kNoAxis = ~std::size_t{0};

}  // namespace

std::vector<DimId> AxisOrder::result() const {
  std::vector<DimId> out;
  out.reserve(perm.size());
  for (const std::int64_t axis : perm) out.push_back(dims[static_cast<std::size_t>(axis)]);
  return out;
}

std::vector<std::size_t> joints(const DimPool& dims, const AxisOrder& order) {
  const auto is_one = [&](std::size_t axis) { return dims.is_constant(order.dims[axis], 1); };
  std::vector<std::size_t> next(order.dims.size(), kNoAxis);  // in the operand
  for (std::size_t axis = order.dims.size(), last = kNoAxis; axis-- > 0;) {
    if (is_one(axis)) continue;
    next[axis] = last;
    last = axis;
  }
  std::vector<std::size_t> out;
  std::size_t last = kNoAxis;  // in the result
  for (const std::int64_t a : order.perm) {
    const auto axis = static_cast<std::size_t>(a);
    if (is_one(axis)) continue;
    if (last != kNoAxis && next[last] == axis) out.push_back(last);
    last = axis;
  }
  std::ranges::sort(out);
  return out;
}

std::optional<AxisOrder> join_axes(DimPool& dims, const AxisOrder& order, std::span<const std::size_t> joined,
                                   Ones ones) {
  AxisOrder out;
  std::vector<std::size_t> place(order.dims.size(), kNoAxis);  // of axes that begin one of the new axes
  std::size_t group = kNoAxis;                                 // that the next axis joins, if any
  for (std::size_t axis = 0; axis < order.dims.size(); ++axis) {
    const DimId d = order.dims[axis];
    const bool one = dims.is_constant(d, 1);
    if (one && ones == Ones::Dropped) continue;
    if (one || group == kNoAxis) {
      place[axis] = out.dims.size();
      out.dims.push_back(d);
    } else {
      out.dims[group] = dims.mul(out.dims[group], d);
      if (!out.dims[group]) return std::nullopt;
    }
    if (one) continue;
    if (group == kNoAxis) group = place[axis];
    if (!std::ranges::binary_search(joined, axis)) group = kNoAxis;
  }
  for (const std::int64_t axis : order.perm)
    if (const std::size_t p = place[static_cast<std::size_t>(axis)]; p != kNoAxis)
      out.perm.push_back(static_cast<std::int64_t>(p));
  return out;
}

std::optional<AxisOrder> least_order(DimPool& dims, const AxisOrder& order) {
  return join_axes(dims, order, joints(dims, order), Ones::Dropped);
}

}  // namespace graphopt
