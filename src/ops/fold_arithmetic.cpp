// + - * / and related operators. Integers: integer_arithmetic.h. Floats: the operations of IEEE 754 are
// correctly rounded everywhere. float16 and bfloat16 go through float: rounding twice is harmless for + - * /
// as float has more than twice their digits and two more.
//
// Pow of floats is computed in double and rounded once: runtimes multiply for some exponents, and their pow
// is not rounded correctly.
#include <cmath>
#include <limits>
#include <string>

#include "ops/fold_binary.h"
#include "ops/integer_arithmetic.h"

namespace graphopt::folding {
namespace {

// Integers: integer_arithmetic.h. Floats: one operation of IEEE 754, or fmod, which is exact.
template <class T> bool compute(OpKind kind, T a, T b, bool fmod, T& v) {
  if constexpr (std::is_integral_v<T>) {
    switch (kind) {
      case OpKind::Add: return integers::add(a, b, v);
      case OpKind::Sub: return integers::subtract(a, b, v);
      case OpKind::Mul: return integers::multiply(a, b, v);
      case OpKind::Div: return integers::divide(a, b, v);
      default: return integers::modulo(a, b, fmod, v);
    }
  } else {
    switch (kind) {
      case OpKind::Sum:
      case OpKind::Add: v = a + b; return true;
      case OpKind::Sub: v = a - b; return true;
      case OpKind::Mul: v = a * b; return true;
      case OpKind::Div: v = a / b; return true;
      default: v = std::fmod(a, b); return true;
    }
  }
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
  return with_number(type, [&](auto elem) {
    using E = decltype(elem);
    using T = typename E::Value;
    switch (r.kind) {  // one kernel per operator, so that no element asks which
      case OpKind::Add:
        return emit_binary<E, E>(r, [](T a, T b, T& v) { return compute(OpKind::Add, a, b, false, v); });
      case OpKind::Sum:
        if constexpr (std::is_integral_v<T>) return kNotFoldable;
        else return emit_variadic<E>(r, [](T a, T b, T& v) { return compute(OpKind::Sum, a, b, false, v); });
      case OpKind::Sub:
        return emit_binary<E, E>(r, [](T a, T b, T& v) { return compute(OpKind::Sub, a, b, false, v); });
      case OpKind::Mul:
        return emit_binary<E, E>(r, [](T a, T b, T& v) { return compute(OpKind::Mul, a, b, false, v); });
      case OpKind::Div:
        // ONNX Runtime refuses a constant that has a 0, also where nothing is divided.
        if constexpr (std::is_integral_v<T>)
          for (std::int64_t i = 0; i < r.in(1).elements; ++i)
            if (r.in(1).dtype == E::kType && E::get(r.in(1).data, i) == 0) return kBad;
        return emit_binary<E, E>(r, [](T a, T b, T& v) { return compute(OpKind::Div, a, b, false, v); });
      case OpKind::Mod:
        return emit_binary<E, E>(r, [as_c](T a, T b, T& v) { return compute(OpKind::Mod, a, b, as_c, v); });
      default: return kNotFoldable;
    }
  });
}

namespace {

// The numbers of an operand in another element type; nothing where the type does not hold one of them.
template <class To> std::optional<std::string> converted(const Operand& from) {
  std::string raw(static_cast<std::size_t>(from.elements) * sizeof(double), '\0');
  const FoldRefusal no = with_number(from.dtype, [&](auto elem) {
    using From = decltype(elem);
    for (std::int64_t i = 0; i < from.elements; ++i) {
      const auto x = From::get(from.data, i);
      if constexpr (std::is_integral_v<typename From::Value>)
        if (!exact_in_double(x)) return kBad;
      To::put(raw.data(), i, static_cast<typename To::Value>(x));
      if (static_cast<double>(To::get(raw.data(), i)) != static_cast<double>(x)) return kBad;
    }
    return kDone;
  });
  return no == kDone ? std::optional(std::move(raw)) : std::nullopt;
}

}  // namespace

FoldRefusal fold_pow(FoldRun& r) {
  const DType type = r.in(0).dtype;
  if (is_int(type)) {
    if (r.in(1).dtype != type) return kNotFoldable;
    return with_int(type, [&](auto elem) {
      using E = decltype(elem);
      using T = typename E::Value;
      return emit_binary<E, E>(r, [](T a, T b, T& v) { return integers::power(a, b, v); });
    });
  }
  if (const FoldRefusal no = r.charge(r.in(1).elements); no != kDone) return no;
  return with_float(type, [&](auto elem) {
    using E = decltype(elem);
    using T = typename E::Value;
    const std::optional<std::string> exponents = converted<E>(r.in(1));  // a NaN is refused, too
    if (!exponents) return kNotFoldable;
    Operand exponent = r.in(1);
    exponent.dtype = type;
    exponent.data = exponents->data();
    Buffer out;
    const FoldRefusal no = binary<E, E>(r, r.in(0), exponent, out, [](T a, T b, T& v) {
      v = static_cast<T>(std::pow(static_cast<double>(a), static_cast<double>(b)));
      return !std::isnan(a) && !std::isnan(v);  // whose sign and payload differ by processor
    });
    if (no == kDone) r.emit(0, std::move(out));
    return no;
  });
}

// NaN wins. For +0 and -0 runtimes return the first or the second, so such a pair is refused, as are integers
// that ONNX Runtime may order wrongly.
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
      } else if (!integers::ordered(a, b)) {
        return false;
      }
      v = (max ? a > b : a < b) ? a : b;
      return true;
    });
  });
}

FoldRefusal fold_bits(FoldRun& r) {
  bool left = false;
  if (r.kind == OpKind::BitShift) {
    const auto direction = string_attr(r.attributes, names::direction);
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
        return emit_binary<E, E>(r, [left](T a, T b, T& v) { return integers::shift(a, b, left, v); });
      default: return kNotFoldable;
    }
  });
}

}  // namespace graphopt::folding
