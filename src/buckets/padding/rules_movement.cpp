// Operators that copy elements along axes: joined, cut, repeated or reversed.
#include <algorithm>
#include <cmath>

#include "buckets/padding/rules.h"
#include "ops/pads.h"

namespace graphopt::padding {

bool concat(PaddingContext& c) {
  const std::size_t r = c.in(0).rank();
  const auto axis = normalize_axis(c.attr(names::axis, 0), r);
  if (!axis) return c.refuse("its axis is not known");
  const auto a = static_cast<std::size_t>(*axis);
  std::vector<LayoutId> l = c.in(0).layouts, joined;
  bool single = a + 1 == r;
  for (std::size_t k = 0; k < c.input_count(); ++k) {
    const PaddedValue& v = c.in(k);
    if (v.rank() != r) return c.refuse("its operands have different ranks");
    for (std::size_t i = 0; i < r; ++i) {
      if (i == a || v.layouts[i] == l[i]) continue;
      if (v.is_padded(i) || c.layouts.padded(l[i]))
        return c.refuse("operands have different layouts of padding, " + c.layouts.text(l[i]) + " and " +
                            c.layouts.text(v.layouts[i]) + ", on axis " + std::to_string(i),
                        {.axis = static_cast<int>(i)});
    }
    joined.push_back(v.layouts[a]);
    single = single && c.is_one(c.extent(k, a));
  }
  l[a] = c.layouts.segments(joined);
  if (!l[a]) return c.unknown_extent(0, a);
  PaddedValue out = c.make(c.in(0).type, std::move(l), [&](AxisMask region) {
    std::optional<Content> all;
    for (std::size_t k = 0; k < c.input_count(); ++k) {
      const PaddedValue& v = c.in(k);
      if ((region >> a & 1u) != 0 && !v.is_padded(a)) continue;
      all = all ? c.math.join(*all, v.at(region)) : v.at(region);
    }
    return all.value_or(ContentMath::anything());
  });
  if (single)
    for (std::size_t k = 0; k < c.input_count(); ++k) out.components.push_back(c.m.input(c.n, k));
  return c.set(0, std::move(out));
}

// A padded axis is cut at borders of its segments, or into constant prefixes and a padded rest.
bool split(PaddingContext& c) {
  const PaddedValue& v = c.in(0);
  const auto axis = normalize_axis(c.attr(names::axis, 0), v.rank());
  if (!axis) return c.refuse("its axis is not known");
  const auto a = static_cast<std::size_t>(*axis);
  std::vector<LayoutId> parts;
  for (std::size_t k = 0; k < c.output_count(); ++k) {
    parts.push_back(c.has_output(k) ? c.inferred(k, a) : LayoutId{});
    if (!parts.back()) return c.unknown_extent(k, a);
  }
  const bool moves =
      std::any_of(parts.begin(), parts.end() - 1, [&](LayoutId p) { return c.layouts.padded(p); });
  if (!v.is_padded(a) && moves)
    return c.refuse("it cuts axis " + std::to_string(a) + " at positions that depend on a padded extent",
                    {.axis = static_cast<int>(a)});
  if (v.is_padded(a)) {
    const Layout& l = c.layouts[v.layouts[a]];
    const auto same_extent = [&](LayoutId x, LayoutId y) {
      return c.dims.equal(c.layouts.extent(x), c.layouts.extent(y)) == Tri::Yes;
    };
    bool at_borders = l.kind == LayoutKind::Segments && l.parts.size() == parts.size();
    for (std::size_t k = 0; at_borders && k < parts.size(); ++k)
      at_borders = same_extent(l.parts[k], parts[k]);
    const bool leading =
        l.kind == LayoutKind::Prefix &&
        std::all_of(parts.begin(), parts.end() - 1, [&](LayoutId p) { return !c.layouts.padded(p); });
    if (at_borders) parts = l.parts;
    else if (!leading)
      return c.refuse("it cuts " + c.axis_text(v, bit(a)) + " at positions that move with the padding",
                      {.axis = static_cast<int>(a)});
  }
  for (std::size_t k = 0; k < parts.size(); ++k) {
    std::vector<LayoutId> l = v.layouts;
    l[a] = parts[k];
    if (!c.set(k, c.make(v.type, std::move(l), [&](AxisMask region) { return v.at(region); }))) return false;
  }
  return true;
}

namespace {

struct Cut {
  std::size_t axis;
  DimId begin, end;  // within 0 ... extent
  std::int64_t step;
};

// Returns what of a list of segments lies between begin and end, if these are borders; none otherwise.
LayoutId between_borders(PaddingContext& c, const Layout& l, const Cut& cut) {
  DimId at = c.dims.constant(0);
  std::vector<LayoutId> kept;
  for (const LayoutId part : l.parts) {
    const DimId next = c.dims.add(at, c.layouts.extent(part));
    if (!next) return {};
    if (c.dims.less_equal(cut.begin, at) == Tri::Yes && c.dims.less_equal(next, cut.end) == Tri::Yes)
      kept.push_back(part);
    else if (c.dims.less_equal(next, cut.begin) != Tri::Yes && c.dims.less_equal(cut.end, at) != Tri::Yes)
      return {};
    at = next;
  }
  return c.layouts.segments(kept);
}

// Returns a bound of a slice as a position from the beginning; none where its sign is not known.
DimId position(PaddingContext& c, DimId bound, DimId extent, bool& from_end) {
  constexpr std::int64_t kFar = (std::int64_t{1} << 31) - 2;
  from_end = false;
  if (const auto v = c.dims.value(bound)) {
    if (*v > kFar) return extent;
    if (*v < -kFar) return c.dims.constant(0);
    from_end = *v < 0;
    return from_end ? c.dims.add(extent, bound) : bound;
  }
  const Range r = c.dims.range(bound);
  if (r.low >= 0) return bound;
  from_end = r.high < 0;
  return from_end ? c.dims.add(extent, bound) : DimId{};
}

DimId clamped(PaddingContext& c, DimId at, DimId extent) {
  const DimId low = at ? c.dims.min(at, extent) : DimId{};
  return low ? c.dims.max(low, c.dims.constant(0)) : DimId{};
}

}  // namespace

std::optional<SliceBounds> slice_bounds(PaddingContext& c) {
  SliceBounds b;
  if (const auto starts = c.attr_list(names::starts)) {
    const auto ends = c.attr_list(names::ends);
    if (!ends) return std::nullopt;
    for (const std::int64_t s : *starts) b.starts.push_back(c.dims.constant(s));
    for (const std::int64_t e : *ends) b.ends.push_back(c.dims.constant(e));
    if (const auto axes = c.attr_list(names::axes)) b.axes.assign(axes->begin(), axes->end());
  } else {
    const auto starts_operand = c.elements(1), ends = c.elements(2);
    if (!starts_operand || !ends) return std::nullopt;
    b.starts = *starts_operand;
    b.ends = *ends;
    if (c.has(3)) {
      const auto axes = c.numbers(3);
      if (!axes) return std::nullopt;
      b.axes = *axes;
    }
    if (c.has(4)) {
      const auto steps = c.numbers(4);
      if (!steps) return std::nullopt;
      b.steps = *steps;
    }
  }
  if (b.axes.empty())
    for (std::size_t i = 0; i < b.starts.size(); ++i) b.axes.push_back(static_cast<std::int64_t>(i));
  if (b.steps.empty()) b.steps.assign(b.starts.size(), 1);
  const std::size_t n = b.starts.size();
  if (b.ends.size() != n || b.axes.size() != n || b.steps.size() != n) return std::nullopt;
  return b;
}

SliceBounds::Cut SliceBounds::cut(PaddingContext& c, std::size_t k, DimId extent) const {
  Cut out;
  out.begin = clamped(c, position(c, starts[k], extent, out.begin_from_end), extent);
  bool end_from_end = false;
  out.end = clamped(c, position(c, ends[k], extent, end_from_end), extent);
  return out;
}

// An axis may be cut in front at a position that is the same in both runs. What remains keeps its padding at
// the end, unless it ends before the true extent does.
bool slice(PaddingContext& c) {
  const PaddedValue& v = c.in(0);
  const auto bounds = slice_bounds(c);
  if (!bounds) return c.refuse("its bounds are not known as extents");
  std::vector<LayoutId> l = v.layouts;
  AxisMask mixed = 0;  // the padding of the result may hold true elements
  for (std::size_t k = 0; k < bounds->starts.size(); ++k) {
    const auto normal = normalize_axis(bounds->axes[k], v.rank());
    if (!normal) return c.refuse("its axes are not known");
    const auto a = static_cast<std::size_t>(*normal);
    const std::int64_t step = bounds->steps[k];
    const DimId extent = c.extent(0, a);
    const int at = static_cast<int>(a);
    if (!v.is_padded(a) && !c.a.bucketed(bounds->starts[k]) && !c.a.bucketed(bounds->ends[k])) {
      l[a] = c.stable_extent(0, a);  // a function of numbers that are the same in both runs
      if (!l[a]) return c.unknown_extent(0, a);
      continue;
    }
    if (step <= 0)
      return c.refuse("it reads " + c.axis_text(v, bit(a)) + " backwards, from its padded end", {.axis = at});
    const auto [begin, end, begin_from_end] = bounds->cut(c, k, extent);
    if (!begin || !end) return c.refuse("the sign of its bounds is not known", {.axis = at});
    const Cut cut{a, begin, end, step};
    if (step == 1 && c.dims.is_constant(begin, 0) && c.dims.equal(end, extent) == Tri::Yes) continue;
    if (v.is_padded(a) && !c.layouts.is_prefix(v.layouts[a])) {
      const Layout& segments = c.layouts[v.layouts[a]];
      const LayoutId kept =
          segments.kind == LayoutKind::Segments && step == 1 ? between_borders(c, segments, cut) : LayoutId{};
      if (!kept) return c.refuse("it cuts " + c.axis_text(v, bit(a)) + " between its paddings", {.axis = at});
      l[a] = kept;
      continue;
    }
    if (c.a.bucketed(begin) || (begin_from_end && v.is_padded(a)))
      return c.refuse("it starts at " + c.dims.print(begin) + " of axis " + std::to_string(a) +
                          ", counted from the padded end",
                      {.axis = at, .repair = BucketRepair::LastIndex});
    const LayoutId part = c.inferred(0, a);
    if (!part) return c.unknown_extent(0, a);
    l[a] = part;
    if (c.layouts.padded(part)) mixed |= bit(a);
  }
  return c.set_result(std::move(l), [&](AxisMask region) {
    return c.join_over(v, region & v.padded & ~mixed, region & mixed);
  });
}

bool pad(PaddingContext& c) {
  const PaddedValue& v = c.in(0);
  const std::size_t r = v.rank();
  const std::string_view mode = c.attr_text(names::mode, "constant");
  std::vector<DimId> pads;
  if (const auto attribute = c.attr_list(names::pads)) {
    for (const std::int64_t p : *attribute) pads.push_back(c.dims.constant(p));
  } else if (const auto written = c.attr_list(names::paddings)) {
    for (const std::int64_t p : *written) pads.push_back(c.dims.constant(p));
  } else if (const auto operand = c.elements(1)) {
    pads = *operand;
  }
  std::vector<std::int64_t> axes;
  if (c.has(3)) {
    const auto given = c.numbers(3);
    if (!given) return c.refuse("its axes are not known");
    axes = *given;
  } else {
    for (std::size_t i = 0; i < r; ++i) axes.push_back(static_cast<std::int64_t>(i));
  }
  if (pads.size() != 2 * axes.size()) return c.refuse("its amounts are not known");
  std::optional<double> value = 0.0;
  if (c.has(2)) value = c.real(2);
  else if (const auto attribute = float_attr(c.m, c.n, names::value)) value = static_cast<double>(*attribute);
  const Content filled = value ? ContentMath::number(*value) : c.whole(2);
  std::vector<LayoutId> l = v.layouts;
  AxisMask joins = 0, becomes_padded = 0;
  for (std::size_t k = 0; k < axes.size(); ++k) {
    const auto normal = normalize_axis(axes[k], r);
    if (!normal) return c.refuse("its axes are not known");
    const auto a = static_cast<std::size_t>(*normal);
    const DimId before = pads[k], after = pads[k + axes.size()];
    const bool none_after = c.dims.is_constant(after, 0);
    if (c.dims.is_constant(before, 0) && none_after) continue;
    const int at = static_cast<int>(a);
    if (c.a.bucketed(before))
      return c.refuse("it pads by " + c.dims.print(before) + " in front, which depends on a padded extent",
                      {.axis = at});
    const LayoutId part = c.inferred(0, a);
    if (!part) return c.unknown_extent(0, a);
    if (!v.is_padded(a)) {
      if (mode != "constant" && c.a.bucketed(after))
        return c.refuse("it copies elements by an amount that depends on a padded extent", {.axis = at});
      l[a] = part;
      becomes_padded |= bit(a);
      continue;
    }
    const auto first = c.dims.value(before), last = c.dims.value(after);
    if (mode != "constant") {
      if (!none_after || mode == "wrap")
        return c.refuse("its mode copies padding of " + c.axis_text(v, bit(a)), {.axis = at});
      if (!first || c.dims.less(before, c.extent(0, a)) != Tri::Yes)
        return c.refuse("it may reflect past the true extent", {.axis = at});
    }
    if ((first && *first < 0) || (last && *last < 0) || !first || !last) {
      const bool cuts_end =
          first && *first == 0 && c.dims.range(after).high <= 0 && c.layouts.is_prefix(v.layouts[a]);
      if (!cuts_end || !c.layouts.padded(part))
        return c.refuse("it cuts the padded " + c.axis_text(v, bit(a)), {.axis = at});
      l[a] = part;
      joins |= bit(a);
      continue;
    }
    const LayoutId front = c.layouts.same(before), behind = c.layouts.same(after);
    const bool same_filling = std::popcount(v.padded) == 1 && c.layouts.is_prefix(v.layouts[a]) && value &&
                              c.math.is(v.at(bit(a)), *value);
    if (none_after || !same_filling) {
      const std::vector<LayoutId> parts{front, v.layouts[a], behind};
      l[a] = c.layouts.segments(parts);
    } else {
      l[a] = part;
    }
    if (!l[a]) return c.unknown_extent(0, a);
  }
  return c.set_result(std::move(l), [&](AxisMask region) {
    const AxisMask wide = region & (joins | becomes_padded);
    Content out = wide != 0 ? c.join_over(v, region & v.padded & ~wide, region & v.padded & wide)
                            : v.at(region & v.padded);
    return mode == "constant" ? c.math.join(out, filled) : out;
  });
}

bool depth_space(PaddingContext& c) {
  const PaddedValue& v = c.in(0);
  const std::int64_t block = c.attr(names::blocksize, 1);
  if (v.rank() != 4 || v.is_padded(1)) return c.refuse("its channels are padded", {.axis = 1});
  std::vector<LayoutId> l = v.layouts;
  l[1] = c.inferred(0, 1);
  for (const std::size_t i : {std::size_t{2}, std::size_t{3}}) {
    if (v.is_padded(i) && !c.layouts.is_prefix(v.layouts[i]))
      return c.refuse("padding is within an axis", {.axis = static_cast<int>(i)});
    l[i] = c.inferred(0, i);
    if (!l[i]) return c.unknown_extent(0, i);
    const bool cuts = c.kind == OpKind::SpaceToDepth && v.is_padded(i);
    if (cuts && !c.dims.exact_div(c.extent(0, i), c.dims.constant(block)))
      c.need_divisible(c.extent(0, i), block);
  }
  if (!l[1]) return c.unknown_extent(0, 1);
  return c.set_result(std::move(l), [&](AxisMask region) { return v.at(region); });
}

bool reverse_sequence(PaddingContext& c) {
  const PaddedValue &v = c.in(0), &lengths = c.in(1);
  const auto time = static_cast<std::size_t>(c.attr(names::time_axis, 0));
  const auto batch = static_cast<std::size_t>(c.attr(names::batch_axis, 1));
  if (time >= v.rank() || batch >= v.rank() || lengths.rank() != 1) return c.refuse("its axes are not known");
  if (v.is_padded(time) && !c.layouts.is_prefix(v.layouts[time]))
    return c.refuse("padding is within an axis");
  if (lengths.layouts[0] != v.layouts[batch]) return c.refuse("its lengths have another layout of padding");
  const DimId most = c.a.in_padded_run(c.extent(0, time));
  const Content* bad = c.bad_padding(lengths, lengths.padded, [&](const Content& p) {
    return most && c.math.at_least(p, 0) && c.math.less_equal(p.high, {0, most});
  });
  if (bad) return c.refuse("padding of its lengths may be out of range: it holds " + c.math.text(*bad));
  return c.set_result(v.layouts, [&](AxisMask region) {
    if ((region & v.padded & ~bit(time)) == 0) return v.at(region);
    return c.join_over(v, region & ~bit(time), bit(time));
  });
}

namespace {

// Returns the constant factor by which a padded axis grows; nothing where there is none.
std::optional<std::int64_t> whole_factor(PaddingContext& c, DimId from, DimId to) {
  const DimId q = c.dims.exact_div(to, from);
  return q ? c.dims.value(q) : std::nullopt;
}

// Which other cells the samples of a cell of k samples read.
struct CellsRead {
  bool later = false, earlier = false;
};
CellsRead cells_read(std::string_view transform, std::string_view rounding, std::int64_t k) {
  CellsRead out;
  for (std::int64_t j = 0; j < k; ++j) {
    const double x = transform == "asymmetric"
                         ? static_cast<double>(j) / static_cast<double>(k)
                         : (static_cast<double>(j) + 0.5) / static_cast<double>(k) - 0.5;
    const double cell = rounding == "floor"               ? std::floor(x)
                        : rounding == "ceil"              ? std::ceil(x)
                        : rounding == "round_prefer_ceil" ? std::floor(x + 0.5)
                                                          : std::ceil(x - 0.5);
    out.later = out.later || cell > 0;
    out.earlier = out.earlier || cell < 0;
  }
  return out;
}

}  // namespace

// Enlarging an axis by a whole number with the nearest sample keeps cells apart, or reads the cell in front:
// then the first samples of the padding are true elements.
bool resize(PaddingContext& c) {
  const PaddedValue& v = c.in(0);
  auto l = c.inferred(0);
  if (!l) return c.refuse("its sizes are not known as extents");
  const bool old = c.kind == OpKind::Upsample || c.opset() <= 10;
  const std::string_view mode = c.attr_text(names::mode, "nearest");
  const std::string_view transform =
      old ? "asymmetric" : c.attr_text(names::coordinate_transformation_mode, "half_pixel");
  const std::string_view rounding = old ? "floor" : c.attr_text(names::nearest_mode, "round_prefer_floor");
  if (transform == "tf_crop_and_resize" && v.padded != 0)
    return c.refuse("its samples are chosen by a part of the extent");
  bool changes = false;
  AxisMask mixed = 0;  // the padding of the result may hold true elements
  for (std::size_t i = 0; i < v.rank(); ++i) {
    const bool same =
        (*l)[i] == v.layouts[i] || c.dims.equal(c.layouts.extent((*l)[i]), c.extent(0, i)) == Tri::Yes;
    if (same) {
      (*l)[i] = v.layouts[i];
      continue;
    }
    changes = true;
    if (!v.is_padded(i)) {
      if (c.layouts.padded((*l)[i]))
        return c.refuse("it resizes axis " + std::to_string(i) + " to a padded extent",
                        {.axis = static_cast<int>(i)});
      continue;
    }
    const std::string axis = c.axis_text(v, bit(i));
    if (!c.layouts.is_prefix(v.layouts[i]))
      return c.refuse("it resizes " + axis + ", which has padding inside");
    if (mode != "nearest")
      return c.refuse("it interpolates across the end of " + axis, {.axis = static_cast<int>(i)});
    const auto k = whole_factor(c, c.extent(0, i), c.layouts.extent((*l)[i]));
    const bool regular =
        transform == "half_pixel" || transform == "pytorch_half_pixel" || transform == "asymmetric";
    const CellsRead read = cells_read(transform, rounding, k.value_or(0));
    if (!k || *k < 1 || *k > 64 || !regular || read.later)
      return c.refuse("the samples along " + axis + " depend on the extent", {.axis = static_cast<int>(i)});
    if (read.earlier) mixed |= bit(i);
  }
  if (changes && mode != "nearest" && !v.finite())
    return c.refuse("weights of 0 meet padding that is not finite");
  return c.set_result(std::move(*l), [&](AxisMask region) {
    Content out = c.join_over(v, region & ~mixed, region & mixed);
    if (!changes || mode == "nearest" || c.math.is_zero(out)) return out;
    // Weights of a mean may round; those of a cubic go below 0 and above 1.
    if (mode != "linear") out = ContentMath::combined({out});
    out.mask = 0;
    out.rounding = std::max(out.rounding, kRounding);
    return transform == "tf_crop_and_resize" ? ContentMath::any_finite() : out;
  });
}

}  // namespace graphopt::padding
