// Reductions, Softmax, searches and running sums along axes.
//
// A reduction over a padded axis gives the true result if the padding holds the neutral element: 0 for sums,
// 1 for products, minus infinity for LogSumExp; for a maximum anything that is not above a true element. A
// region in the padding of the other axes is reduced as a whole, its padding included. Means divide by the
// number of elements, which differs.
#include <algorithm>
#include <span>

#include "buckets/padding/rules.h"

namespace graphopt::padding {
namespace {

// What the padding of a reduced axis must hold; nothing where no content will do.
std::optional<double> neutral(OpKind kind) {
  switch (kind) {
    case OpKind::ReduceProd: return 1;
    case OpKind::ReduceMax:
    case OpKind::ReduceLogSumExp: return -kInfinity;
    case OpKind::ReduceMin: return kInfinity;
    case OpKind::ReduceMean: return std::nullopt;
    default: return 0;
  }
}

bool is_neutral(const PaddingContext& c, const Content& padding, const Content& truth) {
  const DType type = c.in(0).type;
  if (c.kind == OpKind::ReduceMax) return c.math.is_at_most(padding, truth, type);
  if (c.kind == OpKind::ReduceMin) return c.math.is_at_least(padding, truth, type);
  return c.math.is(padding, *neutral(c.kind));
}

// Returns whether no element of the padding comes before a true one in a search. What is chosen jumps, so
// rounding counts.
bool is_beyond(const PaddingContext& c, const Content& padding, const Content& truth, bool largest) {
  const Content p = c.math.widened(padding), t = c.math.widened(truth);
  const DType type = c.in(0).type;
  return largest ? c.math.is_at_most(p, t, type) : c.math.is_at_least(p, t, type);
}

// How many elements at least are reduced to one along these axes.
double count_over(const PaddingContext& c, const PaddedValue& v, AxisMask axes) {
  double count = 1;
  for (std::size_t i = 0; i < v.rank(); ++i)
    if ((axes >> i & 1u) != 0)
      count *= static_cast<double>(c.dims.value(c.layouts.extent(v.layouts[i])).value_or(1));
  return count;
}

Content reduced(const PaddingContext& c, const PaddedValue& v, AxisMask base, AxisMask over, double count,
                bool true_run) {
  const Content all = c.join_over(v, base, over);
  const ContentMath& math = c.math;
  switch (c.kind) {
    case OpKind::ReduceMax:
    case OpKind::ReduceMin:  // of NaN alone kernels make anything
      return all.nan ? ContentMath::anything() : all;
    case OpKind::ReduceMean: {
      // Its sum is taken to stay finite, but not one of elements as large as their type has.
      Content out = all.finite() ? all : ContentMath::anything();
      if (all.chosen && all.finite()) out = ContentMath::combined({all});
      out.rounding = std::max(out.rounding, kRounding);
      return out;
    }
    case OpKind::ReduceLogSum: return ContentMath::anything();
    case OpKind::ReduceLogSumExp: {  // kernels may sum the exponentials as they are
      constexpr double kExponent = 80, kHalfExponent = 8;
      const double most = bits_of(v.type) < 32 ? kHalfExponent : kExponent;
      Content out = ContentMath::combined({all});
      out.infinite = out.infinite || (!true_run && !(math.low(all) >= -most && math.high(all) <= most));
      out.positive_infinite = out.infinite;
      out.rounding = kRounding;
      return out;
    }
    default: break;
  }
  const bool sums = c.kind == OpKind::ReduceSum || c.kind == OpKind::ReduceL1 || c.kind == OpKind::ReduceL2 ||
                    c.kind == OpKind::ReduceSumSquare;
  if (sums && math.is_zero(all)) return ContentMath::number(0);
  if (!all.finite()) return ContentMath::anything();
  const bool squares = c.kind == OpKind::ReduceL2 || c.kind == OpKind::ReduceSumSquare;
  const Content factors[] = {all, all};
  if (sums && !true_run && math.sum_overflows(v.type, std::span(factors).first(squares ? 2 : 1), count))
    return ContentMath::anything();
  const bool not_negative = sums && (c.kind != OpKind::ReduceSum || math.low(all) >= 0);
  Content out = ContentMath::combined({all});
  if (not_negative) out.low = {0, {}};
  out.rounding = kRounding;
  return out;
}

}  // namespace

bool reduce(PaddingContext& c) {
  const PaddedValue& v = c.in(0);
  auto over = c.axes(v.rank());
  if (!over) return c.refuse("its axes are not known");
  if (over->empty() && c.attr(names::noop_with_empty_axes, 0) == 0)
    for (std::size_t i = 0; i < v.rank(); ++i) over->push_back(i);
  const AxisMask padded = c.padded_among(v, *over);
  if (padded != 0) {
    const auto fill = neutral(c.kind);
    if (!fill)
      return c.refuse("it divides by the padded count of " + c.axis_text(v, padded),
                      {.axis = std::countr_zero(padded), .repair = BucketRepair::TrueMean});
    const Content* bad =
        c.bad_padding(v, padded, [&](const Content& p) { return is_neutral(c, p, v.true_part()); });
    if (bad) return c.refuse_padding(0, padded, *bad, "it reduces", *fill);
    const bool by_order =
        c.kind == OpKind::ReduceMax || c.kind == OpKind::ReduceMin || c.kind == OpKind::ReduceLogSumExp;
    for (std::size_t i = 0; by_order && i < v.rank(); ++i)
      if ((padded >> i & 1u) != 0 && c.dims.range(c.extent(0, i)).low < 1)
        return c.refuse("of no element it gives the neutral one, which the padding need not be: axis " +
                            std::to_string(i) + " may be empty",
                        {.axis = static_cast<int>(i)});
  }
  AxisMask all = 0;
  for (const std::size_t i : *over) all |= bit(i);
  const bool keep = c.attr(names::keepdims, 1) != 0;
  std::vector<LayoutId> l;
  std::vector<std::size_t> from;
  for (std::size_t i = 0; i < v.rank(); ++i) {
    const bool gone = (all >> i & 1u) != 0;
    if (gone && !keep) continue;
    l.push_back(gone ? c.layouts.same(c.dims.constant(1)) : v.layouts[i]);
    from.push_back(i);
  }
  return c.set_result(std::move(l), [&](AxisMask region) {
    AxisMask base = 0;
    for (std::size_t i = 0; i < from.size(); ++i)
      if ((region >> i & 1u) != 0) base |= bit(from[i]);
    if (all == 0)  // runtimes differ in whether it is an Identity
      return ContentMath::combined({v.at(base)});
    return reduced(c, v, base & ~all, padded, count_over(c, v, all), region == 0);
  });
}

// Padding of minus infinity takes no part in a row that has a true element. So does, under an assumption, a
// finite score under an additive mask of at most -1000: exp(-104) is 0 in float, and no row of scores spreads
// over 900.
bool softmax(PaddingContext& c) {
  const PaddedValue& v = c.in(0);
  const bool to_end = c.opset() < 13;
  const auto axis = normalize_axis(c.attr(names::axis, to_end ? 1 : -1), v.rank());
  if (!axis) return c.refuse("its axis is not known");
  const auto first = static_cast<std::size_t>(*axis);
  std::vector<std::size_t> over;
  for (std::size_t i = first; i < (to_end ? v.rank() : first + 1); ++i) over.push_back(i);
  const AxisMask padded = c.padded_among(v, over);
  bool masked = false;
  const Content* bad = c.bad_padding(v, padded, [&](const Content& p) {
    if (c.math.is(p, -kInfinity)) return true;
    if (c.kind == OpKind::Softmax && c.math.mask_of(p) >= 1000 && !p.nan && !p.positive_infinite)
      return masked = true;
    return c.kind == OpKind::Hardmax && is_beyond(c, p, v.true_part(), true);
  });
  if (bad) return c.refuse_padding(0, padded, *bad, "it normalizes over", -kInfinity);
  if (masked) c.assume(BucketAssumption::MaskDominates, kMaskDominates);
  bool may_be_empty = false;  // then all of a row is padding: equal scores, or minus infinity alone
  for (std::size_t i = first; i < v.rank(); ++i)
    may_be_empty = may_be_empty || ((padded >> i & 1u) != 0 && c.dims.range(c.extent(0, i)).low < 1);
  return c.set_result(v.layouts, [&](AxisMask region) {
    const AxisMask others = region & ~padded;
    if (others == region || (region & v.padded & ~padded) != 0) {
      const Content all = c.join_over(v, others, padded);
      // A row of minus infinity alone gives NaN; the true part of the row has an element.
      const bool has_score = (region & v.padded) == 0 || !v.at(others).infinite;
      const bool defined = !all.nan && !all.positive_infinite && has_score;
      if (c.kind == OpKind::LogSoftmax) return c.math.log_probability(all, !defined);
      Content out = ContentMath::interval(0, 1);
      out.nan = !defined;
      out.rounding = kRounding;
      return out;
    }
    if (may_be_empty) return ContentMath::anything();
    return ContentMath::number(c.kind == OpKind::LogSoftmax ? -kInfinity : 0);
  });
}

// Of equal elements the first one counts, and true elements come first.
bool arg_extreme(PaddingContext& c) {
  const PaddedValue& v = c.in(0);
  const auto axis = normalize_axis(c.attr(names::axis, 0), v.rank());
  if (!axis) return c.refuse("its axis is not known");
  const auto a = static_cast<std::size_t>(*axis);
  const bool largest = c.kind == OpKind::ArgMax;
  if (v.is_padded(a)) {
    if (!c.layouts.is_prefix(v.layouts[a])) return c.refuse("padding within the axis moves the position");
    const Content* bad =
        c.bad_padding(v, bit(a), [&](const Content& p) { return is_beyond(c, p, v.true_part(), largest); });
    if (bad) return c.refuse_padding(0, bit(a), *bad, "it searches", largest ? -kInfinity : kInfinity);
    if (c.attr(names::select_last_index, 0) != 0)
      return c.refuse("it takes the last of equal elements of a padded axis");
  }
  const bool keep = c.attr(names::keepdims, 1) != 0;
  std::vector<LayoutId> l;
  for (std::size_t i = 0; i < v.rank(); ++i) {
    if (i != a) l.push_back(v.layouts[i]);
    else if (keep) l.push_back(c.layouts.same(c.dims.constant(1)));
  }
  const DimId n = c.extent(0, a), one = c.dims.constant(1), padded = c.a.in_padded_run(n);
  return c.set_result(std::move(l), [&](AxisMask region) {
    const DimId last = c.dims.sub(region != 0 && padded ? padded : n, one);
    return last ? ContentMath::between(c.dims.constant(0), last) : ContentMath::any_finite();
  });
}

bool top_k(PaddingContext& c) {
  const PaddedValue& v = c.in(0);
  const auto axis = normalize_axis(c.attr(names::axis, -1), v.rank());
  const LayoutId taken = axis ? c.inferred(0, static_cast<std::size_t>(*axis)) : LayoutId{};
  if (!axis || !taken) return c.refuse("its number is not known");
  const auto a = static_cast<std::size_t>(*axis);
  const DimId k = c.layouts.extent(taken), n = c.extent(0, a);
  if (v.is_padded(a)) {
    if (!c.layouts.is_prefix(v.layouts[a])) return c.refuse("padding within the axis moves the position");
    const bool largest = c.attr(names::largest, 1) != 0;
    const Content* bad =
        c.bad_padding(v, bit(a), [&](const Content& p) { return is_beyond(c, p, v.true_part(), largest); });
    if (bad) return c.refuse_padding(0, bit(a), *bad, "it searches", largest ? -kInfinity : kInfinity);
    if (c.attr(names::sorted, 1) == 0) return c.refuse("the order of its results is not defined");
    const bool all = c.dims.equal(k, n) == Tri::Yes;
    if (!all && c.a.bucketed(k)) return c.refuse("its number depends on a padded extent");
    if (!all && c.dims.less_equal(k, n) != Tri::Yes)
      return c.refuse("it takes " + c.dims.print(k) + " of " + c.dims.print(n) + " elements");
  } else if (c.a.bucketed(k)) {
    return c.refuse("its number depends on a padded extent");
  }
  std::vector<LayoutId> l = v.layouts;
  l[a] = taken;
  if (c.has_output(1) &&
      !c.set(1, c.make(c.output_type(1), l, [&](AxisMask) { return ContentMath::interval(0, kInfinity); })))
    return false;
  return c.set_result(std::move(l),
                      [&](AxisMask region) { return c.join_over(v, region & ~bit(a), bit(a)); });
}

bool cumulative(PaddingContext& c) {
  const PaddedValue& v = c.in(0);
  const auto axis = c.number(1);
  const auto normal = axis ? normalize_axis(*axis, v.rank()) : std::nullopt;
  if (!normal) return c.refuse("its axis is not known");
  const auto a = static_cast<std::size_t>(*normal);
  const double unit = c.kind == OpKind::CumProd ? 1 : 0;
  if (v.is_padded(a)) {
    const bool reverse = c.attr(names::reverse, 0) != 0;
    if (reverse || !c.layouts.is_prefix(v.layouts[a])) {
      const Content* bad = c.bad_padding(v, bit(a), [&](const Content& p) { return c.math.is(p, unit); });
      if (bad) return c.refuse_padding(0, bit(a), *bad, "it accumulates", unit);
    }
  }
  return c.set_result(v.layouts, [&](AxisMask region) {
    const Content all = c.join_over(v, region & ~bit(a), bit(a));
    if (unit == 0 && c.math.is_zero(all)) return ContentMath::number(0);
    const double count = count_over(c, v, bit(a));
    if (unit == 0 && region != 0 && c.math.sum_overflows(v.type, std::span(&all, 1), count))
      return ContentMath::anything();
    return ContentMath::combined({all});
  });
}

}  // namespace graphopt::padding
