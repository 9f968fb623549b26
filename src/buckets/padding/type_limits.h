// What the numbers of a type are between.
#pragma once

#include <cmath>
#include <concepts>
#include <limits>

#include "ir/types.h"

namespace graphopt {

inline constexpr double kExactInteger = 9007199254740992.0;  // 2^53: below, a double holds every integer

struct Limits {
  double low, high;
};
// The numbers of an integer type. The greatest one of 64 bits is no double: its limit is the double above,
// 2^63 or 2^64. A bound of just that much says no more than the type does, since what computes bounds moves
// them past it wherever the number itself may be meant (stepped, ContentMath::cast).
Limits limits_of(DType type);

// Returns the integer as a double; where it is none, the next one in the direction `towards`, an infinity.
template <std::integral Number> double outward(Number v, double towards) {
  const double d = static_cast<double>(v), end = std::ldexp(1.0, std::numeric_limits<Number>::digits);
  const bool above = d >= end || static_cast<Number>(d) > v, below = d < end && static_cast<Number>(d) < v;
  return (towards > 0 ? below : above) ? std::nextafter(d, towards) : d;
}

// Returns a bound that a sum or product of two bounds is within, computed in doubles: it may be off by half a
// step where integers are closer to each other than doubles. No integer type holds what is far above 2^64.
inline double stepped(double v, double towards) {
  const double magnitude = std::fabs(v);
  return magnitude >= kExactInteger && magnitude <= 0x1p66 ? std::nextafter(v, towards) : v;
}

// Returns the greatest number of a floating type.
double greatest_of(DType type);
// Returns the least number that rounds to infinity, or to NaN in a type without infinities.
double overflow_of(DType type);

// A number that every floating type of 16 bits and more computes with exactly, if all of its operands are
// such numbers.
bool is_plain_number(double v);

}  // namespace graphopt
