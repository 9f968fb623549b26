// + - * / and related operators. Integers wrap, as the kernels of ONNX Runtime do; what C++ leaves undefined
// (division by zero, the smallest number by -1, shifts by the width or more) is refused. Floats: the
// operations of IEEE 754 are correctly rounded everywhere. float16 and bfloat16 go through float: rounding
// twice is harmless for + - * / as float has more than twice their digits and two more.
#include <cmath>
#include <limits>
#include <utility>

#include "ops/fold_binary.h"

namespace graphopt::folding {
namespace {

using Wide = std::uint64_t;  // wraps; the low bits of the result are those of any narrower type

template <class T> bool divide(T a, T b, T& v) {
  if constexpr (std::is_integral_v<T>) {
    if (b == 0) return false;
    if constexpr (std::is_signed_v<T>)
      if (b == -1 && a == std::numeric_limits<T>::min()) return false;
  }
  v = static_cast<T>(a / b);
  return true;
}

// Returns true if a double holds v exactly.
template <class T> bool exact_in_double(T v) {
  constexpr std::int64_t kExact = std::int64_t{1} << 53;
  return std::cmp_less_equal(v, kExact) && std::cmp_greater_equal(v, -kExact);
}

// The result has the sign of the divisor (fmod = 0) or of the dividend; ONNX Runtime computes the latter in
// doubles.
template <class T> bool modulo(T a, T b, bool as_c, T& v) {
  if constexpr (std::is_floating_point_v<T>) {
    v = std::fmod(a, b);  // exact
  } else {
    if (b == 0 || (as_c && !(exact_in_double(a) && exact_in_double(b)))) return false;
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) {
        v = 0;
        return true;
      }
    }
    v = static_cast<T>(a % b);
    if constexpr (std::is_signed_v<T>)
      if (!as_c && v != 0 && (v < 0) != (b < 0)) v = static_cast<T>(v + b);
  }
  return true;
}

// Runtimes compute it in doubles, so only results that a double holds exactly are folded.
template <class T> bool power(T base, T exponent, T& v) {
  if (exponent < 0) return false;
  constexpr std::int64_t kExact = std::int64_t{1} << 53;
  if (base == 0 || base == 1) {
    v = exponent == 0 ? T{1} : base;
    return true;
  }
  if (exponent > 64 && base != -1) return false;
  std::int64_t result = 1;
  const std::int64_t times = base == -1 ? exponent % 2 : exponent;
  for (std::int64_t i = 0; i < times; ++i) {
    const std::optional<std::int64_t> next = checked_mul(result, base);
    if (!next || *next > kExact || *next < -kExact) return false;
    result = *next;
  }
  if (result > std::numeric_limits<T>::max() || result < std::numeric_limits<T>::min()) return false;
  v = static_cast<T>(result);
  return true;
}

}  // namespace

FoldRefusal fold_arithmetic(FoldRun& r) {
  bool as_c = false;
  if (r.kind == OpKind::Mod) {
    const auto fmod = r.int_of(names::fmod);
    if (!fmod) return kNotFoldable;
    as_c = *fmod != 0;
    if (!as_c && is_float(r.in(0).dtype)) return kBad;
  }
  const DType type = r.in(0).dtype;
  if (r.kind == OpKind::Pow) {
    if (r.in(1).dtype != type) return kNotFoldable;
    if (type == DType::Int32) {
      using E = Elem<DType::Int32>;
      return emit_binary<E, E>(
          r, [](std::int32_t a, std::int32_t b, std::int32_t& v) { return power(a, b, v); });
    }
    using E = Elem<DType::Int64>;
    if (type != DType::Int64) return kNotFoldable;
    return emit_binary<E, E>(r,
                             [](std::int64_t a, std::int64_t b, std::int64_t& v) { return power(a, b, v); });
  }
  return with_number(type, [&](auto elem) {
    using E = decltype(elem);
    using T = typename E::Value;
    const auto add = [](T a, T b, T& v) {
      if constexpr (std::is_integral_v<T>) v = static_cast<T>(static_cast<Wide>(a) + static_cast<Wide>(b));
      else v = a + b;
      return true;
    };
    switch (r.kind) {
      case OpKind::Add: return emit_binary<E, E>(r, add);
      case OpKind::Sum: return emit_variadic<E>(r, add);
      case OpKind::Sub:
        return emit_binary<E, E>(r, [](T a, T b, T& v) {
          if constexpr (std::is_integral_v<T>)
            v = static_cast<T>(static_cast<Wide>(a) - static_cast<Wide>(b));
          else v = a - b;
          return true;
        });
      case OpKind::Mul:
        return emit_binary<E, E>(r, [](T a, T b, T& v) {
          if constexpr (std::is_integral_v<T>)
            v = static_cast<T>(static_cast<Wide>(a) * static_cast<Wide>(b));
          else v = a * b;
          return true;
        });
      case OpKind::Div: return emit_binary<E, E>(r, [](T a, T b, T& v) { return divide(a, b, v); });
      case OpKind::Mod: return emit_binary<E, E>(r, [as_c](T a, T b, T& v) { return modulo(a, b, as_c, v); });
      default: return kNotFoldable;
    }
  });
}

// NaN wins. For +0 and -0 runtimes return the first or the second, so such a pair is refused.
FoldRefusal fold_min_max(FoldRun& r) {
  const bool max = r.kind == OpKind::Max;
  return with_number(r.in(0).dtype, [&](auto elem) {
    using E = decltype(elem);
    using T = typename E::Value;
    return emit_variadic<E>(r, [max](T a, T b, T& v) {
      if constexpr (std::is_floating_point_v<T>) {
        if (std::isnan(a) || std::isnan(b)) {
          v = std::numeric_limits<T>::quiet_NaN();
          return true;
        }
        if (a == 0 && b == 0 && std::signbit(a) != std::signbit(b)) return false;
      }
      v = (max ? a > b : a < b) ? a : b;
      return true;
    });
  });
}

FoldRefusal fold_bits(FoldRun& r) {
  bool left = false;
  if (r.kind == OpKind::BitShift) {
    const auto direction = string_attr(r.m, r.n, names::direction);
    if (!direction || (*direction != "LEFT" && *direction != "RIGHT")) return kNotFoldable;
    left = *direction == "LEFT";
  }
  return with_int(r.in(0).dtype, [&](auto elem) {
    using E = decltype(elem);
    using T = typename E::Value;
    switch (r.kind) {
      case OpKind::BitwiseAnd:
        return emit_binary<E, E>(r, [](T a, T b, T& v) { return v = static_cast<T>(a & b), true; });
      case OpKind::BitwiseOr:
        return emit_binary<E, E>(r, [](T a, T b, T& v) { return v = static_cast<T>(a | b), true; });
      case OpKind::BitwiseXor:
        return emit_binary<E, E>(r, [](T a, T b, T& v) { return v = static_cast<T>(a ^ b), true; });
      case OpKind::BitShift:
        return emit_binary<E, E>(r, [left](T a, T b, T& v) {
          const Wide by = static_cast<Wide>(b), from = static_cast<Wide>(a);
          if (by >= sizeof(T) * 8) return false;
          v = static_cast<T>(left ? from << by : from >> by);
          return true;
        });
      default: return kNotFoldable;
    }
  });
}

}  // namespace graphopt::folding
