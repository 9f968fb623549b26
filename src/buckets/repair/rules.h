// One refused node as its repair sees it, and the repairs.
//
// A repair checks everything first, then adds nodes before the node, changes operands of it or replaces it,
// says what it did in `text`, and returns true; or it calls refuse(), has changed nothing, and returns false.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "buckets/padding/context.h"
#include "buckets/repair/extents.h"
#include "buckets/repair/masks.h"
#include "ops/attributes.h"

namespace graphopt {

class RepairContext {
 public:
  RepairContext(Model& m, const Inference& inference, ExtentValues& e, Masks& k, PaddingAnalysis& analysis,
                const Contamination& why);

  Model& model;
  const Inference& inference;
  ExtentValues& extents;
  Masks& masks;
  const Contamination refusal;
  const NodeId n;
  PaddingContext c;  // the node as the analysis sees it
  Emitter here;      // before the node
  std::string text;  // what was done

  bool refuse(std::string why) {
    text = std::move(why);
    return false;
  }
  // Returns why the true extent cannot be computed; empty where it can.
  std::string no_extent(DimId extent) const { return extents.obstacle(extent, ExtentOf::TrueRun); }
  // The true extent, of this type.
  ValueId true_extent(DimId extent, DType type, Emitter& at) const;
  // Makes operator `kind` of these operands the node's result in its place, and removes the node.
  void replace(OpKind kind, std::span<const ValueId> operands, std::span<const IntAttr> attributes = {});

  // --- means and normalizations ----------------------------------------------------------------------------
  // The type in which sums are computed: float for types of 16 bits, whose sums overflow. Undefined for
  // types of which no mean is written.
  DType sum_type() const;
  ValueId as_sum_type(ValueId v, std::string_view what);
  // The product of the true extents of these axes of operand 0.
  DimId count_of(std::span<const std::size_t> axes) const;
};

namespace repairs {

bool mask(RepairContext& r);             // repair_mask.cpp: and MaskProduct
bool true_mean(RepairContext& r);        // repair_mean.cpp
bool true_statistics(RepairContext& r);  // repair_statistics.cpp
bool last_index(RepairContext& r);       // repair_index.cpp
bool lengths(RepairContext& r);          // repair_lengths.cpp

}  // namespace repairs

}  // namespace graphopt
