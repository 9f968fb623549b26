// What ONNX Runtime computes for integers. Folding and inference both ask here, so that neither states a
// number that the other refuses.
//
// Where the runtime's result is undefined, ends the run, depends on the order in which its kernel happens to
// work, or is not what the standard says, the answer is "no" and nobody states anything. The limits were
// found by runs; tests/equal/fold_against_ort.py and tests/equal/extreme_integers.py repeat these.
//
//   + - *, Neg, Abs, CumSum   wrap around, as two's complement does
//   Div                       towards zero; a division by 0 fails, the smallest number by -1 ends the process
//   Mod                       has the sign of the divisor; with fmod = 1 it is computed in doubles
//   Pow                       is computed in doubles
//   ReduceSum, ReduceProd, ReduceMean, ReduceL1, ReduceSumSquare
//                             are computed in doubles, in an order of the kernel's own
//   Min, Max, Clip, Relu, Sign, ReduceMin, ReduceMax
//                             of int64 compare two numbers at a time by halves of 32 bits, and compare the
//                             low halves with a sign: wrong for numbers that differ in no higher bit than
//                             bit 31 (Relu(2^31) is 0); a kernel of one element is right
//   Range                     counts in doubles
//   BitShift                  is undefined from the width of the type on
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "ir/dim.h"
#include "ir/op_kind.h"
#include "ir/types.h"

namespace graphopt {

// Every integer of at most this magnitude is a float32, or a double.
inline constexpr std::int64_t kExactInFloat = std::int64_t{1} << 24;
inline constexpr std::int64_t kExactInDouble = std::int64_t{1} << 53;

template <class T> constexpr bool exact_in_double(T v) {
  return std::cmp_less_equal(v, kExactInDouble) && std::cmp_greater_equal(v, -kExactInDouble);
}

// --- single numbers ----------------------------------------------------------------------------------------
// Each sets v to the result and returns true, or returns false where there is none to rely on.

namespace integers {

template <class T> constexpr bool add(T a, T b, T& v) {
  v = static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  return true;
}

template <class T> constexpr bool subtract(T a, T b, T& v) {
  v = static_cast<T>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
  return true;
}

template <class T> constexpr bool multiply(T a, T b, T& v) {
  v = static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  return true;
}

template <class T> constexpr bool divide(T a, T b, T& v) {
  if (b == 0) return false;
  if constexpr (std::is_signed_v<T>)
    if (b == -1 && a == std::numeric_limits<T>::min()) return false;
  v = static_cast<T>(a / b);
  return true;
}

// The result has the sign of the divisor, or of the dividend for `fmod`.
template <class T> constexpr bool modulo(T a, T b, bool fmod, T& v) {
  if (b == 0 || (fmod && !(exact_in_double(a) && exact_in_double(b)))) return false;
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) {  // the smallest number by -1 ends the process
      v = 0;
      return a != std::numeric_limits<T>::min();
    }
  }
  v = static_cast<T>(a % b);
  if constexpr (std::is_signed_v<T>)
    if (!fmod && v != 0 && (v < 0) != (b < 0)) v = static_cast<T>(v + b);
  return true;
}

template <class T> constexpr bool power(T base, T exponent, T& v) {
  if (exponent < 0) return false;
  if (base == 0 || base == 1) {
    v = exponent == 0 ? T{1} : base;
    return true;
  }
  const bool minus_one = std::is_signed_v<T> && base == static_cast<T>(-1);
  if (exponent > 64 && !minus_one) return false;
  std::int64_t result = 1;
  const std::int64_t times = static_cast<std::int64_t>(minus_one ? exponent % 2 : exponent);
  if (!std::in_range<std::int64_t>(base)) return false;
  for (std::int64_t i = 0; i < times; ++i) {
    if (__builtin_mul_overflow(result, static_cast<std::int64_t>(base), &result)) return false;
    if (!exact_in_double(result)) return false;
  }
  if (!std::in_range<T>(result)) return false;
  v = static_cast<T>(result);
  return true;
}

// Returns true if the kernels that compare integers of this type in groups order a and b right.
template <class T> constexpr bool ordered(T a, T b) {
  if constexpr (std::is_same_v<T, std::int64_t>)
    return (a >> 32) != (b >> 32) || ((a ^ b) & (std::int64_t{1} << 31)) == 0;
  return true;
}

