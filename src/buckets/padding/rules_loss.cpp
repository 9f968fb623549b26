// NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss.
//
// The loss at a position (batch and spatial axes) is minus the log-probability that the position's target
// chooses along the class axis, times the weight of that class, or 0 where the target is the ignored class.
// So positions are apart, and those in padding need a target that is ignored or legal. The classes and the
// weights may be padded at their end, as targets count from the front; the probabilities, too, if the scores
// of padded classes are minus infinity. A sum over positions wants losses of 0 in padding. A mean divides by
// the weights of what is not ignored, so padding must be ignored there. The standard defines both operators
// by GatherElements and Gather, and so ONNX Runtime runs them; an index out of range is an error.
#include <algorithm>

#include "buckets/padding/rules.h"

namespace graphopt::padding {
namespace {

struct Targets {
  const PaddedValue& value;
  std::optional<std::int64_t> ignored;

  bool are_ignored(const PaddingContext& c, AxisMask region) const {
    return ignored && c.math.is(value.at(region), static_cast<double>(*ignored));
  }
};

// Returns false, after refuse(), unless true targets name the same entry of an axis of this layout in both
// runs, and those in padding name any.
bool may_choose(PaddingContext& c, const Targets& targets, LayoutId axis, std::string_view what) {
  const PaddedValue& t = targets.value;
  if (c.layouts.padded(axis)) {
    if (!c.layouts.is_prefix(axis)) return c.refuse("there is padding within " + std::string(what));
    // An ignored target of -1 is not used as an index.
    const double least = targets.ignored == -1 ? -1 : 0;
    if (!c.math.at_least(t.true_part(), least)) {
      const bool unknown = t.origin && c.math.low(t.true_part()) == -kInfinity;
      if (!unknown)
        return c.refuse("a target may be negative, and counts then from the padded end of " +
                        std::string(what));
      c.assume(BucketAssumption::IndicesNotNegative, "the indices from input '" +
                                                         std::string(c.m.text(c.m.value(t.origin).name)) +
                                                         "' are not negative");
    }
  }
  if (t.pure) return true;
  const DimId most = c.a.in_padded_run(c.layouts.extent(axis));
  const DimId least = most ? c.dims.neg(most) : DimId{};
  const DimId last = most ? c.dims.sub(most, c.dims.constant(1)) : DimId{};
  const Content* bad = nullptr;
  for_each_subset(t.padded, [&](AxisMask region) {
    if (region == 0 || targets.are_ignored(c, region)) return;
    const Content& p = t.at(region);
    if (!least || !last || !p.finite() || !c.math.less_equal({0, least}, p.low) ||
        !c.math.less_equal(p.high, {0, last}))
      bad = &p;
  });
  if (!bad) return true;
  const std::string range = last ? "0 .. " + c.dims.print(last) : "the classes";
  return c.refuse("padding of its targets holds " + c.math.text(*bad) + ", which may be outside of " + range,
                  {.content = c.math.text(*bad), .needs = range});
}

// The scores' log-probabilities along axis 1; nothing after refuse().
std::optional<PaddedValue> log_probabilities(PaddingContext& c, const PaddedValue& x) {
  const Content* bad = c.bad_padding(x, bit(1), [&](const Content& p) { return c.math.is(p, -kInfinity); });
  if (bad) {
    c.refuse_padding(0, bit(1), *bad, "it normalizes over", -kInfinity);
    return std::nullopt;
  }
  return c.make(x.type, x.layouts, [&](AxisMask region) {
    const Content all = c.join_over(x, region & ~bit(1), bit(1));
    return c.math.log_probability(all, !all.finite());
  });
}

}  // namespace

bool loss(PaddingContext& c) {
  const PaddedValue& x = c.in(0);
  const Targets targets{c.in(1), int_attr(c.m, c.n, names::ignore_index)};
  const PaddedValue& t = targets.value;
  if (x.rank() < 2 || t.rank() + 1 != x.rank())
    return c.refuse("its targets have another rank than its scores");
  // A position beyond those of the targets has no loss.
  for (std::size_t i = 0; i < t.rank(); ++i) {
    const std::size_t k = i == 0 ? 0 : i + 1;
    if (t.layouts[i] == x.layouts[k] ||
        (!t.is_padded(i) && (!x.is_padded(k) || c.layouts.is_prefix(x.layouts[k]))))
      continue;
    return c.refuse("its operands have different layouts of padding on axis " + std::to_string(k),
                    {.axis = static_cast<int>(k)});
  }
  const bool weighted = c.has(2);
  if (weighted && c.in(2).rank() != 1) return c.refuse("its weights have another rank than 1");
  if (!may_choose(c, targets, x.layouts[1], "the classes")) return false;
  if (weighted && !may_choose(c, targets, c.in(2).layouts[0], "the weights")) return false;

  PaddedValue p = x;
  if (c.kind == OpKind::SoftmaxCrossEntropyLoss) {
    auto made = log_probabilities(c, x);
    if (!made) return false;
    p = *std::move(made);
    if (c.has_output(1) && !c.set(1, p)) return false;
  }
  // The loss at the positions of a region.
  const auto loss_at = [&](AxisMask region) {
    if (region != 0 && targets.are_ignored(c, region)) return ContentMath::number(0);
    const Content chosen = c.join_over(p, (region & 1u) | ((region >> 1) << 2), bit(1));
    const Content weights = weighted ? c.whole(2) : ContentMath::number(1);
    if (region != 0 && c.math.is_zero(chosen) && weights.finite()) return ContentMath::number(0);
    return ContentMath::combined({chosen, weights});
  };
  const std::string_view reduction = c.attr_text(names::reduction, "mean");
  if (reduction == "none") return c.set_result(t.layouts, loss_at);
  AxisMask bad = 0;
  for_each_subset(t.padded, [&](AxisMask region) {
    const bool adds_nothing =
        targets.are_ignored(c, region) || (reduction == "sum" && c.math.is_zero(loss_at(region)));
    if (region != 0 && bad == 0 && !adds_nothing) bad = region;
  });
  if (bad != 0) {
    c.refuse((reduction == "sum" ? "it adds the loss of " : "it averages the loss of ") +
                 c.axis_text(t, bad) + " of its targets; that padding would have to be ignore_index",
             {.axis = std::countr_zero(bad),
              .content = c.math.text(t.at(bad)),
              .needs = targets.ignored ? std::to_string(*targets.ignored) : ""});
    c.contaminate(0);  // the log-probabilities are safe
    return true;
  }
  return c.set_result({}, [](AxisMask) { return ContentMath::anything(); });
}

}  // namespace graphopt::padding
