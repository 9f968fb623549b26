// The numbers of a Pad, which moved from attributes to operands (opset 11) and got a list of axes (opset 18).
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

#include "ir/model.h"

namespace graphopt {

// Returns the pads as written, begins of the node's axes and then ends; nothing where they are not known.
std::optional<std::vector<std::int64_t>> pads_of(const Model& m, NodeId n);

// Returns the pads of all axes of an operand of this rank, begins and then ends; nothing where they are not
// known or do not fit the rank.
std::optional<std::vector<std::int64_t>> pads_of_all_axes(const Model& m, NodeId n, std::size_t rank);

// What a Pad of mode "constant" fills with, bit by bit: -0 is not +0.
struct PadValue {
  bool real = false;
  std::uint64_t bits = 0;

  static PadValue of(double x) { return {true, std::bit_cast<std::uint64_t>(x)}; }
  static PadValue of(std::int64_t x) { return {false, static_cast<std::uint64_t>(x)}; }
  bool operator==(const PadValue&) const = default;
};

// Returns the value of a Pad of elements of this type, 0 where none is given; nothing where it is not known.
std::optional<PadValue> pad_value_of(const Model& m, NodeId n, DType type);

}  // namespace graphopt
