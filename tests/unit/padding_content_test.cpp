// Contents: what an operation makes of numbers that operands can hold, the result's content allows.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "buckets/padding/content.h"
#include "buckets/padding/type_limits.h"

namespace graphopt {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

struct PaddingContent : testing::Test {
  DimPool dims;
  ContentMath math{dims};
  std::mt19937 random{7};

  float pick(std::initializer_list<float> from) {
    return from.begin()[std::uniform_int_distribution<std::size_t>(0, from.size() - 1)(random)];
  }

  // Some numbers, and a content that allows them.
  Content draw(std::vector<float>& numbers) {
    const float a = pick({-1e9F, -1000, -3, -1, -0.5F, -0.0F, 0, 0.25F, 1, 2, 7, 1e-12F, 1e9F, 3.4e38F});
    const float b = pick({a, a, -1000, -1, 0, 1, 5, 1e9F});
    const float low = std::min(a, b), high = std::max(a, b);
    Content c = ContentMath::interval(low, high);
    numbers = {low, high, low / 2 + high / 2};
    if (pick({0, 0, 0, 1}) == 1) {
      c.nan = true;
      numbers.push_back(kNaN);
    }
    if (pick({0, 0, 0, 1}) == 1) {
      const float infinity = pick({kInf, -kInf});
      if (infinity > 0) c.high = {kInfinity, {}};
      else c.low = {-kInfinity, {}};
      c.infinite = true;
      c.positive_infinite = infinity > 0;
      numbers.push_back(infinity);
    }
    return c;
  }

