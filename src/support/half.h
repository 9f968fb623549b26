// The 16-bit floating types: Float16 (IEEE 754 binary16) and BFloat16, as floats and back.
//
// To a float is exact: a float holds each of their numbers; a NaN stays a NaN. From a float or double rounds
// to the nearest, ties to even; what is too large becomes infinite.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace graphopt {

inline float half_to_float(std::uint16_t h) {
  const std::uint32_t sign = static_cast<std::uint32_t>(h & 0x8000u) << 16;
  const std::uint32_t exponent = (h >> 10) & 0x1Fu;
  const std::uint32_t fraction = h & 0x3FFu;
  if (exponent == 0x1F) return std::bit_cast<float>(sign | 0x7F800000u | (fraction << 13));
  if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
  const float magnitude = static_cast<float>(fraction) * 0x1p-24f;  // exact
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
}

inline std::uint16_t float_to_half(float f) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(f);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7FFFFFFFu;
  std::uint32_t half = 0;
  if (magnitude > 0x7F800000u) {
    half = 0x7E00u;
  } else if (magnitude >= 0x47800000u) {  // 65536 and more, Inf
    half = 0x7C00u;
  } else if (magnitude >= 0x38800000u) {  // normal; a carry into the exponent is right, up to Inf
    const std::uint32_t rebased = magnitude - (112u << 23);
    half = (rebased + 0xFFFu + ((rebased >> 13) & 1u)) >> 13;
  } else if (magnitude > 0x33000000u) {  // denormal: above half of the smallest one
    const std::uint32_t shift = 126u - (magnitude >> 23);
    const std::uint32_t fraction = (magnitude & 0x7FFFFFu) | 0x800000u;
    const std::uint32_t rest = fraction & ((1u << shift) - 1u);
    const std::uint32_t tie = 1u << (shift - 1u);
    half = fraction >> shift;
    if (rest > tie || (rest == tie && (half & 1u) != 0)) ++half;
  }
  return static_cast<std::uint16_t>(sign | half);
}

// In one step: by way of a float it would round twice.
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

inline float bfloat16_to_float(std::uint16_t b) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(b) << 16);
}

inline std::uint16_t float_to_bfloat16(float f) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(f);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return 0x7FC1u;
  return static_cast<std::uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

}  // namespace graphopt