template <class T> constexpr bool shift(T a, T b, bool left, T& v) {
  const auto by = static_cast<std::uint64_t>(b), from = static_cast<std::uint64_t>(a);
  if (by >= sizeof(T) * 8) return false;
  v = static_cast<T>(left ? from << by : from >> by);
  return true;
}

// The number of elements of a Range; nothing when doubles do not count them exactly. delta is not 0.
template <class T> constexpr std::optional<std::int64_t> range_count(T start, T limit, T delta) {
  if (!exact_in_double(start) || !exact_in_double(limit) || !exact_in_double(delta)) return std::nullopt;
  const auto span = static_cast<std::int64_t>(limit) - static_cast<std::int64_t>(start);
  const auto step = static_cast<std::int64_t>(delta);
  if (span > kExactInDouble / 2 || span < -kExactInDouble / 2) return std::nullopt;  // the quotient rounds
  if (span == 0 || (span < 0) != (step < 0)) return 0;
  return span / step + (span % step != 0 ? 1 : 0);
}

// ReduceSum, ReduceProd, ReduceMean, ReduceL1 and ReduceSumSquare of integers, one element after the other.
// No partial result in any order exceeds `bound` in magnitude; only where all are doubles is the result the
// mathematical one. The bound itself rounds, so it has to stay below 2^53.
class Total {
 public:
  explicit Total(OpKind kind) : kind_(kind) {
    if (kind == OpKind::ReduceProd) value_ = 1, bound_ = 1;
  }
  template <class T> void add(T x) {
    const double magnitude = std::abs(static_cast<double>(x));
    const auto wide = static_cast<std::uint64_t>(x);
    ++count_;
    switch (kind_) {
      case OpKind::ReduceProd:
        zero_ |= x == T{0};
        value_ *= wide;
        bound_ *= std::max(magnitude, 1.0);
        return;
      case OpKind::ReduceSumSquare:
        value_ += wide * wide;
        bound_ += magnitude * magnitude;
        return;
      case OpKind::ReduceL1:
        value_ += x < T{0} ? std::uint64_t{0} - wide : wide;
        bound_ += magnitude;
        return;
      default:
        value_ += wide;
        bound_ += magnitude;
        return;
    }
  }
  template <class T> bool result(T& v) const {
    constexpr double kFarFromInfinite = 0x1p1000;  // infinity times 0 is NaN
    std::int64_t total = static_cast<std::int64_t>(value_);
    if (zero_ && bound_ <= kFarFromInfinite) total = 0;
    else if (!(bound_ < static_cast<double>(kExactInDouble))) return false;
    if (kind_ == OpKind::ReduceMean) {
      if (count_ == 0) return false;
      total /= count_;  // towards zero
    }
    if (!std::in_range<T>(total)) return false;
    v = static_cast<T>(total);
    return true;
  }

 private:
  OpKind kind_;
  std::uint64_t value_ = 0;
  double bound_ = 0;
  std::int64_t count_ = 0;
  bool zero_ = false;
};

}  // namespace integers

// --- numbers and intervals, for inference ------------------------------------------------------------------

// Returns the integers that a type holds exactly, as far as a Range tells; nothing for other types than
// integers, Bool and floats.
std::optional<Range> exact_integers(DType type);

// Returns the result of an integer operator for two numbers of `type` (b is 0 for an operator of one
// operand); nothing where there is none to rely on, and for operators that are not listed above.
std::optional<std::int64_t> integer_result(OpKind kind, DType type, std::int64_t a, std::int64_t b,
                                           bool fmod = false);

// Returns true if the runtime's result is the mathematical one for all operands of `type` in a and b (an
// operator of one operand reads a alone). `result` bounds the mathematical result, or is kAnyInteger's range.
// Floats count as well: their integers are exact up to a limit.
bool is_exact(OpKind kind, DType type, Range a, Range b, Range result, bool fmod = false);

// The same for a reduction of elements in these bounds, in whatever order; `result` as above.
bool is_exact_reduction(OpKind kind, DType type, std::span<const Range> elements, Range result);

// Returns the result of a reduction of numbers of an integer type; nothing where there is none to rely on.
std::optional<std::int64_t> integer_reduction(OpKind kind, DType type,
                                              std::span<const std::int64_t> elements);

}  // namespace graphopt
