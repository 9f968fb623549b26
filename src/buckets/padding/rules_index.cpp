// Operators that choose elements by numbers: Gather, Scatter, OneHot, NonZero.
//
// An index that is the same in both runs names the same element if its axis is not padded, or is padded at
// its end and the index counts from the front. An index that stands in padding may name anything, but must be
// in range, or the runtime fails. An index that depends on extents alone is in range in the padded run, too,
// since the model accepts that extent; where it is seen to count beyond the axis, it is left to the verdict
// which extents were promised. That argument is about runs of the padded sizes: an axis of another symbol,
// which stays what it is while the index counts further, is in none of them ("a mask of [batch, s9]" for past
// and new tokens), and there the index must be seen to stay inside.
#include <algorithm>
#include <cmath>
#include <map>

#include "buckets/padding/rules.h"
#include "ops/node_facts.h"

namespace graphopt::padding {
namespace {

constexpr int kMostProducers = 16;  // from an index back to the Range that it comes from

// Returns true if the greatest element of an index is the bound that its content states: it is a Range in
// other places, of another type, or plus a number. (A bound of other values may be one that none attains.)
bool attains_its_bound(const PaddingContext& c, ValueId v) {
  for (int i = 0; i < kMostProducers; ++i) {
    const NodeId n = v ? c.m.value(v).def : NodeId{};
    if (!n) return false;
    const PadRule rule = facts_of(c.m, n).pad;
    std::size_t next = 0;
    switch (rule) {
      case PadRule::Range: return true;
      case PadRule::Transpose:
      case PadRule::Squeeze:
      case PadRule::Unsqueeze:
      case PadRule::Expand:
      case PadRule::Reshape:
      case PadRule::Cast: break;
      case PadRule::Elementwise: {
        const OpKind kind = c.m.kind(n);
        if (kind == OpKind::Identity) break;
        const auto is_number = [&](std::size_t k) {
          return c.math.is_number(c.a.value(c.m.input(n, k)).true_part());
        };
        if (kind == OpKind::Add && is_number(0)) next = 1;
        else if ((kind != OpKind::Add && kind != OpKind::Sub) || !is_number(1)) return false;
        break;
      }
      default: return false;
    }
    v = c.m.input(n, next);
  }
  return false;
}

// Notes how far an index counts that depends on extents alone.
void note_reach(PaddingContext& c, const PaddedValue& index, ValueId v, DimId extent) {
  const DimId last = index.true_part().high.expression;
  if (!last || !extent || !attains_its_bound(c, v)) return;
  if (const DimId reach = c.dims.add(last, c.dims.constant(1))) c.note_index(reach, extent);
}

// Returns true if an index that depends on extents alone may go beyond an axis that padding does not
// lengthen.
bool counts_further(PaddingContext& c, const Content& index, DimId extent) {
  if (extent && (c.dims.value(extent) || c.a.bucketed(extent))) return false;
  const DimId last = index.high.expression;
  if (!last) return !index.finite() || !std::isfinite(index.high.number);
  if (!c.a.bucketed(last)) return false;
  const DimId padded = c.a.in_padded_run(last),
              end = extent ? c.dims.sub(extent, c.dims.constant(1)) : DimId{};
  return !padded || !end || !c.math.less_equal({0, padded}, {0, end});
}

// Returns false, after refuse(), unless the index may choose along `axis` of the data.
bool may_index(PaddingContext& c, const PaddedValue& data, std::size_t axis, const PaddedValue& index,
               ValueId index_value) {
  const LayoutId l = data.layouts[axis];
  const DimId extent = c.layouts.extent(l);
  const int at = static_cast<int>(axis);
  if (data.is_padded(axis)) {
    if (!c.layouts.is_prefix(l))
      return c.refuse("it chooses from " + c.axis_text(data, bit(axis)) + ", which has padding inside",
                      {.axis = at});
    if (!c.math.at_least(index.true_part(), 0)) {
      const bool unknown = index.origin && c.math.low(index.true_part()) == -kInfinity;
      if (!unknown)
        return c.refuse("its index may be negative, and counts then from the padded end of " +
                            c.axis_text(data, bit(axis)),
                        {.axis = at, .repair = BucketRepair::LastIndex});
      c.assume(BucketAssumption::IndicesNotNegative, "the indices from input '" +
                                                         std::string(c.m.text(c.m.value(index.origin).name)) +
                                                         "' are not negative");
    }
  }
  if (index.pure) {
    note_reach(c, index, index_value, extent);
    const Content truth = index.true_part();
    if (!counts_further(c, truth, extent)) return true;
    const std::string length = extent ? c.dims.print(extent) : "unknown length";
    return c.refuse("its index counts as far as padding goes, along an axis of " + length +
                        ", which is not padded: if " + length +
                        " follows from padded symbols, say so by 'dims'",
                    {.axis = at, .content = c.math.text(truth)});
  }
  const DimId most = c.a.in_padded_run(extent);
  const DimId least = most ? c.dims.neg(most) : DimId{};
  const Bound high{0, most ? c.dims.sub(most, c.dims.constant(1)) : DimId{}};
  const Content* bad = c.bad_padding(index, index.padded, [&](const Content& p) {
    return least && p.finite() && c.math.less_equal({0, least}, p.low) && c.math.less_equal(p.high, high);
  });
  if (!bad) return true;
  const std::string range = most ? "0 .. " + c.dims.print(high.expression) : "the axis";
  return c.refuse("padding of its index holds " + c.math.text(*bad) + ", which may be outside of " + range,
                  {.axis = at, .content = c.math.text(*bad), .needs = range});
}

// Where an index in this region chooses along an axis of the data.
enum class Chooses : std::uint8_t { True, Padding, Either };
Chooses chooses(PaddingContext& c, const PaddedValue& data, std::size_t axis, const Content& index) {
  if (!data.is_padded(axis)) return Chooses::True;
  const DimId extent = c.layouts.extent(data.layouts[axis]), last = c.dims.sub(extent, c.dims.constant(1));
  if (c.math.less_equal({0, extent}, index.low)) return Chooses::Padding;
  if (last && c.math.at_least(index, 0) && c.math.less_equal(index.high, {0, last})) return Chooses::True;
  return Chooses::Either;
}

Content chosen(PaddingContext& c, const PaddedValue& data, AxisMask base, std::size_t axis, Chooses where) {
  if (where == Chooses::True) return data.at(base);
  if (where == Chooses::Padding) return data.at(base | bit(axis));
  return c.join_over(data, base, bit(axis));
}

struct GatherShape {
  std::size_t axis, index_rank;
  // Splits a region of the result into one of the data, without the chosen axis, and one of the index.
  std::pair<AxisMask, AxisMask> split(AxisMask region) const {
    const AxisMask low = (bit(axis) - 1) & region;
    const AxisMask index = (region >> axis) & (bit(index_rank) - 1);
    const AxisMask high = (region >> (axis + index_rank)) << (axis + 1);
    return {low | high, index};
  }
};

std::vector<LayoutId> gathered(const PaddedValue& data, const PaddedValue& index, std::size_t axis) {
  std::vector<LayoutId> l(data.layouts.begin(), data.layouts.begin() + static_cast<std::ptrdiff_t>(axis));
  l.insert(l.end(), index.layouts.begin(), index.layouts.end());
  l.insert(l.end(), data.layouts.begin() + static_cast<std::ptrdiff_t>(axis) + 1, data.layouts.end());
  return l;
}

// A flat index into a merged axis: its strides must be those of the axis, one coordinate for each part.
bool gather_flat(PaddingContext& c, const PaddedValue& data, const PaddedValue& index, std::size_t axis) {
  const Layout& l = c.layouts[data.layouts[axis]];
  const std::vector<LayoutId> parts =
      l.kind == LayoutKind::Product ? l.parts : std::vector<LayoutId>{data.layouts[axis]};
  std::vector<DimId> strides(parts.size());
  DimId stride = c.dims.constant(1);
  for (std::size_t i = parts.size(); i-- > 0;) {
    strides[i] = stride;
    stride = stride ? c.dims.mul(stride, c.layouts.extent(parts[i])) : DimId{};
  }
  std::vector<const PaddedValue*> coordinates(parts.size(), nullptr);
  for (const IndexTerm& term : index.linear) {
    std::size_t at = 0;
    while (at < parts.size() &&
           (coordinates[at] || !strides[at] || c.dims.equal(strides[at], term.stride) != Tri::Yes))
      ++at;
    if (at == parts.size())
      return c.refuse("the strides of its flat index are not those of the axis " +
                      c.layouts.text(data.layouts[axis]));
    coordinates[at] = &term.coordinate;
  }
  // All terms are at least 0, so each sum of some is below the extent.
  int bits = 64;
  for (const IndexTerm& term : index.linear) bits = std::min(bits, term.bits);
  const DimId whole = c.a.in_padded_run(c.layouts.extent(data.layouts[axis]));
  if (bits < 64 && (!whole || c.dims.range(whole).high > (std::int64_t{1} << (bits - 1))))
    return c.refuse("its flat index may be more than its type of " + std::to_string(bits) + " bits holds");
  const DimId one = c.dims.constant(1);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!coordinates[i]) return c.refuse("its flat index has no coordinate for each part of the axis");
    const LayoutKind kind = c.layouts[parts[i]].kind;
    if (kind != LayoutKind::Same && kind != LayoutKind::Prefix)
      return c.refuse("the axis has padding inside");
    const PaddedValue& k = *coordinates[i];
    const DimId extent = c.layouts.extent(parts[i]), padded = c.a.in_padded_run(extent);
    const auto in_range = [&](const Content& content, DimId size) {
      return size && c.math.at_least(content, 0) &&
             c.math.less_equal(content.high, {0, c.dims.sub(size, one)});
    };
    if (!in_range(k.true_part(), extent))
      return c.refuse("a coordinate of its flat index may leave its part of the axis");
    if (c.bad_padding(k, k.padded, [&](const Content& p) { return in_range(p, padded); }))
      return c.refuse("padding of a coordinate of its flat index may be out of range");
  }
  const GatherShape shape{axis, index.rank()};
  return c.set_result(gathered(data, index, axis), [&](AxisMask region) {
    const auto [base, at] = shape.split(region);
    if (at == 0) return data.at(base);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const PaddedValue& k = *coordinates[i];
      const Content& content = k.at(operand_region(k, index.rank(), at));
      if (c.layouts.padded(parts[i]) && c.math.less_equal({0, c.layouts.extent(parts[i])}, content.low))
        return data.at(base | bit(axis));
    }
    return c.join_over(data, base, bit(axis));
  });
}

}  // namespace

