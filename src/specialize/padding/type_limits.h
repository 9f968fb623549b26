// What the numbers of a type are between.
#pragma once

#include "ir/types.h"

namespace graphopt {

inline constexpr double kExactInteger = 9007199254740992.0;  // 2^53: below, a double holds every integer

struct Limits {
  double low, high;
};
// The numbers of an integer type, as doubles that are not larger than them.
Limits limits_of(DType type);

// Returns the greatest number of a floating type.
double greatest_of(DType type);
// Returns the least number that rounds to infinity, or to NaN in a type without infinities.
double overflow_of(DType type);

// A number that every floating type of 16 bits and more computes with exactly, if all of its operands are
// such numbers.
bool is_plain_number(double v);

}  // namespace graphopt
