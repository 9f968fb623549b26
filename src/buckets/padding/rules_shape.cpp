// Operators that read extents, or move whole axes: no element is computed from another one.
#include <algorithm>

#include "buckets/padding/rules.h"
#include "buckets/padding/type_limits.h"
#include "ops/constants.h"

namespace graphopt::padding {

// Shape and Size: inference states their elements. Here it could not.
bool extents(PaddingContext& c) { return c.refuse("an extent of the operand has no formula"); }

bool transpose(PaddingContext& c) {
  const PaddedValue& v = c.in(0);
  std::vector<std::size_t> from;
  if (const auto perm = c.attr_list(names::perm)) {
    for (const std::int64_t i : *perm) {
      if (i < 0 || static_cast<std::size_t>(i) >= v.rank()) return c.refuse("its permutation is not one");
      from.push_back(static_cast<std::size_t>(i));
    }
  } else {
    for (std::size_t i = v.rank(); i-- > 0;) from.push_back(i);
  }
  if (from.size() != v.rank()) return c.refuse("its permutation is not one");
  return c.set(0, c.moved(v, from));
}

bool squeeze(PaddingContext& c) {
  const PaddedValue& v = c.in(0);
  auto removed = c.axes(v.rank());
  if (!removed) return c.refuse("its axes are not known");
  const bool all_ones = removed->empty();
  for (std::size_t i = 0; all_ones && i < v.rank(); ++i) {
    if (c.is_one(c.extent(0, i))) removed->push_back(i);
    else if (c.dims.equal(c.extent(0, i), c.dims.constant(1)) != Tri::No)
      return c.refuse("it removes axis " + std::to_string(i) + " in runs in which its extent is 1");
  }
  std::vector<std::size_t> from;
  for (std::size_t i = 0; i < v.rank(); ++i) {
    if (std::ranges::find(*removed, i) == removed->end()) from.push_back(i);
    else if (v.is_padded(i)) return c.refuse("it removes the padded " + c.axis_text(v, bit(i)));
  }
  return c.set(0, c.moved(v, from));
}

bool unsqueeze(PaddingContext& c) {
  const PaddedValue& v = c.in(0);
  const auto rank = c.output_rank(0);
  const auto added = c.axes(rank.value_or(0));
  if (!rank || !added || added->size() + v.rank() != *rank) return c.refuse("its axes are not known");
  std::vector<std::size_t> from;
  std::size_t next = 0;
  for (std::size_t i = 0; i < *rank; ++i)
    from.push_back(std::ranges::find(*added, i) == added->end() ? next++ : PaddingContext::kNew);
  return c.set(0, c.moved(v, from));
}

// Repeats entries of axes of extent 1; a new padded axis is padded with the same entries.
bool expand(PaddingContext& c) {
  const PaddedValue& v = c.in(0);
  const auto target = c.elements(1);
  if (!target) return c.refuse("its shape is not known");
  const std::size_t r = std::max(target->size(), v.rank());
  std::vector<LayoutId> l;
  for (std::size_t i = 0; i < r; ++i) {
    const bool own = i + v.rank() >= r, given = i + target->size() >= r;
    const LayoutId have = own ? v.layouts[i + v.rank() - r] : LayoutId{};
    const DimId want = given ? (*target)[i + target->size() - r] : c.dims.constant(1);
    if (have && (c.is_one(want) || c.dims.equal(c.layouts.extent(have), want) == Tri::Yes)) {
      l.push_back(have);
    } else if (!have || c.is_one(c.layouts.extent(have))) {
      l.push_back(c.a.layout_of(want));
    } else if (!c.layouts.padded(have) && !c.a.bucketed(want)) {
      l.push_back(c.inferred(0, i));
    } else {
      return c.refuse("it relates the extents " + c.dims.print(c.layouts.extent(have)) + " and " +
                      c.dims.print(want) + " on axis " + std::to_string(i));
    }
    if (!l.back()) return c.unknown_extent(0, i);
  }
  return c.set_result(std::move(l), [&](AxisMask region) { return v.at(operand_region(v, r, region)); });
}

bool constant_of_shape(PaddingContext& c) {
  auto l = c.inferred(0);
  if (!l) return c.refuse("its shape is not known");
  Content content = ContentMath::number(0);
  if (const TensorId t = tensor_attr(c.m, c.n, names::value)) {
    if (const auto real = real_scalar(c.m, t)) content = ContentMath::number(*real);
    else if (const auto integer = int_scalar(c.m, t))
      content = ContentMath::interval(outward(*integer, -kInfinity), outward(*integer, kInfinity));
    else content = ContentMath::anything();
  }
  return c.set_result(std::move(*l), [&](AxisMask) { return content; });
}

// Element i is start + i * delta in both runs, if start is.
bool range(PaddingContext& c) {
  const auto start = c.elements(0), limit = c.elements(1), delta = c.elements(2);
  const LayoutId l = c.inferred(0, 0);
  const auto step = delta ? c.dims.value(delta->front()) : std::nullopt;
  if (!start || !limit || !step || *step == 0 || !l) return c.refuse("its bounds are not known as extents");
  if (c.a.bucketed(start->front()))
    return c.refuse("it starts at " + c.dims.print(start->front()) + ", which depends on a padded extent");
  const DimId n = c.layouts.extent(l), padded = c.a.in_padded_run(n), one = c.dims.constant(1);
  const auto position = [&](DimId i) {
    const DimId scaled = i ? c.dims.mul(i, c.dims.constant(*step)) : DimId{};
    return scaled ? c.dims.add(start->front(), scaled) : DimId{};
  };
  return c.set_result({l}, [&](AxisMask region) {
    const DimId first = position(region == 0 ? c.dims.constant(0) : n);
    const DimId last = position(c.dims.sub(region == 0 ? n : padded, one));
    if (!first || !last || !padded) return ContentMath::any_finite();
    return *step > 0 ? ContentMath::between(first, last) : ContentMath::between(last, first);
  });
}

// Tiling by r is a product (r, axis).
bool tile(PaddingContext& c) {
  const PaddedValue& v = c.in(0);
  const auto repeats = c.elements(1);
  if (!repeats || repeats->size() != v.rank()) return c.refuse("its repeats are not known");
  std::vector<LayoutId> l;
  AxisMask by_extent = 0;
  for (std::size_t i = 0; i < v.rank(); ++i) {
    const LayoutId times = c.a.layout_of((*repeats)[i]);
    if (!times) return c.refuse("its repeats are not known");
    if (c.layouts.padded(times)) by_extent |= bit(i);
    const std::vector<LayoutId> parts{times, v.layouts[i]};
    l.push_back(c.layouts.product(parts));
  }
  return c.set_result(std::move(l), [&](AxisMask region) {
    const AxisMask surely = region & v.padded & ~by_extent;
    return c.join_over(v, surely, region & v.padded & by_extent);
  });
}

bool eye_like(PaddingContext& c) {
  auto l = c.inferred(0);
  if (!l) return c.refuse("an extent has no formula");
  for (const LayoutId i : c.in(0).layouts)
    if (c.layouts.padded(i) && !c.layouts.is_prefix(i)) return c.refuse("padding is within an axis");
  return c.set_result(std::move(*l), [](AxisMask) { return ContentMath::boolean(); });
}

// Sets elements on one side of a diagonal to 0. A region that lies on that side for all extents holds 0.
bool trilu(PaddingContext& c) {
  const PaddedValue& v = c.in(0);
  const auto k = c.has(1) ? c.number(1) : std::optional<std::int64_t>(0);
  if (!k || v.rank() < 2) return c.refuse("its diagonal is not known");
  const std::size_t row = v.rank() - 2, column = v.rank() - 1;
  for (const std::size_t i : {row, column})
    if (v.is_padded(i) && !c.layouts.is_prefix(v.layouts[i])) return c.refuse("padding is within an axis");
  const bool upper = c.attr(names::upper, 1) != 0;
  const DimId one = c.dims.constant(1);
  struct Span {
    DimId first, last;
  };
  const auto span = [&](std::size_t axis, AxisMask region) -> Span {
    const DimId extent = c.extent(0, axis);
    if ((region & v.padded & bit(axis)) == 0) return {c.dims.constant(0), c.dims.sub(extent, one)};
    const DimId padded = c.a.in_padded_run(extent);
    return {extent, padded ? c.dims.sub(padded, one) : DimId{}};
  };
  return c.set_result(v.layouts, [&](AxisMask region) {
    const Span r = span(row, region), col = span(column, region);
    // Kept where column - row >= k (upper) or <= k.
    const DimId low = upper ? col.last : r.last, high = upper ? r.first : col.first;
    const DimId diagonal = c.dims.constant(*k);
    const bool zero = low && high &&
                      (upper ? c.dims.less(low, c.dims.add(high, diagonal))
                             : c.dims.less(c.dims.add(low, diagonal), high)) == Tri::Yes;
    return zero ? ContentMath::number(0) : c.math.join(v.at(region), ContentMath::number(0));
  });
}

}  // namespace graphopt::padding