bool gather(PaddingContext& c) {
  const PaddedValue &data = c.in(0), &index = c.in(1);
  const auto axis = normalize_axis(c.attr(names::axis, 0), data.rank());
  if (!axis) return c.refuse("its axis is not known");
  const auto a = static_cast<std::size_t>(*axis);
  if (!index.linear.empty()) return gather_flat(c, data, index, a);
  if (!may_index(c, data, a, index, c.m.input(c.n, 1))) return false;
  const GatherShape shape{a, index.rank()};
  return c.set_result(gathered(data, index, a), [&](AxisMask region) {
    const auto [base, at] = shape.split(region);
    if ((at & index.padded) == 0) return data.at(base);
    return chosen(c, data, base, a, chooses(c, data, a, index.at(at)));
  });
}

bool gather_elements(PaddingContext& c) {
  const PaddedValue &data = c.in(0), &index = c.in(1);
  const auto axis = normalize_axis(c.attr(names::axis, 0), data.rank());
  if (!axis || index.rank() != data.rank()) return c.refuse("its axis is not known");
  const auto a = static_cast<std::size_t>(*axis);
  for (std::size_t i = 0; i < data.rank(); ++i) {
    if (i == a || data.layouts[i] == index.layouts[i]) continue;
    const bool shorter = c.layouts.is_prefix(data.layouts[i]) && !index.is_padded(i);
    if ((data.is_padded(i) && !shorter) || index.is_padded(i))
      return c.refuse("its operands have different layouts of padding on axis " + std::to_string(i));
  }
  if (!may_index(c, data, a, index, c.m.input(c.n, 1))) return false;
  return c.set_result(index.layouts, [&](AxisMask region) {
    const AxisMask base = region & data.padded & ~bit(a);
    return region == 0 ? data.true_part() : c.join_over(data, base, bit(a));
  });
}

