// What types do to numbers: their limits, what does not fit, and casts.
#include <algorithm>
#include <cmath>

#include "buckets/padding/content.h"
#include "buckets/padding/type_limits.h"
#include "support/half.h"

namespace graphopt {
namespace {

// What is chosen and no greater than that is like data: what follows from it fits where data do.
constexpr double kModerate = 1e4;
// Known to be able to be as large as that, by a power or an exponential: it may not fit where data do.
constexpr double kUnlikeData = 1e9;

Content infinite_beyond(const Content& c, DType type) {
  const double limit = overflow_of(type);
  const auto is_beyond = [limit](const Bound& b, double sign) {
    return !b.expression && std::isfinite(b.number) && sign * b.number >= limit;
  };
  Content out = c;
  const bool below = is_beyond(c.low, -1), above = is_beyond(c.high, 1);
  if (below) out.low = {-kInfinity, {}};
  if (is_beyond(c.high, -1)) out.high = {-kInfinity, {}};
  if (above) out.high = {kInfinity, {}};
  if (is_beyond(c.low, 1)) out.low = {kInfinity, {}};
  out.infinite = c.infinite || below || above;
  out.positive_infinite = c.positive_infinite || above;
  out.nan = c.nan || ((below || above) && bits_of(type) < 16);
  return out;
}

// From here on a number is 0 for the analysis: kernels may flush what has no full precision.
double least_of(DType type) {
  switch (type) {
    case DType::Double: return 2.3e-308;
    case DType::Float:
    case DType::BFloat16: return 1.2e-38;
    case DType::Float16: return 6.2e-5;
    default: return 0.5;
  }
}

// Moves a high bound of 2^63 or 2^64 past it, where it means that number and not what the type holds.
Content without_limit(DType type, Content c) {
  if (!c.high.expression && bits_of(type) == 64 && c.high.number == limits_of(type).high)
    c.high.number = std::nextafter(c.high.number, kInfinity);
  return c;
}

int digits_of(DType type) {
  switch (type) {
    case DType::Double: return 53;
    case DType::Float: return 24;
    case DType::Float16: return 11;
    case DType::BFloat16: return 8;
    default: return 4;
  }
}

}  // namespace

bool is_plain_number(double v) {
  return !std::isfinite(v) || (std::fabs(v) <= 256 && std::floor(v * 4) == v * 4);
}

Limits limits_of(DType type) {
  if (type == DType::Bool) return {0, 1};
  const int bits = bits_of(type);
  return is_signed_int(type) ? Limits{-std::ldexp(1, bits - 1), std::ldexp(1, bits - 1) - 1}
                             : Limits{0, std::ldexp(1, bits) - 1};
}

double greatest_of(DType type) {
  switch (type) {
    case DType::Double: return std::numeric_limits<double>::max();
    case DType::Float: return std::numeric_limits<float>::max();
    case DType::BFloat16: return std::ldexp(255, 120);
    case DType::Float16: return 65504;
    case DType::Float8E4M3FN: return 448;
    case DType::Float8E4M3FNUZ: return 240;
    case DType::Float8E5M2:
    case DType::Float8E5M2FNUZ: return 57344;
    case DType::Float4E2M1: return 6;
    case DType::Float6E2M3: return 7.5;
    case DType::Float6E3M2: return 28;
    default: return std::ldexp(1, 127);  // Float8E8M0
  }
}

double overflow_of(DType type) {
  switch (type) {
    case DType::Double: return kInfinity;
    case DType::Float: return std::ldexp(33554431, 103);
    case DType::BFloat16: return std::ldexp(511, 119);
    case DType::Float16: return 65520;
    default: return std::nextafter(greatest_of(type), kInfinity);
  }
}

double stored(DType type, double v) {
  switch (type) {
    case DType::Float: return static_cast<double>(static_cast<float>(v));
    case DType::Float16: return static_cast<double>(half_to_float(double_to_half(v)));
    case DType::BFloat16:
      return static_cast<double>(bfloat16_to_float(float_to_bfloat16(static_cast<float>(v))));
    default: return v;
  }
}

Content ContentMath::held(DType type, Content c, bool true_run) const {
  c.chosen = c.chosen || c.from_pads;
  if (is_float(type)) {
    if (c.rounding > 0 && bits_of(type) < 32) c.rounding = kCoarseRounding;
    const double least = least_of(type);
    if (!c.low.expression && c.low.number > 0 && c.low.number < least) c.low.number = 0;
    if (!c.high.expression && c.high.number < 0 && c.high.number > -least) c.high.number = 0;
    if (!true_run) c = infinite_beyond(c, type);
    if (c.finite() && low(c) >= -kModerate && high(c) <= kModerate) c.chosen = false;
    const double magnitude = std::max(std::fabs(low(c)), std::fabs(high(c)));
    if (!true_run && is_bounded(c) && !is_number(c) && magnitude > kUnlikeData) c.chosen = true;
    return c;
  }
  c.rounding = 0;
  if (!is_int(type) && type != DType::Bool) return anything();
  const Limits limits = limits_of(type);
  if (low(c) >= limits.low && high(c) <= limits.high) return c;
  const bool wraps =
      (std::isfinite(low(c)) && low(c) < limits.low) || (std::isfinite(high(c)) && high(c) > limits.high);
  Content out = any_finite();
  out.from_pads = c.from_pads || (wraps && !true_run);  // -1 as an unsigned number is not like data
  out.chosen = c.chosen || out.from_pads;
  return out;
}

bool ContentMath::sum_overflows(DType type, std::span<const Content> factors, double count,
                                double scale) const {
  if (!is_float(type)) return false;
  double product = scale;
  for (const Content& f : factors) {
    if (!is_bounded(f)) return false;
    if (std::max(std::fabs(low(f)), std::fabs(high(f))) >= greatest_of(type)) return false;
    const Content wide = widened(f);
    product *= std::max(std::fabs(low(wide)), std::fabs(high(wide)));
  }
  return product > kModerate && product * std::max(count, 1.0) >= overflow_of(type);
}

Content ContentMath::closed(DType type, Content c) const {
  const bool is_number_type = is_float(type) || is_int(type) || type == DType::Bool;
  if (!is_number_type || (is_float(type) && c.infinite)) return c;
  const Limits limits = is_float(type) ? Limits{-greatest_of(type), greatest_of(type)} : limits_of(type);
  if (low(c) < limits.low) c.low = {limits.low, {}};
  if (high(c) > limits.high) c.high = {limits.high, {}};
  return c;
}

// An open end that follows from data fits, since no cast of the true run gives infinity.
Content ContentMath::cast(const Content& c, DType from, DType to) const {
  if (to == DType::Bool) {
    const Content wide = widened(c);
    if (is_zero(c)) return number(0);
    return (low(wide) > 0 || high(wide) < 0) && !c.nan ? number(1) : boolean();
  }
  if (is_float(from) && !is_float(to)) {
    Content out = any_finite();
    if (c.finite()) {
      const Content wide = widened(c);
      out = interval(std::trunc(low(wide)), std::trunc(high(wide)));
    }
    // Of NaN and infinities kernels make any integer.
    out.from_pads = c.from_pads || !c.finite();
    out.chosen = c.chosen || out.from_pads;
    return held(to, without_limit(to, out));
  }
  Content out = c;
  if (!is_float(to))
    return held(to, limits_of(from).high > limits_of(to).high ? without_limit(to, out) : out);
  if (bits_of(to) < 16) return anything();
  if (c.chosen) out = closed(from, out);
  const Content wide = closed(from, widened(c));
  const double limit = overflow_of(to);
  const auto fits = [&](double end, double open_end) {
    return end < limit || (open_end == kInfinity && !c.chosen);
  };
  if (!fits(-low(wide), -low(c)) || !fits(high(wide), high(c))) {
    if (is_number(c)) return held(to, out);
    out.low.number = low(wide) <= -limit ? -kInfinity : low(c), out.low.expression = {};
    out.high.number = high(wide) >= limit ? kInfinity : high(c), out.high.expression = {};
    out.infinite = true;
    out.positive_infinite = c.positive_infinite || high(wide) >= limit;
  }
  // Where the narrower type does not hold all of the values.
  const double magnitude = std::max(std::fabs(low(out)), std::fabs(high(out)));
  const double holds = bits_of(to) >= 64 ? kExactInteger : bits_of(to) == 32 ? 16777216.0 : 256.0;
  const bool narrows = is_float(from) ? digits_of(to) < digits_of(from) : !(magnitude <= holds);
  if (narrows && !(is_number(c) && is_plain_number(low(c)))) out.rounding = std::max(out.rounding, kRounding);
  return held(to, out);
}

}  // namespace graphopt
