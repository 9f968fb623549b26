// The 16-bit floating types as doubles, and back.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace graphopt {

inline double half_to_double(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int fraction = bits & 1023;
  double magnitude = 0;
  if (exponent == 31)
    magnitude =
        fraction != 0 ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  else if (exponent == 0) magnitude = std::ldexp(fraction, -24);
  else magnitude = std::ldexp(1024 + fraction, exponent - 25);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

// Rounds to the nearest, ties to even; too large values become infinite.
inline std::uint16_t double_to_half(double value) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::fabs(value);
  const auto with_sign = [sign](int bits) { return static_cast<std::uint16_t>(sign | bits); };
  if (std::isnan(value)) return with_sign(0x7E00);
  if (magnitude >= 65520) return with_sign(0x7C00);
  if (magnitude < std::ldexp(1, -14))
    return with_sign(static_cast<int>(std::nearbyint(std::ldexp(magnitude, 24))));
  const int exponent = std::ilogb(magnitude);
  const int fraction =
      static_cast<int>(std::nearbyint(std::ldexp(magnitude, 10 - exponent)));  // 1024 .. 2048
  return with_sign(((exponent + 15) << 10) + (fraction - 1024));               // 2048 carries over
}

inline double bfloat16_to_double(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

inline std::uint16_t double_to_bfloat16(double value) {
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  if (std::isnan(value)) return static_cast<std::uint16_t>((bits >> 16) | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

}  // namespace graphopt