  // A result of float, computed in other orders and with contractions, may be off by a few roundings.
  static bool allows(const ContentMath& math, const Content& c, float v) {
    if (std::isnan(v)) return c.nan;
    if (std::isinf(v)) return c.infinite && (v < 0 || c.positive_infinite);
    const auto off = [&c](double bound) { return std::isfinite(bound) ? c.rounding * std::fabs(bound) : 0; };
    return v >= math.low(c) - off(math.low(c)) && v <= math.high(c) + off(math.high(c));
  }
};

TEST_F(PaddingContent, BinaryOperationsHoldTheirResults) {
  struct Case {
    const char* name;
    std::function<Content(const Content&, const Content&)> content;
    std::function<float(float, float)> value;
  };
  const auto compared = [this](OpKind kind) {
    return [this, kind](const Content& a, const Content& b) { return math.compare(kind, a, b); };
  };
  const std::vector<Case> cases{
      {"add", [this](auto& a, auto& b) { return math.add(a, b); }, [](float a, float b) { return a + b; }},
      {"subtract", [this](auto& a, auto& b) { return math.subtract(a, b); },
       [](float a, float b) { return a - b; }},
      {"multiply", [this](auto& a, auto& b) { return math.multiply(a, b); },
       [](float a, float b) { return a * b; }},
      {"divide", [this](auto& a, auto& b) { return math.divide(a, b, false); },
       [](float a, float b) { return a / b; }},
      {"less", compared(OpKind::Less), [](float a, float b) { return a < b ? 1.0F : 0.0F; }},
      {"greater or equal", compared(OpKind::GreaterOrEqual),
       [](float a, float b) { return a >= b ? 1.0F : 0.0F; }},
      {"equal", compared(OpKind::Equal), [](float a, float b) { return a == b ? 1.0F : 0.0F; }},
      {"join", [this](auto& a, auto& b) { return math.join(a, b); }, [](float a, float) { return a; }},
  };
  for (int round = 0; round < 20000; ++round) {
    std::vector<float> x, y;
    const Content a = draw(x), b = draw(y);
    for (const Case& k : cases) {
      const Content c = math.held(DType::Float, k.content(a, b));
      for (const float u : x)
        for (const float v : y) {
          const float r = k.value(u, v);
          ASSERT_TRUE(allows(math, c, r))
              << k.name << " of " << u << " in " << math.text(a) << " and " << v << " in " << math.text(b)
              << " is " << r << ", not in " << math.text(c);
        }
    }
  }
}

TEST_F(PaddingContent, UnaryOperationsHoldTheirResults) {
  struct Case {
    OpKind kind;
    float (*value)(float);
  };
  const std::array<Case, 14> cases{{
      {OpKind::Relu, [](float v) { return v > 0           ? v
                                          : std::isnan(v) ? v
                                                          : 0; }},
      {OpKind::Abs, [](float v) { return std::fabs(v); }},
      {OpKind::Neg, [](float v) { return -v; }},
      {OpKind::Exp, [](float v) { return std::exp(v); }},
      {OpKind::Log, [](float v) { return std::log(v); }},
      {OpKind::Sqrt, [](float v) { return std::sqrt(v); }},
      {OpKind::Sigmoid, [](float v) { return 1 / (1 + std::exp(-v)); }},
      {OpKind::Tanh, [](float v) { return std::tanh(v); }},
      {OpKind::Floor, [](float v) { return std::floor(v); }},
      {OpKind::Round, [](float v) { return std::nearbyint(v); }},
      {OpKind::Reciprocal, [](float v) { return 1 / v; }},
      {OpKind::Cos, [](float v) { return std::cos(v); }},
      {OpKind::Sign, [](float v) { return v > 0   ? 1.0F
                                          : v < 0 ? -1.0F
                                                  : v; }},
      {OpKind::Softplus,
       [](float v) { return std::isinf(v) || v > 80 ? std::max(v, 0.0F) : std::log1p(std::exp(v)); }},
  }};
  for (int round = 0; round < 20000; ++round) {
    std::vector<float> x;
    const Content a = draw(x);
    for (const Case& k : cases) {
      const Content c = math.held(DType::Float, unary_content(math, k.kind, DType::Float, a));
      for (const float u : x) {
        const float r = k.value(u);
        ASSERT_TRUE(allows(math, c, r)) << static_cast<int>(k.kind) << " of " << u << " in " << math.text(a)
                                        << " is " << r << ", not in " << math.text(c);
      }
    }
  }
}

TEST_F(PaddingContent, WhatATypeDoesNotHoldIsInfinite) {
  const Content product = math.multiply(ContentMath::interval(0, 1e30), ContentMath::number(1e30));
  EXPECT_FALSE(math.held(DType::Float, product).finite());
  EXPECT_TRUE(math.held(DType::Double, product).finite());
  EXPECT_TRUE(math.held(DType::Float, product, true).finite());  // the true run does not overflow
  EXPECT_FALSE(math.held(DType::Float, product).nan);
  EXPECT_TRUE(math.held(DType::Float8E4M3FN, product).nan);  // a type without infinities
  EXPECT_TRUE(math.is(math.held(DType::Float16, ContentMath::number(-65520)), -kInfinity));
  EXPECT_TRUE(math.held(DType::Float16, ContentMath::number(-65519)).finite());
  const Content large = ContentMath::interval(-1e308, 1e308);
  EXPECT_FALSE(math.held(DType::Double, math.add(large, large)).finite());
  EXPECT_FALSE(math.held(DType::Double, math.multiply(large, large)).finite());
}

TEST_F(PaddingContent, WhatIsChosenNeedNotFitANarrowerType) {
  const struct {
    DType from, to;
    bool fits;
  } casts[] = {{DType::Double, DType::Float, false},  {DType::Float, DType::Double, true},
               {DType::Float, DType::Float16, false}, {DType::Float16, DType::BFloat16, true},
               {DType::Int64, DType::Float, true},    {DType::Int64, DType::Float16, false},
               {DType::Int16, DType::Float16, true},  {DType::Float, DType::Float8E5M2, false}};
  for (const auto& k : casts) {
    const Content chosen = ContentMath::any_of(k.from);
    EXPECT_EQ(math.cast(chosen, k.from, k.to).finite(), k.fits) << dtype_name(k.from) << dtype_name(k.to);
    // Sums of it are taken to be finite, but not to fit.
    const Content sum = ContentMath::combined({chosen, ContentMath::number(1)});
    EXPECT_TRUE(sum.finite());
    EXPECT_EQ(math.cast(sum, k.from, k.to).finite(), k.fits);
  }
  // What follows from data fits, since it does in the true run.
  EXPECT_TRUE(math.cast(ContentMath::any_finite(), DType::Double, DType::Float).finite());
  EXPECT_FALSE(math.cast(ContentMath::interval(0, 1e300), DType::Double, DType::Float).finite());
  // Between 0 and 1 it fits, whoever chose it.
  const Content clipped = math.minimum(
      math.maximum(ContentMath::any_of(DType::Double), ContentMath::number(0)), ContentMath::number(1));
  EXPECT_TRUE(math.cast(math.held(DType::Double, clipped), DType::Double, DType::Float16).finite());
}

TEST_F(PaddingContent, FunctionsThatAreNotFiniteEverywhereSaySo) {
  const Content data = ContentMath::any_finite();
  EXPECT_TRUE(unary_content(math, OpKind::Celu, DType::Float, data, {.alpha = 2}).finite());
  EXPECT_FALSE(unary_content(math, OpKind::Celu, DType::Float, data, {.alpha = 0}).finite());
  EXPECT_FALSE(
      unary_content(math, OpKind::Celu, DType::Float, ContentMath::number(0), {.alpha = 0}).finite());
  EXPECT_FALSE(unary_content(math, OpKind::Celu, DType::Float, data, {.alpha = -1}).finite());
  EXPECT_FALSE(unary_content(math, OpKind::LeakyRelu, DType::Float, data, {.alpha = kInfinity}).finite());
  const Content most = ContentMath::any_of(DType::Float);
  const auto held = [&](OpKind kind, UnaryParameters p) {
    return math.held(DType::Float, unary_content(math, kind, DType::Float, most, p));
  };
  EXPECT_TRUE(held(OpKind::LeakyRelu, {.alpha = 0.5}).finite());
  EXPECT_FALSE(held(OpKind::LeakyRelu, {.alpha = -9}).finite());
  EXPECT_FALSE(held(OpKind::Selu, {.alpha = 1.67, .gamma = 1.05}).finite());
  EXPECT_TRUE(math.held(DType::Float, math.power(data, ContentMath::number(3))).finite());
  EXPECT_FALSE(math.held(DType::Float, math.power(data, ContentMath::number(20))).finite());
  EXPECT_FALSE(math.held(DType::Float, math.power(most, ContentMath::number(2))).finite());
  EXPECT_TRUE(
      math.held(DType::Float, math.power(ContentMath::interval(-2, 3), ContentMath::number(20))).finite());
  EXPECT_FALSE(math.held(DType::Float, math.log_probability(most, false)).finite());
}

TEST_F(PaddingContent, PositionsAreComparedAsExpressions) {
  const DimId s = dims.symbol("s", {4, 32}), slack = dims.symbol("s#", {0, 28}), one = dims.constant(1);
  const Content truth = ContentMath::between(dims.constant(0), dims.sub(s, one));
  const Content behind = ContentMath::between(s, dims.sub(dims.add(s, slack), one));
  const Content length = ContentMath::between(s, s);
  EXPECT_TRUE(math.is(math.compare(OpKind::Less, truth, length), 1));
  EXPECT_TRUE(math.is_zero(math.compare(OpKind::Less, behind, length)));
  EXPECT_FALSE(math.is_number(math.compare(OpKind::Less, behind, ContentMath::number(8))));
}

TEST_F(PaddingContent, TheLesserOfTwoExtentsIsOne) {
  const DimId s = dims.symbol("s", {1, 9}), t = dims.symbol("t", {1, 9});
  const Content a = ContentMath::between(s, s), b = ContentMath::between(t, t);
  const Content least = math.minimum(a, b), greatest = math.maximum(a, b);
  EXPECT_EQ(dims.equal(least.low.expression, dims.min(s, t)), Tri::Yes);
  EXPECT_EQ(dims.equal(least.high.expression, dims.min(s, t)), Tri::Yes);
  EXPECT_EQ(dims.equal(greatest.low.expression, dims.max(s, t)), Tri::Yes);
  EXPECT_EQ(dims.equal(greatest.high.expression, dims.max(s, t)), Tri::Yes);
  const Content at_least_3 = math.maximum(a, ContentMath::number(3));
  EXPECT_EQ(dims.equal(at_least_3.low.expression, dims.max(s, dims.constant(3))), Tri::Yes);
}

TEST_F(PaddingContent, NothingIsBelowTheLeastNumberOfAType) {
  const Content any = ContentMath::any_finite();
  EXPECT_TRUE(math.is_at_most(ContentMath::number(-128), any, DType::Int8));
  EXPECT_FALSE(math.is_at_most(ContentMath::number(-128), any, DType::Int16));
  EXPECT_TRUE(math.is_at_most(ContentMath::number(0), any, DType::UInt8));
  EXPECT_FALSE(math.is_at_most(ContentMath::number(0), any, DType::Float));
  EXPECT_TRUE(math.is_at_most(ContentMath::number(-kInf), any, DType::Float));
  EXPECT_TRUE(math.is_at_least(ContentMath::number(127), any, DType::Int8));
  EXPECT_FALSE(math.is_at_least(ContentMath::number(9.3e18), any, DType::Int64));  // not the number itself
  EXPECT_FALSE(math.is_at_least(ContentMath::number(kNaN), any, DType::Float));
}

TEST_F(PaddingContent, WhatAnIntegerTypeDoesNotHoldHasWrapped) {
  EXPECT_TRUE(math.is(math.held(DType::Int8, ContentMath::number(127)), 127));
  EXPECT_FALSE(math.is_number(math.held(DType::Int8, ContentMath::number(128))));
  EXPECT_EQ(math.low(math.held(DType::UInt8, ContentMath::interval(-1, 3))), -kInfinity);
  EXPECT_TRUE(math.is(math.held(DType::Int64, ContentMath::number(-5)), -5));
}

// Operands are at 2^53, at the ends of the type, and beside them; results are compared as integers.
TEST_F(PaddingContent, IntegersThatNoDoubleHoldsAreWithinTheirBounds) {
  constexpr std::int64_t kGreatest = std::numeric_limits<std::int64_t>::max(), kExact = std::int64_t{1} << 53;
  std::vector<std::int64_t> numbers{0, 1, -1, 3, 94906267, 94906269, kExact / 3, kGreatest / 3};
  for (const std::int64_t d : {-2, -1, 0, 1, 2, 3})
    for (const std::int64_t n : {kExact, -kExact, kExact * 3, std::int64_t{1} << 61, kGreatest - 2000})
      numbers.push_back(n + d);
  numbers.insert(numbers.end(), {kGreatest, kGreatest - 1, -kGreatest, -kGreatest - 1});
  const auto allows = [this](const Content& c, std::int64_t v) {
    const double low = math.low(c), high = math.high(c);
    return (low <= -0x1p63 || (low < 0x1p63 && static_cast<std::int64_t>(low) <= v)) &&
           (high >= 0x1p63 || (high >= -0x1p63 && static_cast<std::int64_t>(high) >= v));
  };
  const auto of = [](std::int64_t v) {
    return ContentMath::interval(outward(v, -kInfinity), outward(v, kInfinity));
  };
  for (const std::int64_t x : numbers)
    for (const std::int64_t y : numbers) {
      const Content a = of(x), b = of(y);
      const auto u = static_cast<std::uint64_t>(x), w = static_cast<std::uint64_t>(y);
      const auto check = [&](const char* name, const Content& content, std::uint64_t wrapped) {
        const Content c = math.held(DType::Int64, content);
        const auto v = static_cast<std::int64_t>(wrapped);
        ASSERT_TRUE(allows(c, v)) << name << " of " << x << " and " << y << " is " << v << ", not in "
                                  << math.text(c);
      };
      check("sum", math.add(a, b), u + w);
      check("difference", math.subtract(a, b), u - w);
      check("product", math.multiply(a, b), u * w);
      if (y != 0 && y != -1) check("quotient", math.divide(a, b, true), static_cast<std::uint64_t>(x / y));
      check("greater", math.maximum(a, b), static_cast<std::uint64_t>(std::max(x, y)));
      check("opposite", math.negate(a), 0 - u);
      check("magnitude", unary_content(math, OpKind::Abs, DType::Int64, a), x < 0 ? 0 - u : u);
    }
  EXPECT_TRUE(math.is(math.held(DType::Int64, of(-kGreatest - 1)), -0x1p63));
  // The greatest number does not end what is known of the least one.
  const Content clipped = math.minimum(math.maximum(ContentMath::any_finite(), of(0)), of(kGreatest));
  EXPECT_EQ(math.low(math.held(DType::Int64, clipped)), 0);
  EXPECT_EQ(math.low(math.held(DType::Int64, math.add(clipped, of(1)))), -kInfinity);
}

TEST_F(PaddingContent, ACastToIntegersHoldsWhatTheTypeHolds) {
  const Content most = ContentMath::interval(0, 0x1p63);
  EXPECT_EQ(math.low(math.cast(most, DType::Float, DType::Int64)), -kInfinity);
  EXPECT_EQ(math.low(math.cast(most, DType::UInt64, DType::Int64)), -kInfinity);
  EXPECT_EQ(math.low(math.cast(most, DType::Int64, DType::Int64)), 0);
  EXPECT_EQ(math.low(math.cast(most, DType::Float, DType::UInt64)), 0);
  EXPECT_EQ(math.low(math.cast(ContentMath::interval(0, 0x1p64), DType::Double, DType::UInt64)), -kInfinity);
  EXPECT_EQ(math.low(math.cast(ContentMath::interval(-0x1p63, 0), DType::Float, DType::Int64)), -0x1p63);
}

TEST_F(PaddingContent, WhatFollowsFromPadsDoesNotBecomeLikeData) {
  const Content any = ContentMath::any_of(DType::Float);
  const Content clipped = math.held(
      DType::Float, math.minimum(math.maximum(any, ContentMath::number(-9000)), ContentMath::number(9000)));
  EXPECT_TRUE(math.cast(clipped, DType::Float, DType::Float16).finite());
  const Content sum = math.held(DType::Float, ContentMath::combined({clipped}));
  EXPECT_TRUE(sum.finite());
  EXPECT_FALSE(math.cast(sum, DType::Float, DType::Float16).finite());
  // So do numbers that wrapped, and integers that NaN became; but not in the true run.
  const Content wrapped = math.held(DType::UInt16, ContentMath::number(-1));
  EXPECT_FALSE(math.cast(wrapped, DType::UInt16, DType::Float16).finite());
  EXPECT_TRUE(
      math.cast(math.held(DType::UInt16, ContentMath::number(-1), true), DType::UInt16, DType::Float16)
          .finite());
  Content nan = ContentMath::number(0);
  nan.nan = true;
  const Content integer = math.cast(nan, DType::Float, DType::UInt32);
  EXPECT_FALSE(math.cast(integer, DType::UInt32, DType::Float16).finite());
}

TEST_F(PaddingContent, ACastToIntegersOfWhatIsRoundedMayJump) {
  Content almost = ContentMath::interval(5.9999999, 6);
  almost.rounding = kRounding;
  const Content whole = math.cast(almost, DType::Float, DType::Int64);
  EXPECT_EQ(math.low(whole), 5);
  EXPECT_EQ(math.high(whole), 6);
  EXPECT_EQ(math.low(math.cast(ContentMath::anything(), DType::Float, DType::Int32)), -kInfinity);
  EXPECT_TRUE(math.is(math.cast(ContentMath::number(-1e9), DType::Float, DType::Float16), -kInfinity));
}

TEST_F(PaddingContent, AnAdditiveMaskStaysOne) {
  const Content mask = ContentMath::number(-3.4028234663852886e38);
  EXPECT_GE(math.mask_of(math.add(ContentMath::any_finite(), mask)), 1000);
  EXPECT_EQ(math.mask_of(math.add(ContentMath::anything(), mask)), 0);  // NaN is not masked
  EXPECT_EQ(math.mask_of(math.join(math.add(ContentMath::any_finite(), mask), ContentMath::number(0))), 0);
}

}  // namespace
}  // namespace graphopt
