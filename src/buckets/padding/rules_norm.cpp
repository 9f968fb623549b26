// Normalizations. Statistics over a padded axis include padding and divide by another count; along all other
// axes rows are normalized one by one.
#include <algorithm>
#include <cmath>

#include "buckets/padding/rules.h"

namespace graphopt::padding {
namespace {

// The axes of the operand that one statistic is over.
std::optional<AxisMask> statistics_axes(PaddingContext& c, const PaddedValue& v) {
  const std::size_t r = v.rank();
  const AxisMask all = r >= kMaxPaddedRank ? ~AxisMask{0} : bit(r) - 1;
  switch (c.kind) {
    case OpKind::InstanceNormalization: return all & ~AxisMask{3};
    case OpKind::GroupNormalization: return all & ~AxisMask{1};
    case OpKind::LRN: return bit(1);
    case OpKind::MeanVarianceNormalization: {
      AxisMask mask = 0;
      const auto list = c.attr_list(names::axes);
      if (!list) return AxisMask{1 | 4 | 8};
      for (const std::int64_t i : *list) {
        const auto axis = normalize_axis(i, r);
        if (!axis) return std::nullopt;
        mask |= bit(static_cast<std::size_t>(*axis));
      }
      return mask;
    }
    default: {
      const auto axis = normalize_axis(c.attr(names::axis, -1), r);
      if (!axis) return std::nullopt;
      return all & ~(bit(static_cast<std::size_t>(*axis)) - 1);
    }
  }
}

// Operators whose statistics repair/repair_statistics.cpp writes as masked sums.
std::optional<BucketRepair> repair_of(OpKind kind) {
  switch (kind) {
    case OpKind::InstanceNormalization:
    case OpKind::GroupNormalization:
    case OpKind::LayerNormalization:
    case OpKind::RMSNormalization: return BucketRepair::TrueStatistics;
    default: return std::nullopt;
  }
}

// Equal elements have no variance: without an epsilon, or with one that is 0 in the type that is computed in,
// they give 0 / 0. LRN divides by a power of bias + alpha * (a sum of squares).
bool may_divide_by_zero(const PaddingContext& c) {
  if (c.kind == OpKind::MeanVarianceNormalization) return true;
  if (c.kind == OpKind::LRN) {
    constexpr double kLarge = 1e30, kFewFactors = 2;
    const double bias = c.attr_real(names::bias, 1), beta = c.attr_real(names::beta, 0.75);
    return !(bias > 0) || !(c.attr_real(names::alpha, 1e-4) >= 0) || !(std::fabs(beta) <= kFewFactors) ||
           !(std::pow(bias, -beta) <= kLarge);
  }
  const auto stash = static_cast<DType>(c.attr(names::stash_type, 1));
  const double least = stash == DType::Float16 ? 1e-7 : 0;
  return !(c.attr_real(names::epsilon, 1e-5) > least);
}

// What a difference of large squares leaves may be less than 0: ONNX Runtime subtracts the square that leaves
// the window of LRN from the sum, and the standard defines GroupNormalization by E(x^2) - E(x)^2.
bool cancels(const PaddingContext& c, const Content& x) {
  const bool is_lrn = c.kind == OpKind::LRN;
  if (!is_lrn && c.kind != OpKind::GroupNormalization) return false;
  if (!c.math.is_bounded(x)) return x.chosen;
  const double most = std::max(std::fabs(c.math.low(x)), std::fabs(c.math.high(x)));
  const double factor = is_lrn ? c.attr_real(names::alpha, 1e-4) : 1;
  const double room = is_lrn ? c.attr_real(names::bias, 1) : c.attr_real(names::epsilon, 1e-5);
  constexpr double kRoundedSquare = 1e-6;
  return !(factor * most * most * kRoundedSquare < room);
}

// `others`: weights, and what is added first.
Content normalized(const PaddingContext& k, const Content& c, const Content& others) {
  // Doubles are computed in float, if the attribute says so.
  const bool narrows = c.chosen && k.output_type(0) == DType::Double && k.kind != OpKind::BatchNormalization;
  const bool defined = !may_divide_by_zero(k) && !narrows && !cancels(k, c);
  Content out = defined ? ContentMath::combined({c, others}) : ContentMath::anything();
  out.rounding = kRounding;
  return out;
}

}  // namespace

bool normalization(PaddingContext& c) {
  const PaddedValue& v = c.in(0);
  const auto over = statistics_axes(c, v);
  if (!over) return c.refuse("its axes are not known");
  if ((*over & v.padded) != 0)
    return c.refuse("its statistics over " + c.axis_text(v, *over) + " include padding",
                    {.axis = std::countr_zero(*over & v.padded), .repair = repair_of(c.kind)});
  if (!c.unpadded_from(1, "weights are")) return false;
  if (c.kind == OpKind::InstanceNormalization && v.is_padded(1))
    return c.refuse("its channels are padded, and its weights are not", {.axis = 1});
  const Content weights = c.weights(1);
  for (std::size_t i = 1; i < c.output_count(); ++i) {
    if (!c.has_output(i)) continue;
    std::vector<LayoutId> l = v.layouts;
    for (std::size_t k = 0; k < l.size(); ++k)
      if ((*over >> k & 1u) != 0) l[k] = c.layouts.same(c.dims.constant(1));
    const bool ok = c.set(i, c.make(c.output_type(i), std::move(l),
                                    [&](AxisMask r) { return normalized(c, v.at(r), weights); }));
    if (!ok) return false;
  }
  return c.set_result(v.layouts, [&](AxisMask r) { return normalized(c, v.at(r), weights); });
}

// Operand 0 plus operand 1, and then normalized over the last axis.
bool skip_normalization(PaddingContext& c) {
  if (c.kind == OpKind::MsEmbedLayerNormalization) return embedding(c);
  const PaddedValue &v = c.in(0), &skip = c.in(1);
  if (v.rank() == 0) return c.refuse("its operand is a scalar");
  const std::vector<const PaddedValue*> operands{&v, &skip};
  const auto l = broadcast(c, operands);
  if (!l) return false;
  if (!c.unpadded_from(2, "weights are")) return false;
  if (c.layouts.padded(l->back()))
    return c.refuse("its statistics over the last axis include padding",
                    {.axis = static_cast<int>(l->size()) - 1});
  const std::size_t r = l->size();
  const Content weights = c.weights(2);
  for (std::size_t i = 0; i < c.output_count(); ++i) {
    if (!c.has_output(i)) continue;
    if (i == 1 || i == 2) return c.refuse("its statistics are results");
    const bool ok = c.set(i, c.make(c.output_type(i), *l, [&](AxisMask region) {
      const Content sum = ContentMath::combined(
          {v.at(operand_region(v, r, region)), skip.at(operand_region(skip, r, region))});
      return i == 0 ? normalized(c, sum, weights) : ContentMath::combined({sum, weights});
    }));
    if (!ok) return false;
  }
  return true;
}

bool lp_normalization(PaddingContext& c) {
  const PaddedValue& v = c.in(0);
  const auto axis = normalize_axis(c.attr(names::axis, -1), v.rank());
  if (!axis) return c.refuse("its axis is not known");
  const AxisMask over = bit(static_cast<std::size_t>(*axis));
  if (const Content* bad = c.bad_padding(v, over, [&](const Content& p) { return c.math.is_zero(p); }))
    return c.refuse_padding(0, over, *bad, "it sums over", 0);
  return c.set_result(v.layouts, [&](AxisMask) { return ContentMath::anything(); });
}

bool batch_normalization(PaddingContext& c) {
  const PaddedValue& v = c.in(0);
  const bool trains = c.opset() < 7 ? c.attr(names::is_test, 0) == 0 : c.attr(names::training_mode, 0) != 0;
  if (trains || c.output_count() > 1) return c.refuse("in training it uses the statistics of the batch");
  if (c.attr(names::spatial, 1) == 0 && v.padded > 1) return c.refuse("its weights cover padded axes");
  if (v.is_padded(1)) return c.refuse("its channels are padded", {.axis = 1});
  const Content weights = c.weights(1);
  return c.set_result(v.layouts, [&](AxisMask r) { return normalized(c, v.at(r), weights); });
}

}  // namespace graphopt::padding
