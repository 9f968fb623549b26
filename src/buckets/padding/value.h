// What the analysis keeps of a value.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "buckets/padding/content.h"
#include "buckets/padding/layout.h"
#include "ir/model.h"
#include "ir/types.h"

namespace graphopt {

using AxisMask = std::uint32_t;  // a set of axes, a bit each
// As many axes of one value may be padded: contents are kept for each set of them.
inline constexpr int kMaxPaddedAxes = 6;
inline constexpr std::size_t kMaxPaddedRank = 32;

// Why a value cannot be trusted: the first node on its way that mixes padding into the true part.
struct Contamination {
  NodeId node = {};  // none: an input that the analysis does not take
  std::string reason = {};
  int axis = -1;  // of the operand; -1 where no single one is to blame
  std::string content = {}, needs = {};
  std::optional<BucketRepair> repair = {};  // what would make the node safe; none is known
  struct Place {
    std::size_t operand;
    std::vector<int> axes;
    double fill = 0;  // what may stand there; an infinity: the number of an integer type nearest to it
  };
  std::vector<Place> places = {};  // operands and axes that the repair masks
  std::string remedy = {};         // what helps; empty where nothing special does
};
using ContaminationId = Id<struct ContaminationTag>;

// A flat index or a coordinate with its stride, which is an extent.
struct IndexTerm;

// For each set of padded axes the content of the elements that lie in the padding of exactly these axes, and
// in the true part of the others. The empty set is the true part.
struct PaddedValue {
  bool known = false;  // rank and layouts are known; false: only `bad` counts
  DType type = DType::Undefined;
  std::vector<LayoutId> layouts;
  AxisMask padded = 0;
  std::vector<Content> contents;  // by the rank of a set among the subsets of `padded`
  ContaminationId bad;
  // The same bits in both runs: nothing that it depends on is padded or follows from a padded extent.
  bool identical = false;
  bool pure = false;                // depends on constants and extents alone: a constant of each bucket
  TensorId constant;                // its elements, where they are known
  ValueId origin;                   // the input whose elements these are, in other places or of another type
  std::vector<IndexTerm> linear;    // a flat index into merged axes: the sum of coordinate * stride
  std::vector<ValueId> components;  // of the last axis, each of extent 1: a tuple of indices

  std::size_t rank() const { return layouts.size(); }
  bool is_padded(std::size_t axis) const { return (padded >> axis & 1u) != 0; }
  // Axes of the mask that are not padded do not count.
  const Content& at(AxisMask region) const { return contents[position(region)]; }
  const Content& true_part() const { return contents[0]; }
  bool finite() const {
    for (const Content& c : contents)
      if (!c.finite()) return false;
    return true;
  }

  // Compresses the bits of `region` at the padded axes.
  std::size_t position(AxisMask region) const {
    std::size_t at = 0, bit = 0;
    for (AxisMask rest = padded; rest != 0; rest &= rest - 1, ++bit)
      if (region >> std::countr_zero(rest) & 1u) at |= std::size_t{1} << bit;
    return at;
  }
};

struct IndexTerm {
  PaddedValue coordinate;
  DimId stride;
  int bits = 64;  // of the narrowest integer type that it was multiplied, added or stored in
};

// Calls f(subset) for each subset of `set`, the empty one first, in ascending order.
template <class F> void for_each_subset(AxisMask set, F f) {
  AxisMask s = 0;
  do {
    f(s);
    s = (s - set) & set;
  } while (s != 0);
}

inline AxisMask bit(std::size_t axis) { return AxisMask{1} << axis; }

}  // namespace graphopt
