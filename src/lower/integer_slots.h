// Which operands and results of an operator have one integer type, and may have int32 in place of int64.
//
// Problem: a type is chosen for a type variable of a schema: all operands and results of that variable change
// together, and some integer operands (the target of a Reshape) are int64 by the schema.
// Method: a row per operator, apart from the fact table, which has no type variables. A node has up to three
// groups of slots that change each by itself:
//   data     what is computed
//   indices  that choose elements along an axis: an element outside of the axis fails
//   bounds   of a Slice
// An operator without a row keeps int64. The operators that have one are those whose result for operands that
// fit into int32 is known to be the same, as far as it fits (narrow.cpp).
//
//   Gather: data is operand 0 and result 0, indices is operand 1
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "ir/model.h"
#include "ir/op_kind.h"

namespace graphopt {

enum class IntegerRule : std::uint8_t {
  Moves,       // each element of a result is an element of an operand of the group, or 0
  Arithmetic,  // Add, Mul, Abs ...: one or two operands, element by element
  Extremes,    // Min, Max and Clip
  Compares,    // the operands are compared, the result is Bool
  Cast,
  Range,
  Sums,     // CumSum
  Reduces,  // ReduceSum, ReduceMax ...
  Fill,     // ConstantOfShape
  Reads,    // NonZero: only whether an element is 0 matters
};

// Bit i: operand or result i. The last bit counts for all after it, too.
struct IntegerSlots {
  IntegerRule rule = IntegerRule::Moves;
  std::uint64_t operands = 0, results = 0;  // data
  std::uint64_t indices = 0, bounds = 0;    // operands

  static bool has(std::uint64_t slots, std::size_t i) {
    return ((slots >> std::min<std::size_t>(i, 63)) & 1) != 0;
  }
  bool data(std::size_t operand) const { return has(operands, operand); }
};

// Returns the row of the operator; null where it has none.
const IntegerSlots* integer_slots(OpKind kind);

// Nodes with more operands or results are left alone.
inline constexpr std::size_t kMostSlots = 64;

}  // namespace graphopt
