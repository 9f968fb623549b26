// Dispatch by element type, and intervals in 128 bits: sums and products of two numbers of 64 bits fit, so
// nothing here can wrap unnoticed.
#include "ops/integer_arithmetic.h"

#include <algorithm>
#include <vector>

namespace graphopt {
namespace {

__extension__ typedef __int128 Int128;

struct Interval {
  Int128 low = 0, high = 0;
};

constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();

// Returns the integers that the type holds exactly: for floats up to 2^(digits of the significand).
std::optional<Interval> held(DType type) {
  const auto up_to = [](int bits) { return Interval{-(Int128{1} << bits), Int128{1} << bits}; };
  switch (type) {
    case DType::Int64: return Interval{kLowest, kHighest};
    case DType::UInt64: return Interval{0, std::numeric_limits<std::uint64_t>::max()};
    case DType::Int32: return Interval{-(Int128{1} << 31), (Int128{1} << 31) - 1};
    case DType::UInt32: return Interval{0, (Int128{1} << 32) - 1};
    case DType::Int16: return Interval{-32768, 32767};
    case DType::UInt16: return Interval{0, 65535};
    case DType::Int8: return Interval{-128, 127};
    case DType::UInt8: return Interval{0, 255};
    case DType::Bool: return Interval{0, 1};
    case DType::Float: return up_to(24);
    case DType::Double: return up_to(53);
    case DType::Float16: return up_to(11);
    case DType::BFloat16: return up_to(8);
    default: return std::nullopt;
  }
}

constexpr Interval kDoubles{-Int128{kExactInDouble}, Int128{kExactInDouble}};

bool inside(const Interval& x, const Interval& of) { return x.low >= of.low && x.high <= of.high; }

// Returns the interval of an element of that type: what its bounds leave open ends at the type's limits.
Interval of_element(Range r, const Interval& type) {
  return {r.low > Range::kMin ? std::max<Int128>(r.low, type.low) : type.low,
          r.high < Range::kMax ? std::min<Int128>(r.high, type.high) : type.high};
}

// Narrows an interval by the bounds of a mathematical result.
Interval meet(Interval x, Range r) {
  if (r.low > Range::kMin) x.low = std::max<Int128>(x.low, r.low);
  if (r.high < Range::kMax) x.high = std::min<Int128>(x.high, r.high);
  return x;
}

// Returns true if every pair of numbers of the two intervals is ordered right (integers::ordered). Numbers
// are told apart by their halves of 2^32: pairs of one even half and the odd one after it are wrong.
bool ordered(DType type, const Interval& a, const Interval& b) {
  if (type != DType::Int64) return true;
  const auto half = [](Int128 v) { return v >> 31; };
  const auto has_even = [](Int128 low, Int128 high) { return high > low || (high == low && low % 2 == 0); };
  const auto meets = [&](const Interval& even, const Interval& odd) {
    return has_even(std::max(half(even.low), half(odd.low) - 1),
                    std::min(half(even.high), half(odd.high) - 1));
  };
  return !meets(a, b) && !meets(b, a);
}

template <class F> auto with_type(DType type, F f) -> decltype(f(std::int64_t{})) {
  switch (type) {
    case DType::Int8: return f(std::int8_t{});
    case DType::Int16: return f(std::int16_t{});
    case DType::Int32: return f(std::int32_t{});
    case DType::Int64: return f(std::int64_t{});
    case DType::UInt8: return f(std::uint8_t{});
    case DType::UInt16: return f(std::uint16_t{});
    case DType::UInt32: return f(std::uint32_t{});
    case DType::UInt64: return f(std::uint64_t{});
    default: return std::nullopt;
  }
}

template <class T> bool apply(OpKind kind, T a, T b, bool fmod, T& v) {
  switch (kind) {
    case OpKind::Add:
    case OpKind::Sum: return integers::add(a, b, v);
    case OpKind::Sub: return integers::subtract(a, b, v);
    case OpKind::Mul: return integers::multiply(a, b, v);
    case OpKind::Div: return integers::divide(a, b, v);
    case OpKind::Mod: return integers::modulo(a, b, fmod, v);
    case OpKind::Pow: return integers::power(a, b, v);
    case OpKind::Min: v = std::min(a, b); return integers::ordered(a, b);
    case OpKind::Max: v = std::max(a, b); return integers::ordered(a, b);
    case OpKind::Relu: v = std::max(a, T{0}); return integers::ordered(a, T{0});
    case OpKind::Sign:
      v = static_cast<T>((a > T{0} ? 1 : 0) - (a < T{0} ? 1 : 0));
      return integers::ordered(a, T{0});
    case OpKind::Neg: return std::is_signed_v<T> && integers::subtract(T{0}, a, v);
    case OpKind::Abs: return a < T{0} ? integers::subtract(T{0}, a, v) : (v = a, true);
    default: return false;
  }
}

}  // namespace

std::optional<Range> exact_integers(DType type) {
  const auto all = held(type);
  if (!all) return std::nullopt;
  return Range{static_cast<std::int64_t>(std::max<Int128>(all->low, Range::kMin)),
               static_cast<std::int64_t>(std::min<Int128>(all->high, Range::kMax))};
}

std::optional<std::int64_t> integer_result(OpKind kind, DType type, std::int64_t a, std::int64_t b,
                                           bool fmod) {
  return with_type(type, [&](auto zero) -> std::optional<std::int64_t> {
    using T = decltype(zero);
    T v{};
    if (!std::in_range<T>(a) || !std::in_range<T>(b)) return std::nullopt;
    if (!apply(kind, static_cast<T>(a), static_cast<T>(b), fmod, v)) return std::nullopt;
    return std::in_range<std::int64_t>(v) ? std::optional(static_cast<std::int64_t>(v)) : std::nullopt;
  });
}

bool is_exact(OpKind kind, DType type, Range ra, Range rb, Range result, bool fmod) {
  const auto all = held(type);
  if (!all) return false;
  const Interval a = of_element(ra, *all), b = of_element(rb, *all);
  // A float may be a number beyond the limit up to which its type holds every integer.
  if (a.low > a.high || b.low > b.high) return false;
  switch (kind) {
    case OpKind::Add:
    case OpKind::Sum: return inside(meet({a.low + b.low, a.high + b.high}, result), *all);
    case OpKind::Sub: return inside(meet({a.low - b.high, a.high - b.low}, result), *all);
    case OpKind::Mul: {
      if (a.high > kHighest || b.high > kHighest) return false;  // the product could leave 128 bits
      const auto [low, high] = std::minmax({a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high});
      return inside(meet({low, high}, result), *all);
    }
    case OpKind::Neg: return inside(meet({-a.high, -a.low}, result), *all);
    case OpKind::Abs: return inside(meet({0, std::max(-a.low, a.high)}, result), *all);
    case OpKind::Div:  // the quotient is no larger than the dividend, but for the smallest number by -1
      return !is_int(type) || a.low > all->low || b.low > -1 || b.high < -1;
    case OpKind::Mod:
      if (!is_int(type)) return fmod;
      if (fmod) return inside(a, kDoubles) && inside(b, kDoubles);
      return a.low > all->low || b.low > -1 || b.high < -1;
    case OpKind::Pow: {
      const Interval r = meet({-(Int128{1} << 100), Int128{1} << 100}, result);
      return is_int(type) && inside(r, kDoubles) && inside(r, *all);
    }
    case OpKind::Min:
    case OpKind::Max: return ordered(type, a, b);
    case OpKind::Relu:
    case OpKind::Sign: return ordered(type, a, {0, 0});
    default: return false;
  }
}

bool is_exact_reduction(OpKind kind, DType type, std::span<const Range> elements, Range result) {
  const auto all = held(type);
  if (!all) return false;
  const auto magnitude = [&](Range r) {
    const Interval x = of_element(r, *all);
    return std::max(-x.low, x.high);
  };
  // Integers are added up in doubles, floats in their own type.
  const Interval& limit = is_int(type) ? kDoubles : *all;
  switch (kind) {
    case OpKind::ReduceMin:
    case OpKind::ReduceMax: {  // any two elements may be compared
      const auto int32 = held(DType::Int32);
      return elements.size() < 2 || type != DType::Int64 ||
             std::ranges::all_of(elements, [&](Range r) { return inside(of_element(r, *all), *int32); });
    }
    case OpKind::ReduceSum: {
      Int128 sum = 0;
      for (const Range r : elements) sum += magnitude(r);  // fewer than 2^60 elements: no overflow
      return sum < limit.high && inside(meet({-sum, sum}, result), *all);
    }
    case OpKind::ReduceProd: {
      const auto fits = [&](Interval x) { return inside(x, limit) && inside(x, *all); };
      Int128 product = 1;
      for (const Range r : elements)
        product = std::min(product * std::max<Int128>(magnitude(r), 1), Int128{1} << 62);
      if (fits(meet({-product, product}, result))) {
        if (product < limit.high) return true;
        // A partial product that is no double has a result that is one only beside a 0; then the result is 0
        // unless a partial product is infinite, which takes more factors than this.
        constexpr std::size_t kFactors = 16;
        return is_int(type) && elements.size() <= kFactors;
      }
      return false;
    }
    default: return false;
  }
}

std::optional<std::int64_t> integer_reduction(OpKind kind, DType type,
                                              std::span<const std::int64_t> elements) {
  return with_type(type, [&](auto zero) -> std::optional<std::int64_t> {
    using T = decltype(zero);
    for (const std::int64_t x : elements)
      if (!std::in_range<T>(x)) return std::nullopt;
    if (kind == OpKind::ReduceMin || kind == OpKind::ReduceMax) {
      if (elements.empty()) return std::nullopt;
      std::vector<Range> points;
      for (const std::int64_t x : elements) points.push_back({x, x});
      if (!is_exact_reduction(kind, type, points, {Range::kMin, Range::kMax})) return std::nullopt;
      return kind == OpKind::ReduceMin ? std::ranges::min(elements) : std::ranges::max(elements);
    }
    integers::Total total(kind);
    for (const std::int64_t x : elements) total.add(static_cast<T>(x));
    T v{};
    return total.result(v) ? std::optional(static_cast<std::int64_t>(v)) : std::nullopt;
  });
}

}  // namespace graphopt
