// Bounds of the elements of integer tensors of the main graph.
//
// Problem: whether an int64 tensor fits into int32 is a question about all its elements. Inference knows the
// elements of small tensors one by one, as expressions over extents with bounds; nothing is known there of a
// Range of open length, of a mask that was cast, of their sums. (range_of in passes/index_range.h walks up
// from one value, a few nodes far, and knows no arithmetic; here every value of a model is asked about. The
// analysis of padding has intervals, too: in doubles, of two runs at a time, and under assumptions about
// data.) Method: one sweep in the order of the graph. Where inference knows the elements, the bounds are the
// hull of theirs. Else they follow from those of the operands by the operator's rule, as far as the runtime's
// arithmetic is that of the mathematical integers for all numbers within these bounds
// (ops/integer_arithmetic.h); otherwise they are the bounds of the type. They hold in every run that the
// model accepts, under the assumptions of inference (an extent of an input is below 2^31) and no others.
//
//   n = Shape (x)   r = Range (0, n, 1)   m = Cast <INT64> (b)   s = Mul (r, m)     0 <= s < 2^31, for Bool b
#pragma once

#include <optional>
#include <vector>

#include "infer/infer.h"
#include "ir/model.h"
#include "lower/integer_slots.h"

namespace graphopt {

inline constexpr Range kAnyNumber{Range::kMin, Range::kMax};

class IntegerRanges {
 public:
  // Computes the bounds of all results. The model and inference are kept by reference; values that come into
  // the model later have no bounds.
  IntegerRanges(const Model& m, const Inference& infer);

  // Returns bounds of all elements; an empty tensor has any. kAnyNumber where nothing is known, also for
  // types other than integers and Bool.
  Range of(ValueId v) const { return v && v.index() < ranges_.size() ? ranges_[v.index()] : kAnyNumber; }
  bool fits_int32(ValueId v) const { return fits_int32(of(v)); }
  static bool fits_int32(Range r);

  // Returns whether the node, with operands and results that fit into int32, computes the same in int32 as
  // in int64. False for operators without a row in integer_slots.
  bool computes_alike(NodeId n) const;

 private:
  Range measure(ValueId v, NodeId def) const;
  Range by_rule(NodeId n, std::size_t slot, DType type) const;
  Range arithmetic(NodeId n, DType type) const;
  Range extremes(NodeId n, DType type) const;
  bool never_empty(ValueId v) const;
  std::int64_t longest_axis(ValueId v) const;
  std::optional<std::vector<Range>> elements(ValueId v) const;

  const Model& m_;
  const Inference& infer_;
  std::vector<Range> ranges_;  // by value
};

}  // namespace graphopt
