// What ONNX Runtime computes for integers: single numbers, and intervals that prove a symbolic result. Which
// results the runtime gives was seen in runs (tests/equal/extreme_integers.py repeats them); where the
// function must refuse, the comment gives the reason.
#include "ops/integer_arithmetic.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "infer/infer.h"
#include "infer/values.h"

namespace graphopt {
namespace {

constexpr std::int64_t kLow = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kHigh = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kTwo31 = std::int64_t{1} << 31;
constexpr std::int64_t kTwo53 = std::int64_t{1} << 53;
constexpr Range kExtent{0, kMaxInputExtent};
constexpr Range kAny{Range::kMin, Range::kMax};

std::optional<std::int64_t> of(OpKind kind, std::int64_t a, std::int64_t b = 0, DType type = DType::Int64,
                               bool fmod = false) {
  return integer_result(kind, type, a, b, fmod);
}

TEST(IntegerResult, SumsAndProductsWrap) {
  EXPECT_EQ(of(OpKind::Add, kHigh, 1), kLow);
  EXPECT_EQ(of(OpKind::Sub, kLow, 1), kHigh);
  EXPECT_EQ(of(OpKind::Mul, std::int64_t{1} << 32, std::int64_t{1} << 32), 0);
  EXPECT_EQ(of(OpKind::Neg, kLow), kLow);
  EXPECT_EQ(of(OpKind::Abs, kLow), kLow);
  EXPECT_EQ(of(OpKind::Add, kTwo31 - 1, 1, DType::Int32), -kTwo31);
  EXPECT_EQ(of(OpKind::Add, 250, 10, DType::UInt8), 4);
}

TEST(IntegerResult, DivisionIsRefusedWhereTheProcessEnds) {
  EXPECT_EQ(of(OpKind::Div, -7, 2), -3);
  EXPECT_EQ(of(OpKind::Mod, -7, 2), 1);
  EXPECT_EQ(of(OpKind::Mod, -7, 2, DType::Int64, true), -1);
  EXPECT_FALSE(of(OpKind::Div, 1, 0));
  EXPECT_FALSE(of(OpKind::Mod, 1, 0));
  EXPECT_FALSE(of(OpKind::Div, kLow, -1));
  EXPECT_FALSE(of(OpKind::Mod, kLow, -1));
  EXPECT_FALSE(of(OpKind::Div, -kTwo31, -1, DType::Int32));
}

TEST(IntegerResult, WhatIsComputedInDoublesEndsAt2To53) {
  EXPECT_EQ(of(OpKind::Pow, 2, 53), kTwo53);
  EXPECT_FALSE(of(OpKind::Pow, 3, 39));  // 4052555153018976267 is no double
  EXPECT_EQ(of(OpKind::Mod, kTwo53, 7, DType::Int64, true), kTwo53 % 7);
  EXPECT_FALSE(of(OpKind::Mod, kTwo53 + 1, 2, DType::Int64, true));
  EXPECT_EQ(of(OpKind::Mod, kTwo53 + 1, 2), 1);  // without fmod in integers
}

TEST(IntegerResult, OrderIsRefusedWhereOnlyBit31AndLowerBitsDiffer) {
  EXPECT_EQ(of(OpKind::Max, -1, kTwo31 - 1), kTwo31 - 1);
  EXPECT_EQ(of(OpKind::Min, kHigh, 5), 5);
  EXPECT_FALSE(of(OpKind::Max, 0, kTwo31));
  EXPECT_FALSE(of(OpKind::Relu, kTwo31));
  EXPECT_FALSE(of(OpKind::Sign, kTwo31 + 1));
  EXPECT_FALSE(of(OpKind::Min, -1, -kTwo31 - 1));
  EXPECT_EQ(of(OpKind::Max, 0, kTwo31, DType::UInt32), kTwo31);
}

TEST(IntegerReduction, PartialResultsMustBeDoubles) {
  const auto reduce = [](OpKind kind, std::vector<std::int64_t> x, DType type = DType::Int64) {
    return integer_reduction(kind, type, x);
  };
  EXPECT_EQ(reduce(OpKind::ReduceSum, {kTwo53 - 2, 1}), kTwo53 - 1);
  EXPECT_FALSE(reduce(OpKind::ReduceSum, {kTwo53, 1}));  // a bound in doubles would be 2^53 again
  EXPECT_FALSE(reduce(OpKind::ReduceProd, {kTwo53 + 1}));
  EXPECT_FALSE(reduce(OpKind::ReduceSum, {kTwo53, 1, -kTwo53}));  // 1, but 0 in another order
  EXPECT_FALSE(reduce(OpKind::ReduceProd, {3037000499, 3037000493}));
  EXPECT_EQ(reduce(OpKind::ReduceProd, {std::int64_t{1} << 40, std::int64_t{1} << 40, 0}), 0);
  EXPECT_FALSE(reduce(OpKind::ReduceProd, std::vector<std::int64_t>(40, kTwo31 - 1)));
  std::vector<std::int64_t> infinite(40, kTwo31 - 1);
  infinite.push_back(0);  // infinity times 0 is NaN
  EXPECT_FALSE(reduce(OpKind::ReduceProd, infinite));
  EXPECT_FALSE(reduce(OpKind::ReduceSum, {kTwo31 - 1, 1}, DType::Int32));
  EXPECT_EQ(reduce(OpKind::ReduceMax, {5, -1}), 5);
  EXPECT_EQ(reduce(OpKind::ReduceMax, {kHigh}), kHigh);
  EXPECT_FALSE(reduce(OpKind::ReduceMax, {0, kTwo31}));
  EXPECT_FALSE(reduce(OpKind::ReduceMax, {}));
  EXPECT_EQ(reduce(OpKind::ReduceMean, {5, -8}), -1);  // towards zero
  EXPECT_FALSE(reduce(OpKind::ReduceMean, {}));        // of no number there is none
}

TEST(RangeCount, IsRefusedWhereDoublesRound) {
  EXPECT_EQ(integers::range_count<std::int64_t>(0, 10, 3), 4);
  EXPECT_EQ(integers::range_count<std::int64_t>(10, 0, -3), 4);
  EXPECT_EQ(integers::range_count<std::int64_t>(0, 10, -3), 0);
  EXPECT_FALSE(integers::range_count<std::int64_t>(kHigh - 3, kHigh, 2));  // the runtime makes none, not two
  EXPECT_FALSE(integers::range_count<std::int64_t>(0, kHigh, kHigh / 3));
  EXPECT_EQ(integers::range_count<std::int32_t>(-kTwo31, kTwo31 - 1, kTwo31 / 2 - 1), 5);
}

TEST(IsExact, NeedsBoundsNotCoefficients) {
  EXPECT_TRUE(is_exact(OpKind::Mul, DType::Int64, kExtent, kExtent, kAny));
  const Range two{0, kMaxInputExtent * kMaxInputExtent};
  EXPECT_FALSE(is_exact(OpKind::Mul, DType::Int64, two, kExtent, kAny));
  EXPECT_TRUE(is_exact(OpKind::Mul, DType::Int64, two, kExtent, {0, kTwo53}));
  EXPECT_TRUE(is_exact(OpKind::Sub, DType::Int64, {0, Range::kMax}, {0, Range::kMax}, kAny));
  EXPECT_FALSE(is_exact(OpKind::Add, DType::Int64, {0, Range::kMax}, {1, 1}, kAny));
  EXPECT_FALSE(is_exact(OpKind::Neg, DType::Int64, kAny, kAny, kAny));
  EXPECT_TRUE(is_exact(OpKind::Neg, DType::Int64, {0, Range::kMax}, kAny, kAny));
  EXPECT_FALSE(is_exact(OpKind::Add, DType::Int32, kExtent, {1, 1}, kAny));
  EXPECT_FALSE(is_exact(OpKind::Mul, DType::UInt64, {0, Range::kMax}, {0, Range::kMax}, kAny));
  // A product of such numbers may leave even 128 bits, so nothing is proven, whatever bounds it has.
  EXPECT_FALSE(is_exact(OpKind::Mul, DType::UInt64, kAny, {2, 2}, {0, 10}));
  EXPECT_FALSE(is_exact(OpKind::Mul, DType::UInt64, {2, 2}, kAny, {0, 10}));
  EXPECT_TRUE(is_exact(OpKind::Mul, DType::UInt64, {0, 5}, {2, 2}, {0, 10}));
}

TEST(IsExact, RefusesADivisorThatMayBeMinusOneBelowTheSmallestNumber) {
  for (const OpKind kind : {OpKind::Div, OpKind::Mod}) {
    EXPECT_FALSE(is_exact(kind, DType::Int64, kAny, {-1, -1}, kAny));
    EXPECT_FALSE(is_exact(kind, DType::Int64, kAny, {-8, -1}, kAny));
    EXPECT_FALSE(is_exact(kind, DType::Int64, kAny, {-1, 8}, kAny));
    EXPECT_FALSE(is_exact(kind, DType::Int64, kAny, {-2, 8}, kAny));
    EXPECT_TRUE(is_exact(kind, DType::Int64, kAny, {-8, -2}, kAny));
    EXPECT_TRUE(is_exact(kind, DType::Int64, kAny, {1, 8}, kAny));
    EXPECT_TRUE(is_exact(kind, DType::Int64, kExtent, {-8, 8}, kAny));
    EXPECT_TRUE(is_exact(kind, DType::UInt8, kAny, kAny, kAny));  // no divisor is -1
    EXPECT_TRUE(is_exact(kind, DType::UInt64, kAny, kAny, kAny));
  }
}

TEST(IsExact, KnowsTheLimitsOfEachOperator) {
  EXPECT_FALSE(is_exact(OpKind::Pow, DType::Int64, kExtent, {2, 2}, {0, kTwo53 + 1}));
  EXPECT_TRUE(is_exact(OpKind::Pow, DType::Int64, kExtent, {1, 1}, kExtent));
  EXPECT_FALSE(is_exact(OpKind::Pow, DType::Float, {0, 2}, {2, 2}, {0, 4}));  // folding does not compute it
  EXPECT_FALSE(is_exact(OpKind::Mod, DType::Int64, kAny, {3, 3}, {0, 2}, true));
  EXPECT_TRUE(is_exact(OpKind::Mod, DType::Int64, kAny, {3, 3}, {0, 2}, false));
  EXPECT_TRUE(is_exact(OpKind::Max, DType::Int64, kExtent, {-kTwo31, 0}, kAny));
  EXPECT_FALSE(is_exact(OpKind::Max, DType::Int64, {0, kTwo31}, {1, 1}, kAny));
  EXPECT_TRUE(is_exact(OpKind::Min, DType::Int64, kExtent, {kHigh, kHigh}, kAny));
  EXPECT_FALSE(is_exact(OpKind::Relu, DType::Int64, {0, kTwo31}, kAny, kAny));
  EXPECT_TRUE(is_exact(OpKind::Relu, DType::Int64, kExtent, kAny, kAny));
}

TEST(IsExact, ReductionsAddUpMagnitudes) {
  const Range million{0, 1'000'000};
  EXPECT_TRUE(is_exact_reduction(OpKind::ReduceProd, DType::Int64, std::vector{million, million}, kAny));
  EXPECT_FALSE(is_exact_reduction(OpKind::ReduceProd, DType::Int64, std::vector{kExtent, kExtent}, kAny));
  EXPECT_TRUE(
      is_exact_reduction(OpKind::ReduceProd, DType::Int64, std::vector{kExtent, kExtent}, {0, kTwo53}));
  EXPECT_FALSE(
      is_exact_reduction(OpKind::ReduceProd, DType::Float, std::vector(3, Range{0, 1 << 20}), {0, 1 << 20}));
  // Beside a 0 the partial products of the others have to stay finite.
  EXPECT_TRUE(is_exact_reduction(OpKind::ReduceProd, DType::Int64, std::vector(16, kExtent), {0, kTwo53}));
  EXPECT_FALSE(is_exact_reduction(OpKind::ReduceProd, DType::Int64, std::vector(17, kExtent), {0, kTwo53}));
  EXPECT_TRUE(is_exact_reduction(OpKind::ReduceProd, DType::Int64, std::vector(17, Range{0, 2}), kAny));
  EXPECT_TRUE(is_exact_reduction(OpKind::ReduceSum, DType::Int64, std::vector{kExtent, kExtent}, kAny));
  // 2^24 + 1 - 1: floats in another order lose the 1.
  EXPECT_FALSE(is_exact_reduction(OpKind::ReduceSum, DType::Float,
                                  std::vector{Range{1 << 24, 1 << 24}, Range{1, 1}, Range{-1, -1}}, kAny));
  EXPECT_FALSE(
      is_exact_reduction(OpKind::ReduceMax, DType::Int64, std::vector{Range{0, kTwo31}, kExtent}, kAny));
}

TEST(Elements, NumbersAreComputedAndExpressionsProven) {
  DimPool pool;
  const DimId n = pool.symbol("n", kExtent), m = pool.symbol("m", kExtent), k = pool.symbol("k", kExtent);
  const DimId nm = pool.mul(n, m), top = pool.constant(kHigh), one = pool.constant(1);
  EXPECT_EQ(computed(pool, OpKind::Mul, DType::Int64, n, m, nm), nm);
  EXPECT_FALSE(computed(pool, OpKind::Mul, DType::Int64, nm, k, pool.mul(nm, k)));
  EXPECT_EQ(pool.value(computed(pool, OpKind::Add, DType::Int64, top, one, top)), kLow);  // wraps
  EXPECT_FALSE(reduced(pool, OpKind::ReduceProd, DType::Int64, std::vector{n, m}));  // up to 2^62: no double
  pool.assert_at_most(nm, std::int64_t{1} << 50);
  EXPECT_EQ(reduced(pool, OpKind::ReduceProd, DType::Int64, std::vector{n, m}), nm);
  EXPECT_FALSE(fit(pool, DType::Int32, nm));
  EXPECT_FALSE(fit(pool, DType::UInt64, pool.mul(nm, pool.mul(k, k))));
}

}  // namespace
}  // namespace graphopt
