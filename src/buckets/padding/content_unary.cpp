// What operators of one operand make of a content.
#include <algorithm>
#include <cmath>

#include "buckets/padding/content.h"
#include "buckets/padding/type_limits.h"

namespace graphopt {
namespace {

double sign(double v) { return v > 0 ? 1 : v < 0 ? -1 : 0; }

// The result of a function that never falls. What it makes of the bounds holds for all numbers between them.
template <class F> Content rising(const ContentMath& math, const Content& c, bool rounds, F f) {
  const Content wide = rounds ? math.widened(c) : c;  // what the operand is off by may grow
  const double low = f(math.low(wide)), high = f(math.high(wide));
  if (std::isnan(low) || std::isnan(high)) return ContentMath::anything();
  Content out = ContentMath::interval(low, high);
  out.nan = c.nan;
  out.infinite = c.infinite && (std::isinf(low) || std::isinf(high));
  out.positive_infinite = c.infinite && std::isinf(high);
  out.rounding = c.rounding;
  out.chosen = c.chosen;
  // Such as the 0.5 of Sigmoid(0).
  const bool exact = math.is_number(c) && std::fabs(low) <= 256 && std::floor(low * 4) == low * 4;
  if (rounds && !exact) out.rounding = std::max(out.rounding, kRounding);
  return out;
}

// The same between limits that the function has. Kernels approximate it with errors that are absolute.
template <class F> Content sigmoidal(const ContentMath& math, DType type, const Content& c, F f) {
  Content out = rising(math, c, true, f);
  if (math.is_number(out) || out.nan) return out;
  const double error = bits_of(type) < 32 ? 1e-2 : 1e-6;
  out.low.number = std::max(out.low.number - error, f(-kInfinity));
  out.high.number = std::min(out.high.number + error, f(kInfinity));
  return out;
}

Content rounded_interval(double low, double high) {
  Content out = ContentMath::interval(low, high);
  out.rounding = kRounding;
  return out;
}

// A function whose values are finite wherever its operand is, and of which |f(x)| is at most slope * |x| +
// offset.
Content total(const ContentMath& math, const Content& c, bool zero_to_zero, double slope = 1,
              double offset = 0) {
  if (!c.finite() || !std::isfinite(slope) || !std::isfinite(offset)) return ContentMath::anything();
  if (zero_to_zero && math.is_zero(c)) return ContentMath::number(0);
  Content out = ContentMath::combined({c});
  if (math.is_bounded(c)) {
    const Content wide = math.widened(c);
    const double most =
        slope * std::max(std::fabs(math.low(wide)), std::fabs(math.high(wide))) + std::fabs(offset);
    if (std::isinf(most)) return ContentMath::anything();
    out.low = {-most, {}}, out.high = {most, {}};
  }
  out.rounding = kRounding;
  return out;
}

Content absolute(const ContentMath& math, const Content& c) {
  const double low = math.low(c), high = math.high(c);
  if (low >= 0) {
    Content out = c;
    out.mask = 0;
    return out;
  }
  // The least integer of 64 bits has no opposite.
  const double most = -low < 0x1p63 ? -low : stepped(-low, kInfinity);
  Content out = ContentMath::interval(high < 0 ? -high : 0, std::max(most, high));
  out.nan = c.nan;
  out.infinite = out.positive_infinite = c.infinite;
  out.rounding = c.rounding;
  out.chosen = c.chosen;
  return out;
}

Content hyperbolic(const ContentMath& math, const Content& c, bool zero_to_zero) {
  if (zero_to_zero && math.is_zero(c)) return ContentMath::number(0);
  Content out = ContentMath::combined({c});
  out.rounding = kRounding;
  return out;
}

// Finite operands may give infinity: in float above 88, in Float16 above 11.
Content growing(const ContentMath& math, OpKind kind, DType type, const Content& c) {
  const double limit = type == DType::Float16 ? 11 : 88;
  Content out = kind == OpKind::Exp ? rising(math, c, true, [](double v) { return std::exp(v); })
                                    : hyperbolic(math, c, kind == OpKind::Sinh);
  if (kind == OpKind::Cosh && math.is_zero(c)) out = ContentMath::number(1);
  const Content wide = math.widened(c);
  if (math.high(wide) > limit || (kind != OpKind::Exp && math.low(wide) < -limit)) {
    out.high = {kInfinity, {}};
    out.infinite = out.positive_infinite = true;
  }
  return out;
}

}  // namespace

Content unary_content(const ContentMath& math, OpKind kind, DType type, const Content& c,
                      const UnaryParameters& parameters) {
  const double alpha = std::fabs(parameters.alpha);
  const auto up = [&](bool rounds, auto f) { return rising(math, c, rounds, f); };
  const auto jump = [&](auto f) {
    Content out = rising(math, math.widened(c), false, f);
    out.rounding = 0;
    return out;
  };
  switch (kind) {
    case OpKind::Identity:
    case OpKind::Border: return c;
    case OpKind::Neg: return math.negate(c);
    case OpKind::Abs: return absolute(math, c);
    case OpKind::Not:
      return math.is_zero(c) ? ContentMath::number(1)
             : math.is(c, 1) ? ContentMath::number(0)
                             : ContentMath::boolean();
    case OpKind::Relu: {
      Content out = math.maximum(c, ContentMath::number(0));
      out.infinite = out.positive_infinite = c.infinite && math.high(c) == kInfinity;
      return out;
    }
    case OpKind::Sigmoid: return sigmoidal(math, type, c, [](double v) { return 1 / (1 + std::exp(-v)); });
    case OpKind::Tanh: return sigmoidal(math, type, c, [](double v) { return std::tanh(v); });
    case OpKind::Erf: return sigmoidal(math, type, c, [](double v) { return std::erf(v); });
    case OpKind::Atan: return sigmoidal(math, type, c, [](double v) { return std::atan(v); });
    case OpKind::Asinh: return up(true, [](double v) { return std::asinh(v); });
    case OpKind::Softplus: return up(true, [](double v) { return v > 500 ? v : std::log1p(std::exp(v)); });
    case OpKind::Softsign:  // of infinity ONNX Runtime gives NaN
      if (!c.finite()) return ContentMath::anything();
      return up(true, [](double v) { return std::isinf(v) ? sign(v) : v / (1 + std::fabs(v)); });
    case OpKind::Floor: return jump([](double v) { return std::floor(v); });
    case OpKind::Ceil: return jump([](double v) { return std::ceil(v); });
    case OpKind::Round: return jump([](double v) { return std::nearbyint(v); });
    case OpKind::Sign: return jump(sign);
    case OpKind::Exp:
    case OpKind::Sinh:
    case OpKind::Cosh: return growing(math, kind, type, c);
    case OpKind::Sqrt:
      if (math.low(c) < 0) return ContentMath::anything();
      return up(true, [](double v) { return std::sqrt(v); });
    case OpKind::Log:
      if (math.low(math.widened(c)) <= 0) return ContentMath::anything();
      return up(true, [](double v) { return std::log(v); });
    case OpKind::Reciprocal: return math.divide(ContentMath::number(1), c, false);
    case OpKind::IsNaN: return c.nan ? ContentMath::boolean() : ContentMath::number(0);
    case OpKind::IsInf: return c.finite() ? ContentMath::number(0) : ContentMath::boolean();
    case OpKind::Sin:
    case OpKind::Cos:
      if (!c.finite()) return ContentMath::anything();
      if (math.is_zero(c)) return ContentMath::number(kind == OpKind::Cos ? 1 : 0);
      return rounded_interval(-1, 1);
    case OpKind::HardSwish:
    case OpKind::Mish:
    case OpKind::Gelu:
    case OpKind::MsGelu: return total(math, c, true);
    // x times a number between 0 and 1, whatever alpha * x overflows to.
    case OpKind::Swish:
    case OpKind::MsQuickGelu:
      if (!std::isfinite(alpha)) return ContentMath::anything();
      return total(math, c, true);
    case OpKind::LeakyRelu: return total(math, c, true, std::max(1.0, alpha));
    case OpKind::Elu: return total(math, c, true, 1, alpha);
    case OpKind::Selu: {
      const double gamma = std::fabs(parameters.gamma);
      return total(math, c, true, std::max(gamma, 1.0), gamma * alpha);
    }
    case OpKind::Celu:  // it divides by alpha
      if (!(parameters.alpha > 0)) return ContentMath::anything();
      return total(math, c, true, std::max(1.0, 1 / alpha), alpha);
    case OpKind::ThresholdedRelu: return total(math, c, false);
    case OpKind::Shrink:  // ONNX Runtime computes that of doubles in float
      if (type == DType::Double && c.chosen) return ContentMath::anything();
      return total(math, c, false, 1, parameters.beta);
    case OpKind::HardSigmoid:
      if (!c.finite() || !std::isfinite(alpha) || !std::isfinite(parameters.beta))
        return ContentMath::anything();
      return ContentMath::interval(0, 1);
    case OpKind::BitwiseNot: return ContentMath::any_finite();
    default: return ContentMath::anything();
  }
}

}  // namespace graphopt
