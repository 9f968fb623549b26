// Elementwise kernels of one operand, and Clip.
//
// Exact ones: sign and rounding functions, Sqrt and Reciprocal (correctly rounded), Relu and Clip (a
// comparison and a choice: NaN and -0 pass through). Transcendental functions are computed in double and
// rounded once: more precise than the runtime's kernels, but not the same bits. Those differ from the true
// number by a few units of the result (Exp, Log, Erf) or of 1: of Sigmoid and Tanh the runtime evaluates a
// rational function that stays the same beyond a limit, so Sigmoid(-77) is 0 there (docs/rounding.md has the
// bounds, tests/equal/fold_against_ort.py holds both to them).
#include <cmath>
#include <limits>
#include <numbers>

#include "ops/facts_kernels.h"
#include "ops/fold_unary.h"
#include "ops/integer_arithmetic.h"

namespace graphopt::folding {
namespace {

template <class E> FoldRefusal unary_int(FoldRun& r) {
  using T = typename E::Value;
  const auto negate = [](T x, T& v) { return integers::subtract(T{0}, x, v); };
  switch (r.kind) {
    case OpKind::Neg: return unary<E>(r, negate);
    case OpKind::Abs: return unary<E>(r, [&](T x, T& v) { return x < T{0} ? negate(x, v) : (v = x, true); });
    case OpKind::Sign:
      return unary<E>(r, [](T x, T& v) {
        v = static_cast<T>((x > T{0} ? 1 : 0) - (x < T{0} ? 1 : 0));
        return integers::ordered(x, T{0});
      });
    case OpKind::Relu:
      return unary<E>(r, [](T x, T& v) {
        v = x < T{0} ? T{0} : x;
        return integers::ordered(x, T{0});
      });
    case OpKind::BitwiseNot: return unary<E>(r, [](T x, T& v) { return v = static_cast<T>(~x), true; });
    default: return kNotFoldable;
  }
}

double transcendental(OpKind kind, double x) {
  switch (kind) {
    case OpKind::Exp: return std::exp(x);
    case OpKind::Log: return std::log(x);
    case OpKind::Tanh: return std::tanh(x);
    case OpKind::Sigmoid: return 1.0 / (1.0 + std::exp(-x));
    case OpKind::Erf: return std::erf(x);
    case OpKind::Sin: return std::sin(x);
    case OpKind::Cos: return std::cos(x);
    case OpKind::Tan: return std::tan(x);
    case OpKind::Asin: return std::asin(x);
    case OpKind::Acos: return std::acos(x);
    case OpKind::Atan: return std::atan(x);
    case OpKind::Sinh: return std::sinh(x);
    case OpKind::Cosh: return std::cosh(x);
    case OpKind::Asinh: return std::asinh(x);
    case OpKind::Acosh: return std::acosh(x);
    case OpKind::Atanh: return std::atanh(x);
    default: return std::numeric_limits<double>::quiet_NaN();
  }
}

template <class E> FoldRefusal unary_float(FoldRun& r) {
  using T = typename E::Value;
  switch (r.kind) {
    case OpKind::Neg: return unary<E>(r, [](T x, T& v) { return v = -x, true; });
    case OpKind::Abs: return unary<E>(r, [](T x, T& v) { return v = std::abs(x), true; });
    case OpKind::Sign:
      return unary<E>(r, [](T x, T& v) {
        return v = x > 0 ? T{1} : x < 0 ? T{-1} : x == 0 ? T{0} : x, true;
      });
    case OpKind::Floor: return unary<E>(r, [](T x, T& v) { return v = std::floor(x), true; });
    case OpKind::Ceil: return unary<E>(r, [](T x, T& v) { return v = std::ceil(x), true; });
    case OpKind::Round:
      return unary<E>(r, [](T x, T& v) { return v = std::nearbyint(x), true; });  // ties to even
    case OpKind::Sqrt: return unary<E>(r, [](T x, T& v) { return v = std::sqrt(x), true; });
    case OpKind::Reciprocal: return unary<E>(r, [](T x, T& v) { return v = T{1} / x, true; });
    case OpKind::Relu:
      return unary<E>(r, [any_zero = relu_is_max(r.kind, E::kType, r.opset)](T x, T& v) {
        v = x < 0 ? T{0} : x;
        return !any_zero || x != 0 || !std::signbit(x);
      });
    default:
      return unary<E>(r, [kind = r.kind](T x, T& v) {
        v = static_cast<T>(transcendental(kind, static_cast<double>(x)));
        return true;
      });
  }
}

// Returns a bound of Clip: an attribute before opset 11, then an optional scalar.
template <class E>
bool bound_of(const FoldRun& r, NameId attribute, std::size_t slot, std::optional<typename E::Value>& bound) {
  using T = typename E::Value;
  if (r.opset < 11) {
    if (!r.has(attribute)) return true;
    const std::optional<float> v = float_attr(r.attributes, attribute);
    if (!v || !std::is_same_v<T, float> || E::kType != DType::Float) return false;
    bound = static_cast<T>(*v);
    return true;
  }
  const Operand& o = r.in(slot);
  if (!o) return true;
  if (o.dtype != E::kType || o.rank() != 0) return false;
  bound = E::get(o.data, 0);
  return true;
}

}  // namespace

FoldRefusal fold_unary(FoldRun& r) {
  const DType type = r.in(0).dtype;
  if (is_int(type)) return with_int(type, [&](auto elem) { return unary_int<decltype(elem)>(r); });
  return with_float(type, [&](auto elem) { return unary_float<decltype(elem)>(r); });
}

FoldRefusal fold_clip(FoldRun& r) {
  return with_number(r.in(0).dtype, [&](auto elem) {
    using E = decltype(elem);
    using T = typename E::Value;
    std::optional<T> low, high;
    if (!bound_of<E>(r, names::min, 1, low) || !bound_of<E>(r, names::max, 2, high)) return kNotFoldable;
    if ((low && is_nan(*low)) || (high && is_nan(*high))) return kNotFoldable;
    if (low && high && *high < *low) return kNotFoldable;
    return unary<E>(r, [&](T x, T& v) {
      if constexpr (std::is_floating_point_v<T>) {
        // An absent bound is the largest number in some runtimes and infinity in others.
        if (std::isinf(x) && !(x < 0 ? low : high)) return false;
      }
      v = x;
      if (low) {
        if constexpr (std::is_integral_v<T>)
          if (!integers::ordered(v, *low)) return false;
        if (v < *low) v = *low;
      }
      if (high) {
        if constexpr (std::is_integral_v<T>)
          if (!integers::ordered(v, *high)) return false;
        if (*high < v) v = *high;
      }
      return true;
    });
  });
}

}  // namespace graphopt::folding