bool gather_nd(PaddingContext& c) {
  const PaddedValue &data = c.in(0), &index = c.in(1);
  const auto batch = static_cast<std::size_t>(c.attr(names::batch_dims, 0));
  if (index.rank() == 0 || index.is_padded(index.rank() - 1))
    return c.refuse("the width of its index is padded");
  const auto width = c.dims.value(c.extent(1, index.rank() - 1));
  if (!width || *width < 1 || batch + static_cast<std::size_t>(*width) > data.rank() || batch >= index.rank())
    return c.refuse("the width of its index is not known");
  const auto k = static_cast<std::size_t>(*width);
  for (std::size_t i = 0; i < batch; ++i)
    if (data.layouts[i] != index.layouts[i] && (data.is_padded(i) || index.is_padded(i)))
      return c.refuse("its batch axes have different layouts of padding");
  std::vector<const PaddedValue*> parts(k, &index);
  if (index.components.size() == k)
    for (std::size_t i = 0; i < k; ++i) parts[i] = &c.a.value(index.components[i]);
  for (std::size_t i = 0; i < k; ++i)
    if (!may_index(c, data, batch + i, *parts[i], {})) return false;
  const std::size_t q = index.rank() - 1;
  std::vector<LayoutId> l(index.layouts.begin(), index.layouts.end() - 1);
  l.insert(l.end(), data.layouts.begin() + static_cast<std::ptrdiff_t>(batch + k), data.layouts.end());
  return c.set_result(std::move(l), [&](AxisMask region) {
    const AxisMask at = region & (bit(q) - 1);
    const AxisMask base = (at & (bit(batch) - 1)) | ((region >> q) << (batch + k));
    if ((at & ~(bit(batch) - 1)) == 0) return data.at(base);
    AxisMask surely = 0, perhaps = 0;
    for (std::size_t i = 0; i < k; ++i) {
      const Chooses where = chooses(c, data, batch + i, parts[i]->at(at));
      if (where == Chooses::Padding) surely |= bit(batch + i);
      if (where == Chooses::Either) perhaps |= bit(batch + i);
    }
    return c.join_over(data, base | surely, perhaps);
  });
}

