// Elementwise operators: element i of the result is computed from element i of each operand, broadcast. So
// the padding of the result is computed from the padding of the operands, if all lie the same way along an
// axis or have extent 1 there.
#include <algorithm>
#include <cmath>
#include <limits>

#include "buckets/padding/rules.h"
#include "ops/node_facts.h"

namespace graphopt::padding {

AxisMask operand_region(const PaddedValue& operand, std::size_t r, AxisMask region) {
  return region >> (r - operand.rank());
}

std::optional<std::vector<LayoutId>> broadcast(PaddingContext& c,
                                               std::span<const PaddedValue* const> operands) {
  std::size_t r = 0;
  for (const PaddedValue* v : operands) r = std::max(r, v->rank());
  std::vector<LayoutId> out;
  for (std::size_t i = 0; i < r; ++i) {
    LayoutId now;
    for (const PaddedValue* v : operands) {
      if (i + v->rank() < r) continue;
      const LayoutId l = v->layouts[i + v->rank() - r];
      if (!now || now == l || c.is_one(c.layouts.extent(now))) {
        now = l;
      } else if (c.is_one(c.layouts.extent(l))) {
        continue;
      } else if (!c.layouts.padded(now) && !c.layouts.padded(l)) {
        // One of them may be 1 in a run. In both runs each has the same extent, and so has the result.
        now = c.dims.value(c.layouts.extent(l)).value_or(0) > 1 ? l : c.stable_extent(0, i);
        if (!now) {
          c.unknown_extent(0, i);
          return std::nullopt;
        }
      } else if (c.dims.equal(c.layouts.extent(now), c.layouts.extent(l)) == Tri::Yes) {
        c.refuse("operands have different layouts of padding, " + c.layouts.text(now) + " and " +
                     c.layouts.text(l) + ", on axis " + std::to_string(i),
                 {.axis = static_cast<int>(i)});
        return std::nullopt;
      } else {
        c.refuse("broadcasting relates the extents " + c.dims.print(c.layouts.extent(now)) + " and " +
                     c.dims.print(c.layouts.extent(l)) + " on axis " + std::to_string(i) +
                     ": one symbol is needed for both",
                 {.axis = static_cast<int>(i)});
        return std::nullopt;
      }
    }
    out.push_back(now);
  }
  return out;
}

namespace {

Content combined(std::span<const Content> operands) {
  return operands.size() == 1 ? ContentMath::combined({operands[0]})
                              : ContentMath::combined({operands[0], operands[1]});
}

// Where x is negative, slope * x, else x.
Content slope(const PaddingContext& c, std::span<const Content> o) {
  if (!o[0].finite() || !o[1].finite()) return ContentMath::anything();
  return c.math.join(o[0], c.math.multiply(o[0], o[1]));
}

UnaryParameters unary_parameters(const PaddingContext& c) {
  const bool shrinks = c.kind == OpKind::Shrink;
  return {.alpha = c.attr_real(names::alpha, 1),
          .beta = c.attr_real(shrinks ? names::bias : names::beta, 0),
          .gamma = c.attr_real(names::gamma, 1)};
}

// n-ary operators; the first operand's type is that of the computation.
Content content(PaddingContext& c, DType type, std::span<const Content> o, bool true_run) {
  const ContentMath& math = c.math;
  const auto all = [&](auto f) {
    Content out = o[0];
    for (std::size_t i = 1; i < o.size(); ++i) out = math.held(type, f(out, o[i]), true_run);
    return out;
  };
  switch (c.kind) {
    case OpKind::Add:
    case OpKind::Sum: return all([&](const Content& a, const Content& b) { return math.add(a, b); });
    case OpKind::Mean: {
      Content sum = all([&](const Content& a, const Content& b) { return math.add(a, b); });
      return math.divide(sum, ContentMath::number(static_cast<double>(o.size())), false);
    }
    case OpKind::Sub: return math.subtract(o[0], o[1]);
    case OpKind::Mul: return math.multiply(o[0], o[1]);
    case OpKind::Min: return all([&](const Content& a, const Content& b) { return math.minimum(a, b); });
    case OpKind::Max: return all([&](const Content& a, const Content& b) { return math.maximum(a, b); });
    case OpKind::And:
    case OpKind::Or:
    case OpKind::Xor: return math.logical(c.kind, o[0], o[1]);
    case OpKind::Less:
    case OpKind::LessOrEqual:
    case OpKind::Greater:
    case OpKind::GreaterOrEqual:
    case OpKind::Equal: return math.compare(c.kind, o[0], o[1]);
    case OpKind::Where: return math.select(o[0], o[1], o[2]);
    case OpKind::Pow: return is_int(type) ? ContentMath::any_finite() : math.power(o[0], o[1]);
    case OpKind::PRelu: return slope(c, o);
    case OpKind::BitShift:
    case OpKind::BitwiseAnd:
    case OpKind::BitwiseOr:
    case OpKind::BitwiseXor: return ContentMath::any_finite();
    case OpKind::MsBiasGelu:
    case OpKind::MsFastGelu: return combined(o);
    default:
      if (o.size() != 1) return ContentMath::anything();
      return unary_content(math, c.kind, type, o[0], unary_parameters(c));
  }
}

}  // namespace

bool elementwise(PaddingContext& c) {
  if (facts_of(c.m, c.n).broadcast == Broadcast::LegacyAxis && c.attr(names::broadcast, 0) != 0)
    return c.refuse("it broadcasts by an axis of its own");
  std::vector<const PaddedValue*> operands;
  for (std::size_t i = 0; i < c.input_count(); ++i)
    if (c.has(i)) operands.push_back(&c.in(i));
  auto l = broadcast(c, operands);
  if (!l) return false;
  const std::size_t r = l->size();
  const DType type = operands[0]->type;
  std::vector<Content> o(operands.size());
  PaddedValue out = c.make(c.output_type(0), std::move(*l), [&](AxisMask region) {
    for (std::size_t i = 0; i < o.size(); ++i)
      o[i] = operands[i]->at(operand_region(*operands[i], r, region));
    return content(c, type, o, region == 0);
  });
  if (operands.size() == 1 && c.kind == OpKind::Identity) {
    out = *operands[0];
  }
  return c.set(0, std::move(out));
}

// An integer division by a padding element that may be 0 may end the program, and so may that of the least
// integer by -1. Of constants of a bucket it cannot: the model accepts that extent.
bool division(PaddingContext& c) {
  const PaddedValue &a = c.in(0), &b = c.in(1);
  const std::vector<const PaddedValue*> operands{&a, &b};
  auto l = broadcast(c, operands);
  if (!l) return false;
  const std::size_t r = l->size();
  const bool integers = !is_float(a.type);
  bool traps = false;
  PaddedValue out = c.make(c.output_type(0), std::move(*l), [&](AxisMask region) {
    const Content &x = a.at(operand_region(a, r, region)), &y = b.at(operand_region(b, r, region));
    const Content divisor = c.math.widened(y);
    const bool may_be_zero = c.math.low(divisor) <= 0 && c.math.high(divisor) >= 0;
    const bool may_be_minus_one = c.math.low(divisor) <= -1 && c.math.high(divisor) >= -1;
    const double least = is_signed_int(a.type) ? -std::ldexp(1, bits_of(a.type) - 1) : 0;
    const bool may_overflow = may_be_minus_one && is_signed_int(a.type) && c.math.low(x) <= least;
    if (integers && (may_be_zero || may_overflow)) {
      traps = traps || (region != 0 && !(a.pure && b.pure));
      return ContentMath::any_finite();
    }
    if (c.kind == OpKind::Mod) {
      return integers || !may_be_zero ? ContentMath::combined({x, y}) : ContentMath::anything();
    }
    return c.math.divide(x, y, integers);
  });
  if (traps)
    return c.refuse(
        "an integer division in the padding, by what may be 0 or of the least integer by -1, can end the "
        "program");
  return c.set(0, std::move(out));
}

bool clip(PaddingContext& c) {
  const PaddedValue& v = c.in(0);
  std::optional<Content> low, high;
  bool known = true;
  const auto bound = [&](std::size_t slot, NameId name) -> std::optional<Content> {
    if (c.has(slot)) {
      known = known && c.in(slot).constant.valid();
      const Content value = c.whole(slot);  // of an integer that no double is, an interval
      return value.nan ? ContentMath::number(std::numeric_limits<double>::quiet_NaN()) : value;
    }
    if (const auto value = float_attr(c.m, c.n, name))
      return ContentMath::number(static_cast<double>(*value));
    return std::nullopt;
  };
  low = bound(1, names::min);
  high = bound(2, names::max);
  Content bounds = ContentMath::number(0);  // what they are between
  for (const std::size_t slot : {std::size_t{1}, std::size_t{2}})
    if (c.has(slot)) bounds = c.math.join(bounds, c.join_over(c.in(slot), 0, c.in(slot).padded));
  return c.set_result(v.layouts, [&](AxisMask region) {
    Content out = v.at(region);
    if (!known) return ContentMath::combined({out, bounds});
    if (low) out = c.math.maximum(out, *low);
    if (high) out = c.math.minimum(out, *high);
    const double least = c.math.low(out), most = c.math.high(out);
    out.infinite = out.infinite && (std::isinf(least) || std::isinf(most));
    out.positive_infinite = out.positive_infinite && std::isinf(most);
    return out;
  });
}

bool cast(PaddingContext& c) {
  const PaddedValue& v = c.in(0);
  const DType to = c.output_type(0);
  if (to == DType::String || v.type == DType::String || to == DType::Undefined)
    return c.refuse("a cast from or to strings is not analysed");
  PaddedValue out =
      c.make(to, v.layouts, [&](AxisMask region) { return c.math.cast(v.at(region), v.type, to); });
  // A narrower type may wrap what the input holds.
  const bool holds = to == v.type || (is_signed_int(to) && is_int(v.type) && bits_of(to) > bits_of(v.type)) ||
                     (is_signed_int(to) && is_signed_int(v.type) && bits_of(to) >= bits_of(v.type));
  if (holds) out.origin = v.origin;
  return c.set(0, std::move(out));
}

bool dropout(PaddingContext& c) {
  const PaddedValue& v = c.in(0);
  if (c.has_output(1)) {
    const bool ok = c.set(1, c.make(DType::Bool, v.layouts, [](AxisMask) { return ContentMath::boolean(); }));
    if (!ok) return false;
  }
  return c.set(0, v);
}

}  // namespace graphopt::padding
