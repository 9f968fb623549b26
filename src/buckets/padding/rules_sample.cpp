// GridSample and TensorScatter.
#include <algorithm>

#include "buckets/padding/rules.h"

namespace graphopt::padding {

// Each point of the grid samples the images of its batch entry, each channel apart. Coordinates are relative
// to the extents of the image, which therefore must not be padded. Runtimes convert them to integers: padding
// of the grid must not be too large for that.
bool grid_sample(PaddingContext& c) {
  const PaddedValue &x = c.in(0), &grid = c.in(1);
  const std::size_t r = x.rank();
  if (r < 3 || grid.rank() != r) return c.refuse("its grid has another rank than its image");
  const bool is_reflected = c.attr_text(names::padding_mode, "zeros") == "reflection";
  const bool aligned = c.attr(names::align_corners, 0) != 0;
  for (std::size_t i = 2; i < r; ++i) {
    if (x.is_padded(i))
      return c.refuse("its points are relative to the extent of " + c.axis_text(x, bit(i)),
                      {.axis = static_cast<int>(i)});
    // Reflection divides by the distance between the borders.
    if (grid.padded != 0 && is_reflected && aligned && c.dims.range(c.extent(0, i)).low < 2)
      return c.refuse("points in padding may be reflected between borders that coincide");
  }
  if (grid.is_padded(r - 1))
    return c.refuse("the coordinates of its grid are padded", {.axis = static_cast<int>(r) - 1});
  if (x.layouts[0] != grid.layouts[0] && (x.is_padded(0) || grid.is_padded(0)))
    return c.refuse("its operands have different layouts of padding on axis 0", {.axis = 0});
  constexpr double kFarthest = 1e6;
  const Content* bad = c.bad_padding(grid, grid.padded, [&](const Content& p) {
    const Content wide = c.math.widened(p);
    return p.finite() && c.math.low(wide) >= -kFarthest && c.math.high(wide) <= kFarthest;
  });
  if (bad && !grid.pure)
    return c.refuse(
        "padding of its grid holds " + c.math.text(*bad) + ", which may not be convertible to a position",
        {.content = c.math.text(*bad), .needs = "0"});
  std::vector<LayoutId> l{x.layouts[0], x.layouts[1]};
  l.insert(l.end(), grid.layouts.begin() + 1, grid.layouts.end() - 1);
  return c.set_result(std::move(l), [&](AxisMask region) {
    const AxisMask points = (region & 1u) | ((region >> 2) << 1);
    return ContentMath::combined({x.at(region & 3u), grid.at(points)});
  });
}

// A block of entries is written to an axis of a cache from a position on that counts from the front, an own
// one for each batch entry. All entries of the block are written, so it must not be padded along that axis.
// Behind the true extent of the cache nothing is written, since the block ends within the true cache; a
// circular one is written modulo its extent.
bool tensor_scatter(PaddingContext& c) {
  const PaddedValue &cache = c.in(0), &update = c.in(1);
  const std::size_t r = cache.rank();
  const auto axis = normalize_axis(c.attr(names::axis, -2), r);
  if (!axis || *axis == 0 || update.rank() != r) return c.refuse("its axis is not known");
  const auto a = static_cast<std::size_t>(*axis);
  for (std::size_t i = 0; i < r; ++i)
    if (i != a && cache.layouts[i] != update.layouts[i] && (cache.is_padded(i) || update.is_padded(i)))
      return c.refuse("its operands have different layouts of padding on axis " + std::to_string(i),
                      {.axis = static_cast<int>(i)});
  if (update.is_padded(a))
    return c.refuse("padding of its update would be written over the cache", {.axis = static_cast<int>(a)});
  const bool circular = c.attr_text(names::mode, "linear") == "circular";
  if (cache.is_padded(a)) {
    if (!c.layouts.is_prefix(cache.layouts[a]))
      return c.refuse("there is padding within " + c.axis_text(cache, bit(a)));
    if (circular) return c.refuse("it counts modulo the padded extent of " + c.axis_text(cache, bit(a)));
  }
  if (c.has(2)) {
    const PaddedValue& at = c.in(2);
    if (at.rank() != 1 || (at.layouts[0] != cache.layouts[0] && (at.is_padded(0) || cache.is_padded(0))))
      return c.refuse("its positions have another layout of padding than its batch");
    const DimId size = c.a.in_padded_run(c.extent(0, a));
    const DimId most = size ? c.dims.sub(size, c.extent(1, a)) : DimId{};
    const Content* bad = c.bad_padding(at, at.padded, [&](const Content& p) {
      return p.finite() && c.math.at_least(p, 0) &&
             (circular || (most && c.math.less_equal(p.high, {0, most})));
    });
    if (bad && !at.pure)
      return c.refuse("padding of its positions may be out of range: it holds " + c.math.text(*bad));
  }
  return c.set_result(cache.layouts, [&](AxisMask region) {
    const bool behind = (region & bit(a)) != 0 && (region & bit(0)) == 0;
    return behind ? cache.at(region) : c.math.join(cache.at(region), update.at(region));
  });
}

}  // namespace graphopt::padding
