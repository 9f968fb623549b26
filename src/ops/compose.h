// What two data movements, one after the other, are together. The pass `compose` asks it of a model, the
// clean-up of a draft of its drafts, so that both decide alike.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "ir/model.h"

namespace graphopt {

// Returns the perm of Transpose <perm = outer> (Transpose <perm = inner> (x)). Precondition: equal sizes,
// both permutations.
std::vector<std::int64_t> composed_perm(std::span<const std::int64_t> inner,
                                        std::span<const std::int64_t> outer);

// Returns whether a Transpose moves axes of extent 1 alone, so that the elements keep their row-major order.
// is_one(axis) tells whether an axis of the operand has extent 1 in every run.
template <class IsOne> bool keeps_order(std::span<const std::int64_t> perm, IsOne is_one) {
  std::int64_t last = -1;
  for (const std::int64_t axis : perm) {
    if (is_one(axis)) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

// Replaces each item, again and again, by those that inner(item) returns: the operands of a Concat by those
// of the Concats that compute them, the results of a Split by those of the Splits that read them. inner
// returns a range, empty where the item stays. Returns false if all stay; `flat` receives the items in order.
template <class Item, class Inner>
bool splice(std::span<const Item> items, Inner inner, std::vector<Item>& flat) {
  bool any = false;
  flat.clear();
  std::vector<Item> stack(items.rbegin(), items.rend());
  while (!stack.empty()) {
    const Item item = stack.back();
    stack.pop_back();
    const std::span<const Item> parts = inner(item);
    if (parts.empty()) flat.push_back(item);
    else stack.insert(stack.end(), parts.rbegin(), parts.rend());
    any = any || !parts.empty();
  }
  return any;
}

// Slices of one value along one axis, by (begin, end).
template <class Node> using Slices = std::map<std::pair<std::int64_t, std::int64_t>, std::vector<Node>>;
// Returns whether they cover the axis without gap and overlap, in at least two parts: then a Split can
// compute them.
template <class Node> bool tiles(const Slices<Node>& slices, std::int64_t extent) {
  std::int64_t end = 0;
  for (const auto& [bounds, nodes] : slices) {
    if (bounds.first != end) return false;
    end = bounds.second;
  }
  return slices.size() > 1 && end == extent;
}

// A Slice on one axis by constants: its first element, which may lie behind the last one, and its step.
struct AxisSlice {
  std::size_t axis = 0;
  std::int64_t begin = 0, step = 1;
};
// Reads a node of kind Slice, of opset 10 or newer, with an operand of this rank. extent(axis) returns the
// operand's extent where it is a number. Nothing for other Slices, a step below 1, and a start that counts
// back beyond the first element.
template <class Extent>
std::optional<AxisSlice> axis_slice(const Model& m, NodeId n, std::size_t rank, Extent extent);

// Returns whether Cast <to = c> (Cast <to = b> (x)) has the bits of Cast <to = c> (x) for every x of type a:
// b holds every number of a, and what is converted to c is defined for all of them or the same on both ways.
bool casts_compose(DType a, DType b, DType c);

// --- implementation ----------------------------------------------------------------------------------------

struct SliceParameters {
  std::int64_t start = 0, axis = 0, step = 1;
};
// Returns the parameters if each is a constant of one element.
std::optional<SliceParameters> single_slice(const Model& m, NodeId n);

template <class Extent>
std::optional<AxisSlice> axis_slice(const Model& m, NodeId n, std::size_t rank, Extent extent) {
  const auto given = single_slice(m, n);
  const auto r = static_cast<std::int64_t>(rank);
  if (!given || given->step < 1 || given->axis < -r || given->axis >= r) return std::nullopt;
  const auto axis = static_cast<std::size_t>(given->axis < 0 ? given->axis + r : given->axis);
  const std::optional<std::int64_t> length = extent(axis);
  if (!length || given->start < -*length) return std::nullopt;
  return AxisSlice{axis, given->start < 0 ? given->start + *length : given->start, given->step};
}

}  // namespace graphopt
