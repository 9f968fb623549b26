#include "buckets/padding/content.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "buckets/padding/type_limits.h"

namespace graphopt {
namespace {

bool is_integer(double v) { return std::isfinite(v) && std::floor(v) == v; }

double product(double a, double b) { return a == 0 || b == 0 ? 0 : a * b; }

// The opposite of a bound. That of the least integer of 64 bits is 2^63, which int64 does not hold.
double opposite(double v, double towards) { return std::fabs(v) < 0x1p63 ? -v : stepped(-v, towards); }

// A side that no double holds is infinite.
void overflow(Content& c) {
  c.infinite = true;
  c.positive_infinite = c.positive_infinite || c.high.number == kInfinity;
}

Content rounded(Content c) {
  if (!is_plain_number(c.low.number) || !is_plain_number(c.high.number))
    c.rounding = std::max(c.rounding, kRounding);
  return c;
}

}  // namespace

// --- making ------------------------------------------------------------------------------------------------

Content ContentMath::number(double v) {
  if (std::isnan(v)) return {.low = {-kInfinity, {}}, .high = {kInfinity, {}}, .nan = true};
  Content c = interval(v, v);
  c.infinite = std::isinf(v);
  c.positive_infinite = v == kInfinity;
  return c;
}

Content ContentMath::anything() {
  Content c = any_finite();
  c.nan = c.infinite = c.positive_infinite = c.chosen = c.from_pads = true;
  return c;
}

Content ContentMath::any_of(DType type) {
  Content c = is_float(type) ? interval(-greatest_of(type), greatest_of(type)) : any_finite();
  if (type == DType::Bool) c = boolean();
  c.chosen = c.from_pads = true;
  return c;
}

Content ContentMath::combined(std::initializer_list<Content> operands) {
  Content c = any_finite();
  for (const Content& o : operands) {
    if (!o.finite()) return anything();
    c.chosen = c.chosen || o.chosen || o.from_pads;
    c.from_pads = c.from_pads || o.from_pads;
  }
  return c;
}

// --- asking ------------------------------------------------------------------------------------------------

double ContentMath::low(const Bound& b) const {
  if (!b.expression) return b.number;
  const Range r = dims_.range(b.expression);
  return r.low <= Range::kMin ? -kInfinity : outward(r.low, -kInfinity);
}

double ContentMath::high(const Bound& b) const {
  if (!b.expression) return b.number;
  const Range r = dims_.range(b.expression);
  return r.high >= Range::kMax ? kInfinity : outward(r.high, kInfinity);
}

double ContentMath::low(const Content& c) const { return low(c.low); }
double ContentMath::high(const Content& c) const { return high(c.high); }

bool ContentMath::is_bounded(const Content& c) const {
  return c.finite() && std::isfinite(low(c)) && std::isfinite(high(c));
}

bool ContentMath::is_number(const Content& c) const {
  if (c.nan || c.rounding > 0) return false;
  const double a = low(c), b = high(c);
  return a == b && (std::isfinite(a) || c.infinite);
}

bool ContentMath::is(const Content& c, double v) const { return is_number(c) && low(c) == v; }

DimId ContentMath::expression(const Bound& b) const {
  if (b.expression) return b.expression;
  if (!is_integer(b.number) || std::fabs(b.number) >= kExactInteger) return {};
  return dims_.constant(static_cast<std::int64_t>(b.number));
}

bool ContentMath::less_equal(const Bound& a, const Bound& b) const {
  if (!a.expression && !b.expression) return a.number <= b.number;
  if (!a.expression && a.number == -kInfinity) return true;
  if (!b.expression && b.number == kInfinity) return true;
  const DimId x = expression(a), y = expression(b);
  if (x && y) return dims_.less_equal(x, y) == Tri::Yes;
  return high(a) <= low(b);
}

bool ContentMath::less(const Bound& a, const Bound& b) const {
  if (!a.expression && !b.expression) return a.number < b.number;
  const DimId x = expression(a), y = expression(b);
  if (x && y) return dims_.less(x, y) == Tri::Yes;
  return high(a) < low(b);
}

bool ContentMath::is_at_most(const Content& padding, const Content& truth, DType type) const {
  const bool is_least = is_int(type) && is(padding, limits_of(type).low);
  return is_least || (!padding.nan && less_equal(padding.high, truth.low));
}

bool ContentMath::is_at_least(const Content& padding, const Content& truth, DType type) const {
  const bool is_greatest = is_int(type) && bits_of(type) <= 32 && is(padding, limits_of(type).high);
  return is_greatest || (!padding.nan && less_equal(truth.high, padding.low));
}

double ContentMath::mask_of(const Content& c) const {
  if (c.mask > 0) return c.mask;
  const double h = high(c);
  return h <= -1000 && !c.nan ? -h : 0;
}

std::string ContentMath::text(const Content& c) const {
  const auto bound = [this](const Bound& b) -> std::string {
    if (b.expression) return dims_.print(b.expression);
    if (std::isinf(b.number)) return b.number < 0 ? "-inf" : "inf";
    std::array<char, 32> text{};
    const int n = std::snprintf(text.data(), text.size(), "%.9g", b.number);
    return {text.data(), static_cast<std::size_t>(n)};
  };
  const std::string low_text = bound(c.low), high_text = bound(c.high);
  std::string out = low_text == high_text ? low_text : "[" + low_text + ", " + high_text + "]";
  if (c.nan) out += c.infinite ? ", infinite or NaN" : " or NaN";
  else if (c.infinite && low_text != high_text) out += " or infinite";
  return out;
}

// --- computing ---------------------------------------------------------------------------------------------

Content ContentMath::join(const Content& a, const Content& b) const {
  Content c;
  c.low = less_equal(a.low, b.low)   ? a.low
          : less_equal(b.low, a.low) ? b.low
                                     : Bound{std::min(low(a), low(b)), {}};
  c.high = less_equal(a.high, b.high)   ? b.high
           : less_equal(b.high, a.high) ? a.high
                                        : Bound{std::max(high(a), high(b)), {}};
  c.nan = a.nan || b.nan;
  c.infinite = a.infinite || b.infinite;
  c.positive_infinite = a.positive_infinite || b.positive_infinite;
  c.rounding = std::max(a.rounding, b.rounding);
  c.mask = std::min(mask_of(a), mask_of(b));
  c.chosen = a.chosen || b.chosen;
  c.from_pads = a.from_pads || b.from_pads;
  return c;
}

// The lesser and the greater of two integers as an expression; none unless one of them is one.
DimId ContentMath::least(const Bound& a, const Bound& b) const {
  if (!a.expression && !b.expression) return {};
  const DimId x = expression(a), y = expression(b);
  return x && y ? dims_.min(x, y) : DimId{};
}

DimId ContentMath::greatest(const Bound& a, const Bound& b) const {
  if (!a.expression && !b.expression) return {};
  const DimId x = expression(a), y = expression(b);
  return x && y ? dims_.max(x, y) : DimId{};
}

DimId ContentMath::sum(const Bound& a, const Bound& b) const {
  if (!a.expression && !b.expression) return {};
  const DimId x = expression(a), y = expression(b);
  return x && y ? dims_.add(x, y) : DimId{};
}

Content ContentMath::add(const Content& a, const Content& b) const {
  for (const auto& [x, y] : {std::pair{&a, &b}, std::pair{&b, &a}})
    if (is(*x, -kInfinity) && !y->nan && !y->positive_infinite) return number(-kInfinity);
  Content c;
  c.nan = a.nan || b.nan || (a.positive_infinite && b.infinite) || (a.infinite && b.positive_infinite);
  c.infinite = a.infinite || b.infinite;
  c.positive_infinite = a.positive_infinite || b.positive_infinite;
  if (const DimId e = sum(a.low, b.low)) c.low = {0, e};
  else
    c.low = {low(a) == -kInfinity || low(b) == -kInfinity ? -kInfinity : stepped(low(a) + low(b), -kInfinity),
             {}};
  if (const DimId e = sum(a.high, b.high)) c.high = {0, e};
  else
    c.high = {
        high(a) == kInfinity || high(b) == kInfinity ? kInfinity : stepped(high(a) + high(b), kInfinity), {}};
  c.rounding = std::max(a.rounding, b.rounding);
  c.chosen = a.chosen || b.chosen;
  c.from_pads = a.from_pads || b.from_pads;
  if (is_bounded(a) && is_bounded(b) && !is_bounded(c)) overflow(c);
  // Where bounds of two signs cancel, what they may be off by does not.
  const auto cancels = [&](const Bound& x, const Bound& y, bool lower) {
    const double u = lower ? low(x) : high(x), v = lower ? low(y) : high(y);
    const bool opposite = (u < 0) != (v < 0) && std::isfinite(u) && std::isfinite(v);
    return opposite ? a.rounding * std::fabs(u) + b.rounding * std::fabs(v) : 0;
  };
  if (const double off = cancels(a.low, b.low, true); off > 0) c.low = {low(c.low) - off, {}};
  if (const double off = cancels(a.high, b.high, false); off > 0) c.high = {high(c.high) + off, {}};
  if (!c.nan) {
    if (b.finite()) c.mask = mask_of(a);
    if (a.finite()) c.mask = std::max(c.mask, mask_of(b));
  }
  return rounded(c);
}

Content ContentMath::negate(const Content& a) const {
  const auto turned = [this](const Bound& b, double edge) -> Bound {
    if (!b.expression) return {opposite(b.number, edge), {}};
    if (const DimId e = dims_.neg(b.expression)) return {0, e};
    return {edge, {}};
  };
  Content c;
  c.low = turned(a.high, -kInfinity);
  c.high = turned(a.low, kInfinity);
  c.nan = a.nan;
  c.infinite = a.infinite;
  c.positive_infinite = a.infinite && low(a) == -kInfinity;
  c.rounding = a.rounding;
  c.chosen = a.chosen;
  c.from_pads = a.from_pads;
  return c;
}

Content ContentMath::multiply(const Content& a, const Content& b) const {
  if ((is_zero(a) && b.finite()) || (is_zero(b) && a.finite())) return number(0);
  const double al = low(a), ah = high(a), bl = low(b), bh = high(b);
  if (a.finite() && b.finite() && al >= 0 && bl >= 0 && (a.high.expression || b.high.expression)) {
    const DimId x = expression(a.low), y = expression(b.low), u = expression(a.high), v = expression(b.high);
    const DimId least = x && y ? dims_.mul(x, y) : DimId{}, most = u && v ? dims_.mul(u, v) : DimId{};
    if (least && most && a.rounding == 0 && b.rounding == 0) return between(least, most);
  }
  const std::array<double, 4> corners{product(al, bl), product(al, bh), product(ah, bl), product(ah, bh)};
  Content c = interval(stepped(*std::ranges::min_element(corners), -kInfinity),
                       stepped(*std::ranges::max_element(corners), kInfinity));
  const bool zero_times_infinity = (al <= 0 && 0 <= ah && b.infinite) || (bl <= 0 && 0 <= bh && a.infinite);
  c.nan = a.nan || b.nan || zero_times_infinity;
  c.infinite = c.positive_infinite = a.infinite || b.infinite;
  c.rounding = std::max(a.rounding, b.rounding);
  c.chosen = a.chosen || b.chosen;
  c.from_pads = a.from_pads || b.from_pads;
  if (is_bounded(a) && is_bounded(b) && !is_bounded(c)) overflow(c);
  return rounded(c);
}

Content ContentMath::divide(const Content& a, const Content& b, bool integers) const {
  if (integers && is_number(b) && low(b) > 0 && a.low.expression && a.high.expression && low(a) >= 0) {
    const DimId by = expression(Bound{low(b), {}});
    const DimId least = by ? dims_.floor_div(a.low.expression, by) : DimId{};
    const DimId most = by ? dims_.floor_div(a.high.expression, by) : DimId{};
    if (least && most) return between(least, most);
  }
  const Content divisor = widened(b);
  const double bl = low(divisor), bh = high(divisor);
  if (!(bl > 0 || bh < 0) || b.nan) return integers ? any_finite() : anything();
  if (is_zero(a) && b.finite()) return number(0);
  if (b.infinite) return anything();
  const double al = low(a), ah = high(a);  // what they may be off by stays relative
  const auto quotient = [](double x, double y) {
    if (std::isinf(y)) return 0.0;
    if (std::isinf(x)) return y > 0 ? x : -x;
    return x / y;
  };
  const std::array<double, 5> corners{quotient(al, bl), quotient(al, bh), quotient(ah, bl), quotient(ah, bh),
                                      std::isinf(bl) || std::isinf(bh) ? 0.0 : quotient(al, bl)};
  Content c = interval(*std::ranges::min_element(corners), *std::ranges::max_element(corners));
  c.chosen = a.chosen || b.chosen;
  c.from_pads = a.from_pads || b.from_pads;
  if (integers) {
    c.low.number = std::floor(c.low.number);
    c.high.number = std::ceil(c.high.number);
    // A quotient of less than 2^53 by an integer is not rounded to an integer that it is not.
    const auto is_exact = [](double v) { return std::isinf(v) || std::fabs(v) <= kExactInteger; };
    if (!is_exact(al) || !is_exact(ah)) {
      c.low.number = stepped(c.low.number - 1, -kInfinity);
      c.high.number = stepped(c.high.number + 1, kInfinity);
    }
    return c;
  }
  c.nan = a.nan;
  c.infinite = c.positive_infinite = a.infinite;
  c.rounding = kRounding;
  if (is_bounded(a) && !is_bounded(c)) overflow(c);
  return c;
}

Content ContentMath::minimum(const Content& a, const Content& b) const {
  Content c = join(a, b);
  c.mask = 0;
  if (c.nan) return c;  // kernels differ in whether NaN or the number comes back
  if (const DimId e = least(a.low, b.low)) c.low = {0, e};
  c.high = less_equal(a.high, b.high)   ? a.high
           : less_equal(b.high, a.high) ? b.high
                                        : Bound{std::min(high(a), high(b)), least(a.high, b.high)};
  return c;
}

Content ContentMath::maximum(const Content& a, const Content& b) const {
  Content c = join(a, b);
  c.mask = 0;
  if (c.nan) return c;
  if (const DimId e = greatest(a.high, b.high)) c.high = {0, e};
  c.low = less_equal(a.low, b.low)   ? b.low
          : less_equal(b.low, a.low) ? a.low
                                     : Bound{std::max(low(a), low(b)), greatest(a.low, b.low)};
  return c;
}

Content ContentMath::log_probability(const Content& scores, bool may_be_nan) const {
  Content out = interval(low(scores) - high(scores), 0);
  // A logarithm of the number of scores is subtracted, too.
  if (is_bounded(scores)) out.low.number -= 64;
  else out.low.number = -kInfinity;
  out.nan = may_be_nan;
  out.infinite = !scores.finite();
  if (out.infinite) out.high.number = kInfinity;  // of rows with infinity, kernels make anything
  out.rounding = kRounding;
  out.chosen = scores.chosen;
  return out;
}

Content ContentMath::widened(const Content& c) const {
  if (c.rounding == 0) return c;
  Content out = c;
  const auto slack = [&c](double v) { return std::isfinite(v) ? c.rounding * std::fabs(v) : 0; };
  if (!c.low.expression) out.low.number -= slack(c.low.number);
  else out.low = {low(c) - slack(low(c)), {}};
  if (!c.high.expression) out.high.number += slack(c.high.number);
  else out.high = {high(c) + slack(high(c)), {}};
  return out;
}

// A comparison with NaN is false.
Content ContentMath::compare(OpKind kind, const Content& first, const Content& second) const {
  const Content a = widened(first), b = widened(second);
  bool yes = false, no = false;
  switch (kind) {
    case OpKind::Less: yes = less(a.high, b.low), no = less_equal(b.high, a.low); break;
    case OpKind::LessOrEqual: yes = less_equal(a.high, b.low), no = less(b.high, a.low); break;
    case OpKind::Greater: yes = less(b.high, a.low), no = less_equal(a.high, b.low); break;
    case OpKind::GreaterOrEqual: yes = less_equal(b.high, a.low), no = less(a.high, b.low); break;
    case OpKind::Equal:
      yes = is_number(a) && is_number(b) && low(a) == low(b);
      no = less(a.high, b.low) || less(b.high, a.low);
      break;
    default: return boolean();
  }
  if (no) return number(0);
  return yes && !a.nan && !b.nan ? number(1) : boolean();
}

Content ContentMath::logical(OpKind kind, const Content& a, const Content& b) const {
  const bool a0 = is_zero(a), b0 = is_zero(b), a1 = is(a, 1), b1 = is(b, 1);
  switch (kind) {
    case OpKind::And: return a0 || b0 ? number(0) : a1 && b1 ? number(1) : boolean();
    case OpKind::Or: return a1 || b1 ? number(1) : a0 && b0 ? number(0) : boolean();
    case OpKind::Xor: return (a0 || a1) && (b0 || b1) ? number(a1 != b1 ? 1 : 0) : boolean();
    default: return boolean();
  }
}

Content ContentMath::select(const Content& condition, const Content& x, const Content& y) const {
  return is(condition, 1) ? x : is_zero(condition) ? y : join(x, y);
}

// Squares and cubes are products; what a greater power gives must be seen to fit.
Content ContentMath::power(const Content& a, const Content& exponent) const {
  if (!is_number(exponent) || !exponent.finite() || !a.finite()) return anything();
  const double e = low(exponent);
  if (e > 0 && is_zero(a)) return number(0);
  const Content base = widened(a);
  const double l = low(base), h = high(base);
  const bool defined = e > 0 ? is_integer(e) || l >= 0 : l > 0;
  if (!defined) return anything();
  const double at_low = std::pow(l, e), at_high = std::pow(h, e);
  Content c = interval(std::min(at_low, at_high), std::max(at_low, at_high));
  if (l < 0 && h > 0 && is_integer(e / 2)) c.low.number = 0;
  c.rounding = kRounding;
  c.chosen = a.chosen;
  constexpr double kFewFactors = 4;
  if (!is_bounded(c) && (is_bounded(a) || std::fabs(e) > kFewFactors)) overflow(c);
  return c;
}

}  // namespace graphopt
