// Checked int64 arithmetic: the mathematical result, or nothing where it does not fit.
//
// Sizes and dims come from files that may lie, so sums and products of them must never wrap (signed overflow
// is undefined behaviour besides). Division rounds towards minus infinity, as symbolic dims do; std::nullopt
// also stands for a division by zero.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

namespace graphopt {

constexpr std::optional<std::int64_t> checked_add(std::int64_t a, std::int64_t b) {
  std::int64_t r = 0;
  if (__builtin_add_overflow(a, b, &r)) return std::nullopt;
  return r;
}

constexpr std::optional<std::int64_t> checked_sub(std::int64_t a, std::int64_t b) {
  std::int64_t r = 0;
  if (__builtin_sub_overflow(a, b, &r)) return std::nullopt;
  return r;
}

constexpr std::optional<std::int64_t> checked_mul(std::int64_t a, std::int64_t b) {
  std::int64_t r = 0;
  if (__builtin_mul_overflow(a, b, &r)) return std::nullopt;
  return r;
}

constexpr std::optional<std::int64_t> checked_neg(std::int64_t a) { return checked_sub(0, a); }

// Returns floor(a / b). It does not fit only for INT64_MIN / -1.
constexpr std::optional<std::int64_t> checked_floor_div(std::int64_t a, std::int64_t b) {
  if (b == 0 || (a == std::numeric_limits<std::int64_t>::min() && b == -1)) return std::nullopt;
  const std::int64_t q = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
}

// Returns a - b * floor(a / b), which has the sign of b.
constexpr std::optional<std::int64_t> checked_floor_mod(std::int64_t a, std::int64_t b) {
  if (b == 0) return std::nullopt;
  if (b == -1) return 0;  // INT64_MIN % -1 is undefined
  const std::int64_t r = a % b;
  return (r != 0 && (r < 0) != (b < 0)) ? r + b : r;
}

// Returns ceil(a / b). It does not fit only for INT64_MIN / -1.
constexpr std::optional<std::int64_t> checked_ceil_div(std::int64_t a, std::int64_t b) {
  if (b == 0 || (a == std::numeric_limits<std::int64_t>::min() && b == -1)) return std::nullopt;
  const std::int64_t q = a / b;
  return (a % b != 0 && (a < 0) == (b < 0)) ? q + 1 : q;
}

// The same on optional operands, so that chains read as formulas: a missing operand gives a missing result.
constexpr std::optional<std::int64_t> checked_add(std::optional<std::int64_t> a,
                                                  std::optional<std::int64_t> b) {
  return a && b ? checked_add(*a, *b) : std::nullopt;
}
constexpr std::optional<std::int64_t> checked_mul(std::optional<std::int64_t> a,
                                                  std::optional<std::int64_t> b) {
  return a && b ? checked_mul(*a, *b) : std::nullopt;
}

}  // namespace graphopt
