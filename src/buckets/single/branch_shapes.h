// Inputs padded to the extents of a bucket, and outputs cut to the true ones, as nodes of its branch.
//
// Problem: a branch holds a graph of fixed extents; what comes in and goes out has others. Method:
//
//   input    segments of an axis are sliced out, each is filled up, and they are joined again; axes whose
//            padding is at the end are filled by one Pad, or, for types that Pad does not take, by Concat
//            with an Expand of the element; a Reshape to the numbers of the bucket tells inference in the
//            branch what they are
//   output   axes whose true elements are at the front are cut by one Slice; of another axis the positions
//            of the true elements are computed, and Gather takes them
//
//   past ++ seq, past 3 of 4, seq 2 of 8    positions 0 1 2, and 0 1 behind the 4 of past: 4 5
//   batch x seq, batch 2 of 4, seq 3 of 8   0 1 2 and 8 9 10
//
// Extents of the true run, and what follows from them alone, are computed once, before the branches part.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "buckets/formula_writer.h"
#include "buckets/single/dispatch_plan.h"
#include "rewrite/emitter.h"

namespace graphopt {

// Values that all branches read: lists of int64.
class TrueExtents {
 public:
  TrueExtents(Emitter& out, DimPool& pool, std::function<ValueId(DimId)> symbol)
      : out_(out), pool_(pool), formulas_(out, pool, FormulaWriter::Form::List, std::move(symbol)) {}

  DimPool& pool() { return pool_; }
  // Each returns none where a formula cannot be written.
  ValueId value(DimId extent) { return formulas_.value(extent); }
  ValueId list(std::span<const DimId> extents);
  ValueId counted(DimId extent);  // 0, 1, ..., extent - 1

 private:
  Emitter& out_;
  DimPool& pool_;
  FormulaWriter formulas_;
  std::map<std::vector<DimId>, ValueId> lists_;
  std::map<DimId, ValueId> counted_;
  ValueId zero_, one_;
};

class BranchShapes {
 public:
  // `sizes`: of the bucket, in the order of the plan's symbols.
  BranchShapes(const DispatchPlan& plan, TrueExtents& extents, Emitter& out,
               std::span<const std::int64_t> sizes)
      : plan_(plan), extents_(extents), out_(out), sizes_(sizes) {}

  // Returns the input with the extents of the bucket; `shape` is the Shape of x.
  ValueId padded(const DispatchPlan::Input& input, ValueId x, ValueId shape);
  // Returns the true part of a result of the branch.
  ValueId cut(const DispatchPlan::Output& output, ValueId y);
  // Returns true if a formula could not be written: what was returned is of no use.
  bool failed() const { return failed_; }

 private:
  // A pad element, and the type that what is filled with it is cast to, if any.
  struct Filler {
    ValueId element;
    DType type = DType::Undefined;
  };
  DimId in_bucket(DimId extent);
  ValueId padded_extent(DimId extent);
  ValueId needed(ValueId v) {
    failed_ = failed_ || !v;
    return v;
  }
  Filler filler_of(const DispatchPlan::Input& input);
  ValueId filling(const Filler& filler, ValueId shape, std::size_t rank, std::size_t axis, ValueId amount);
  ValueId with_segments(const AxisPlace& place, ValueId x, ValueId shape, std::size_t rank, std::size_t axis,
                        const Filler& filler);
  ValueId positions(const AxisPlace& place);

  const DispatchPlan& plan_;
  TrueExtents& extents_;
  Emitter& out_;
  std::span<const std::int64_t> sizes_;
  bool failed_ = false;
};

}  // namespace graphopt
