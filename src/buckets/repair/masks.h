// Masks: which elements of a padded tensor are true.
//
// Problem: padding is to be replaced before a node reads it, wherever it lies along an axis. Method: a mask
// per axis, of its layout (padding/layout.h): positions below the true extent for a prefix, all for what is
// not padded, masks of the parts joined for segments, and combined for a product. Masks of several axes
// combine by And; they have extent 1 along the other axes. All stand in front of the model and read extents
// alone, so that two nodes with the same layouts share them; in a model of one bucket all but the comparison
// with the true extent is constant.
// Exact: in a run on true data each mask is true everywhere. The analysis must find so itself (mistake()).
//
//   prefix s                 Less (Range (0, dim), true_len_s)
//   batch x seq              Reshape (And (Unsqueeze (batch), seq), [-1])
//   past ++ seq              Concat (past, seq)
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "buckets/padding/context.h"
#include "buckets/repair/extents.h"

namespace graphopt {

class Masks {
 public:
  Masks(Model& m, ExtentValues& extents) : m_(m), extents_(extents) {}

  // Returns why these axes of operand i cannot be masked; empty where they can.
  std::string obstacle(const PaddingContext& c, std::size_t i, AxisMask axes) const;
  // Returns Bools that broadcast to operand i: true where the element lies in the true part of all of these
  // axes, of which there is at least one. Precondition: no obstacle.
  ValueId mask(const PaddingContext& c, std::size_t i, AxisMask axes);
  // Returns why these elements of operand i cannot be replaced; empty where they can.
  std::string obstacle(const PaddingContext& c, std::size_t i, AxisMask axes, double fill) const;
  // Returns x, which has the layouts of operand i and is of this type, with `fill` in the padding of these
  // axes. An infinity stands for the number of an integer type that is nearest to it.
  ValueId replaced(const PaddingContext& c, std::size_t i, AxisMask axes, ValueId x, DType type, double fill,
                   Emitter& at);
  // Returns true if the analysis does not find each mask to be true for all true elements.
  bool mistaken(const PaddingAnalysis& analysis) const;

 private:
  std::string obstacle(const PaddingContext& c, LayoutId l, int depth) const;
  // Of rank 1 + trailing; `key` is set to what tells it from others.
  ValueId along(const PaddingContext& c, LayoutId l, std::size_t trailing);
  ValueId made(const PaddingContext& c, LayoutId l);

  Model& m_;
  ExtentValues& extents_;
  std::map<std::string, ValueId> known_;
};

}  // namespace graphopt