// Updates that stand in padding must go into padding.
bool scatter(PaddingContext& c) {
  const PaddedValue &data = c.in(0), &index = c.in(1), &updates = c.in(2);
  const bool tuples = c.kind == OpKind::ScatterND;
  if (index.rank() == 0) return c.refuse("its index is a scalar");
  const std::size_t last = index.rank() - 1;
  std::size_t first_axis = 0, count = 1;
  if (tuples) {
    const auto width = index.is_padded(last) ? std::nullopt : c.dims.value(c.extent(1, last));
    if (!width || *width < 1 || static_cast<std::size_t>(*width) > data.rank())
      return c.refuse("the width of its index is not known");
    count = static_cast<std::size_t>(*width);
  } else {
    const auto axis = normalize_axis(c.attr(names::axis, 0), data.rank());
    if (!axis) return c.refuse("its axis is not known");
    first_axis = static_cast<std::size_t>(*axis);
  }
  for (std::size_t i = 0; !tuples && i < data.rank(); ++i) {
    if (i == first_axis) continue;
    if (i >= index.rank() || i >= updates.rank()) return c.refuse("its operands have different ranks");
    const bool shorter = c.layouts.is_prefix(data.layouts[i]) && !index.is_padded(i);
    const bool differs = index.layouts[i] != data.layouts[i] && (data.is_padded(i) || index.is_padded(i));
    if (differs && !shorter)
      return c.refuse("its operands have different layouts of padding on axis " + std::to_string(i));
  }
  if (index.padded != 0 || updates.padded != 0) {
    const AxisMask of_index = tuples ? index.padded & (bit(last) - 1) : index.padded;
    if (tuples && of_index == 0) {
      for (std::size_t i = last; i < updates.rank(); ++i)
        if (count + i - last >= data.rank() || updates.layouts[i] != data.layouts[count + i - last])
          return c.refuse("its updates have another layout of padding than the data");
    } else {
      const bool into_padding = data.is_padded(first_axis) && c.layouts.is_prefix(data.layouts[first_axis]) &&
                                (!tuples || count == 1) &&
                                !c.bad_padding(index, index.padded, [&](const Content& p) {
                                  return c.math.less_equal({0, c.extent(0, first_axis)}, p.low);
                                });
      if (!into_padding)
        return c.refuse("padding of its index may name true elements, which it would overwrite");
    }
  }
  for (std::size_t i = 0; i < count; ++i)
    if (!may_index(c, data, first_axis + i, index, tuples ? ValueId{} : c.m.input(c.n, 1))) return false;
  Content written = c.join_over(updates, 0, updates.padded);
  const bool replaces = c.attr_text(names::reduction, "none") == "none";
  return c.set_result(data.layouts, [&](AxisMask region) {
    const Content& old = data.at(region);
    if (replaces) return c.math.join(old, written);
    return ContentMath::combined({old, written});
  });
}

bool one_hot(PaddingContext& c) {
  const PaddedValue &index = c.in(0), &values = c.in(2);
  const auto depth = c.elements(1);
  const auto axis = normalize_axis(c.attr(names::axis, -1), index.rank() + 1);
  if (!depth || depth->size() != 1 || !axis) return c.refuse("its depth is not known as an extent");
  if (c.a.bucketed(depth->front())) return c.refuse("its depth is a padded extent");
  std::vector<LayoutId> l = index.layouts;
  l.insert(l.begin() + *axis, c.layouts.same(depth->front()));
  return c.set_result(std::move(l), [&](AxisMask) { return values.true_part(); });
}

// The count and the positions are those of the true run if padding holds zeros.
bool non_zero(PaddingContext& c) {
  const PaddedValue& v = c.in(0);
  for (std::size_t i = 0; i < v.rank(); ++i)
    if (v.is_padded(i) && !c.layouts.is_prefix(v.layouts[i]))
      return c.refuse("padding within " + c.axis_text(v, bit(i)) + " moves positions",
                      {.axis = static_cast<int>(i)});
  if (const Content* bad = c.bad_padding(v, v.padded, [&](const Content& p) { return c.math.is_zero(p); }))
    return c.refuse_padding(0, v.padded, *bad, "it counts", 0);
  c.make_stable(0);
  auto l = c.inferred(0);
  if (!l) return c.refuse("its number of results is not known");
  return c.set_result(std::move(*l), [](AxisMask) { return ContentMath::interval(0, kInfinity); });
}

}  // namespace graphopt::padding
