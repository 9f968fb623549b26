// Operators that mix entries of some axes, and compute all entries of the others apart: the former must not
// be padded, the latter may be.
#include <algorithm>

#include "buckets/padding/rules.h"

namespace graphopt::padding {
namespace {

// The axes of operand 0 that the operator mixes; those before them, or between them, stay where they are.
std::optional<AxisMask> mixed_axes(PaddingContext& c, const PaddedValue& x) {
  const std::size_t r = x.rank();
  switch (c.kind) {
    case OpKind::Det:
      if (r < 2) return std::nullopt;
      return bit(r - 1) | bit(r - 2);
    case OpKind::DFT: {
      const auto axis = c.axis(r);
      if (!axis || r < 2) return std::nullopt;
      return bit(*axis) | bit(r - 1);
    }
    case OpKind::Col2Im:
      if (r != 3) return std::nullopt;
      return bit(1) | bit(2);
    case OpKind::TfIdfVectorizer:
      if (r != 1 && r != 2) return std::nullopt;
      return bit(r - 1);
    default:  // ensembles of trees: (rows, features)
      if (r != 2) return std::nullopt;
      return bit(1);
  }
}

}  // namespace

bool apart(PaddingContext& c) {
  const PaddedValue& x = c.in(0);
  const auto mixed = mixed_axes(c, x);
  if (!mixed) return c.refuse("the axes that it works along are not known");
  if ((*mixed & x.padded) != 0)
    return c.refuse("it mixes entries of " + c.axis_text(x, *mixed),
                    {.axis = std::countr_zero(*mixed & x.padded)});
  for (std::size_t i = 1; i < c.input_count(); ++i)
    if (c.has(i) && !c.in(i).identical) return c.refuse("a parameter depends on a padded extent");
  const auto rank = c.output_rank(0);
  if (!rank) return c.refuse("the extents of its result are not known");
  const auto is_apart = [&](std::size_t i) { return i < x.rank() && (*mixed >> i & 1u) == 0; };
  for (std::size_t i = 0; i < *rank; ++i)
    if (is_apart(i) && x.is_padded(i) && !c.inferred(0, i)) return c.unknown_extent(0, i);
  // What is left depends on extents and parameters that are equal in both runs.
  c.make_stable(0);
  std::vector<LayoutId> l;
  for (std::size_t i = 0; i < *rank; ++i) {
    l.push_back(is_apart(i) ? x.layouts[i] : c.inferred(0, i));
    if (!l.back()) return c.unknown_extent(0, i);
    if (!is_apart(i) && c.layouts.padded(l.back()))
      return c.refuse("its result has a padded extent of its own");
  }
  return c.set_result(std::move(l), [](AxisMask) { return ContentMath::anything(); });
}

// Cuts or pads an axis at both ends: what is cut in front depends on the extent, so a padded axis must stay
// as it is.
bool center_crop_pad(PaddingContext& c) {
  const PaddedValue& x = c.in(0);
  if (c.output_rank(0) != x.rank()) return c.refuse("the rank of its result is not known");
  for (std::size_t i = 0; i < x.rank(); ++i)
    if (x.is_padded(i) && !c.inferred(0, i)) return c.unknown_extent(0, i);
  if (c.in(1).identical) c.make_stable(0);  // the other extents are among its elements
  auto l = c.inferred(0);
  if (!l) return c.refuse("the extents of its result are not known");
  for (std::size_t i = 0; i < x.rank(); ++i) {
    if (c.dims.equal(c.layouts.extent((*l)[i]), c.extent(0, i)) == Tri::Yes) (*l)[i] = x.layouts[i];
    else if (x.is_padded(i) || c.layouts.padded((*l)[i]))
      return c.refuse("where axis " + std::to_string(i) + " begins in the result depends on a padded extent",
                      {.axis = static_cast<int>(i)});
  }
  return c.set_result(std::move(*l),
                      [&](AxisMask region) { return c.math.join(x.at(region), ContentMath::number(0)); });
}

// Elements stay where they are; their bits mean another number. Of a zero, -0 has other bits than 0.
bool bit_cast(PaddingContext& c) {
  return c.set_result(c.in(0).layouts, [](AxisMask) { return ContentMath::anything(); });
}

}  // namespace graphopt::padding
