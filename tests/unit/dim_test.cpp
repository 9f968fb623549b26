// Symbolic dims: the form of expressions, decisions, knowledge that comes later, and text. Expectations are
// worked out by hand; dim_property_test.cpp compares with plain evaluation.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ir/dim.h"

namespace graphopt {
namespace {

constexpr std::int64_t kInt64Max = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kInt64Min = std::numeric_limits<std::int64_t>::min();

class Dim : public testing::Test {
 protected:
  DimPool pool;
  DimId c(std::int64_t v) { return pool.constant(v); }
  DimId s = pool.symbol("s"), t = pool.symbol("t");
  DimId pos = pool.symbol("pos", {1, Range::kMax}), pos2 = pool.symbol("pos2", {1, Range::kMax});
  DimId any = pool.symbol("any", {Range::kMin, Range::kMax});
};

TEST_F(Dim, ConstantsAreSharedAndChecked) {
  EXPECT_EQ(c(7), c(7));
  EXPECT_EQ(c(-7), c(-7));
  EXPECT_EQ(c(kInt64Min), c(kInt64Min));
  EXPECT_EQ(pool.add(c(1000), c(1000)), c(2000));
  EXPECT_EQ(pool.value(pool.mul(c(-3), c(5))), -15);
  EXPECT_EQ(pool.value(pool.floor_div(c(-7), c(2))), -4);
  EXPECT_EQ(pool.value(pool.ceil_div(c(-7), c(2))), -3);
  EXPECT_EQ(pool.value(pool.trunc_div(c(-7), c(2))), -3);
  EXPECT_EQ(pool.value(pool.mod(c(-7), c(2))), 1);
  EXPECT_EQ(pool.value(pool.mod(c(7), c(-2))), -1);
  EXPECT_EQ(pool.value(pool.mod(c(kInt64Min), c(-1))), 0);
  EXPECT_FALSE(pool.add(c(kInt64Max), c(1)).valid());
  EXPECT_FALSE(pool.mul(c(kInt64Max), c(2)).valid());
  EXPECT_FALSE(pool.neg(c(kInt64Min)).valid());
  EXPECT_FALSE(pool.floor_div(c(kInt64Min), c(-1)).valid());
  EXPECT_FALSE(pool.floor_div(c(1), c(0)).valid());
  EXPECT_FALSE(pool.mod(c(1), c(0)).valid());
}

TEST_F(Dim, NoneStaysNone) {
  const DimId none;
  EXPECT_FALSE(pool.add(none, s).valid());
  EXPECT_FALSE(pool.mul(none, c(0)).valid());
  EXPECT_FALSE(pool.max(s, none).valid());
  EXPECT_EQ(pool.equal(none, none), Tri::Unknown);
  EXPECT_EQ(pool.less(none, s), Tri::Unknown);
  EXPECT_EQ(pool.print(none), "?");
  EXPECT_FALSE(pool.linked(none));
  EXPECT_EQ(pool.range(none), (Range{Range::kMin, Range::kMax}));
  EXPECT_TRUE(pool.assert_equal(none, s));
}

TEST_F(Dim, EqualPolynomialsHaveEqualIds) {
  const DimId square = pool.mul(pool.add(s, t), pool.add(t, s));
  DimId expanded = pool.add(pool.mul(s, s), pool.mul(t, t));
  expanded = pool.add(expanded, pool.mul(c(2), pool.mul(t, s)));
  EXPECT_EQ(square, expanded);
  EXPECT_EQ(pool.print(square), "s*s + 2*s*t + t*t");
  EXPECT_EQ(pool.sub(square, expanded), c(0));
  EXPECT_EQ(pool.print(pool.sub(c(3), pool.mul(c(2), t))), "-2*t + 3");
}

TEST_F(Dim, TwoStridedConvolutionsPrintAsOneFloor) {
  // Kernel 3, stride 2, no pads: floor((x - 3)/2) + 1, twice. By hand: floor((floor((t-1)/2) - 1)/2) is
  // floor((t - 3)/4) = floor((t + 1)/4) - 1.
  const auto conv = [&](DimId x) { return pool.add(pool.floor_div(pool.sub(x, c(3)), c(2)), c(1)); };
  EXPECT_EQ(pool.print(conv(t)), "floor((t + 1)/(2)) - 1");
  EXPECT_EQ(pool.print(conv(conv(t))), "floor((t + 1)/(4)) - 1");
  // Kernel 2, stride 2 and a crop: the prototype's example.
  const auto pool2 = [&](DimId x) { return pool.floor_div(x, c(2)); };
  EXPECT_EQ(pool.print(pool.sub(pool2(pool2(t)), c(1))), "floor((t)/(4)) - 1");
  // Same-padded: ceil twice is ceil by 4.
  EXPECT_EQ(pool.ceil_div(pool.ceil_div(t, c(2)), c(2)), pool.ceil_div(t, c(4)));
}

TEST_F(Dim, DivisionRules) {
  EXPECT_EQ(pool.floor_div(pool.add(pool.mul(c(4), s), c(6)), c(4)), pool.add(s, c(1)));
  EXPECT_EQ(pool.floor_div(pool.mul(c(6), s), c(4)), pool.add(s, pool.floor_div(s, c(2))));
  EXPECT_EQ(pool.floor_div(pool.add(pool.mul(c(2), s), c(1)), c(4)), pool.floor_div(s, c(2)));
  // floor(s/2) + floor((s + 1)/2) = s: two forms of one number, which bounds tell.
  EXPECT_EQ(pool.equal(pool.floor_div(s, c(-2)), pool.neg(pool.ceil_div(s, c(2)))), Tri::Yes);
  EXPECT_EQ(pool.equal(pool.ceil_div(s, c(-2)), pool.neg(pool.floor_div(s, c(2)))), Tri::Yes);
  // Common factors cancel, but only where the denominator cannot be 0.
  EXPECT_EQ(pool.floor_div(pool.mul(pos, s), pool.mul(pos, c(3))), pool.floor_div(s, c(3)));
  EXPECT_EQ(pool.floor_div(pool.mul(pos, s), pos), s);
  EXPECT_FALSE(pool.floor_div(pool.mul(s, t), t).valid());
  EXPECT_FALSE(pool.mod(s, t).valid());
  EXPECT_EQ(pool.ceil_div(s, pos), pool.floor_div(pool.add(pool.add(s, pos), c(-1)), pos));
  EXPECT_EQ(pool.floor_div(pool.add(s, pos), pos), pool.add(pool.floor_div(s, pos), c(1)));
  EXPECT_EQ(pool.print(pool.ceil_div(s, pos)), "floor((pos + s - 1)/(pos))");  // no negative numerators
  EXPECT_EQ(pool.floor_div(pool.floor_div(s, pos), pos2), pool.floor_div(s, pool.mul(pos, pos2)));
  const DimId small = pool.symbol("small", {0, 3});
  EXPECT_EQ(pool.floor_div(small, c(4)), c(0));
  EXPECT_EQ(pool.mod(small, c(4)), small);
  EXPECT_EQ(pool.floor_div(pool.neg(small), c(4)).valid(), true);
  EXPECT_EQ(pool.mod(pool.add(small, pool.mul(c(4), s)), c(4)), small);
  EXPECT_EQ(pool.floor_div(pool.sub(pos, c(1)), pos), c(0));
}

TEST_F(Dim, ModIsTheRestOfTheFloor) {
  EXPECT_EQ(pool.add(pool.mod(s, c(3)), pool.mul(c(3), pool.floor_div(s, c(3)))), s);
  EXPECT_EQ(pool.mod(pool.mul(c(6), s), c(3)), c(0));
  EXPECT_EQ(pool.range(pool.mod(any, c(3))), (Range{0, 2}));
  EXPECT_EQ(pool.range(pool.mod(any, pos)).low, 0);
  EXPECT_EQ(pool.less(pool.mod(s, pos), pos), Tri::Yes);
}

TEST_F(Dim, TruncatedDivisionNeedsASign) {
  EXPECT_EQ(pool.trunc_div(s, c(2)), pool.floor_div(s, c(2)));
  EXPECT_EQ(pool.trunc_div(pool.neg(s), c(2)), pool.neg(pool.floor_div(s, c(2))));
  EXPECT_EQ(pool.trunc_div(s, c(-2)), pool.neg(pool.floor_div(s, c(2))));
  EXPECT_FALSE(pool.trunc_div(any, c(2)).valid());
  EXPECT_EQ(pool.trunc_div(pool.mul(any, c(2)), c(-2)), pool.neg(any));
  EXPECT_FALSE(pool.trunc_div(s, t).valid());
}

TEST_F(Dim, MinMaxAreFlatSortedAndDecided) {
  EXPECT_EQ(pool.max(s, pool.add(s, c(1))), pool.add(s, c(1)));
  EXPECT_EQ(pool.max(c(1), pos), pos);
  EXPECT_EQ(pool.min(c(0), s), c(0));
  EXPECT_EQ(pool.max(s, pool.max(t, any)), pool.max(pool.max(any, s), t));
  EXPECT_EQ(pool.print(pool.max(t, s)), "max(s, t)");
  EXPECT_EQ(pool.max(pool.add(s, c(1)), pool.add(t, c(1))), pool.add(pool.max(s, t), c(1)));
  EXPECT_EQ(pool.max(pool.mul(c(2), s), pool.mul(c(2), t)), pool.mul(c(2), pool.max(s, t)));
  EXPECT_EQ(pool.max(s, pool.min(s, t)), s);
  EXPECT_EQ(pool.min(pool.max(s, t), t), t);
  EXPECT_EQ(pool.max(c(0), pool.sub(s, t)), pool.sub(pool.max(s, t), t));
  EXPECT_EQ(pool.less_equal(s, pool.max(s, t)), Tri::Yes);
  EXPECT_EQ(pool.less(pool.min(s, t), pool.add(s, c(1))), Tri::Yes);
}

TEST_F(Dim, Decisions) {
  EXPECT_EQ(pool.equal(s, t), Tri::Unknown);
  EXPECT_EQ(pool.equal(s, pool.add(s, c(1))), Tri::No);
  EXPECT_EQ(pool.equal(pool.mul(c(2), s), pool.add(pool.mul(c(4), t), c(1))), Tri::No);  // parity
  EXPECT_EQ(pool.equal(s, c(-1)), Tri::No);
  EXPECT_EQ(pool.equal(s, c(0)), Tri::Unknown);
  EXPECT_EQ(pool.equal(pool.mul(s, t), s), Tri::Unknown);
  const DimId two = pool.symbol("two", {2, 9});
  EXPECT_EQ(pool.equal(pool.mul(pos, two), pos), Tri::No);
  EXPECT_EQ(pool.equal(pool.mul(s, two), s), Tri::Unknown);  // both 0 for s = 0
  EXPECT_EQ(pool.less(s, t), Tri::Unknown);
  EXPECT_EQ(pool.less(s, s), Tri::No);
  EXPECT_EQ(pool.less_equal(s, pool.add(s, t)), Tri::Yes);
  EXPECT_EQ(pool.less(pool.add(s, t), s), Tri::No);
  EXPECT_EQ(pool.less_equal(pool.mul(c(2), pool.floor_div(s, c(2))), s), Tri::Yes);
  EXPECT_EQ(pool.less(c(kInt64Max), c(kInt64Min)), Tri::No);
  EXPECT_EQ(pool.less_equal(s, c(Range::kMax)), Tri::Unknown);  // kMax means "no bound"
}

TEST_F(Dim, ExactDivision) {
  EXPECT_EQ(pool.exact_div(pool.mul(c(6), s), c(3)), pool.mul(c(2), s));
  EXPECT_FALSE(pool.exact_div(s, c(2)).valid());
  EXPECT_FALSE(pool.exact_div(pool.mul(s, t), t).valid());
  EXPECT_EQ(pool.exact_div(pool.mul(s, t), t, true), s);
  EXPECT_EQ(pool.exact_div(pool.mul(s, pos), pos), s);
  const DimId sum = pool.add(pos, t), other = pool.add(s, c(5));
  EXPECT_EQ(pool.exact_div(pool.mul(sum, other), sum), other);
  EXPECT_EQ(pool.exact_div(pool.mul(sum, other), other), sum);
  EXPECT_FALSE(pool.exact_div(pool.add(pool.mul(sum, other), c(1)), sum).valid());
  EXPECT_FALSE(pool.exact_div(c(0), c(0), true).valid());
  EXPECT_EQ(pool.exact_div(c(0), pos), c(0));
}

TEST_F(Dim, RangesSaturate) {
  EXPECT_EQ(pool.range(pool.add(pos, c(4))), (Range{5, Range::kMax}));
  EXPECT_EQ(pool.range(pool.neg(s)), (Range{Range::kMin, 0}));
  EXPECT_EQ(pool.range(pool.mul(any, any)), (Range{0, Range::kMax}));
  const DimId big = pool.symbol("big", {Range::kMax - 1, Range::kMax - 1 + 0});
  EXPECT_EQ(pool.value(big), Range::kMax - 1);  // a range of one number is that number
  const DimId wide = pool.symbol("wide", {1, std::int64_t{1} << 40});
  EXPECT_EQ(pool.range(pool.mul(wide, wide)), (Range{1, Range::kMax}));
  EXPECT_EQ(pool.range(pool.mul(c(-1), pool.mul(wide, wide))), (Range{Range::kMin, -1}));
  EXPECT_EQ(pool.range(c(kInt64Max)), (Range{Range::kMax, Range::kMax}));
}

TEST_F(Dim, AliasesReplaceSymbols) {
  const DimId u = pool.fresh(), v = pool.fresh();
  EXPECT_EQ(pool.print(u), "u1");
  const DimId before = pool.add(u, pool.floor_div(u, c(2)));
  const auto epoch = pool.epoch();
  ASSERT_TRUE(pool.assert_equal(u, pool.add(s, c(1))));
  EXPECT_GT(pool.epoch(), epoch);
  EXPECT_EQ(pool.canonical(u), pool.add(s, c(1)));
  EXPECT_EQ(pool.print(before), "floor((s + 1)/(2)) + s + 1");
  EXPECT_EQ(pool.equal(u, pool.add(s, c(1))), Tri::Yes);
  EXPECT_TRUE(pool.linked(u));
  EXPECT_FALSE(pool.linked(v));
  ASSERT_TRUE(pool.assert_equal(pool.mul(c(3), v), pool.mul(c(3), u)));
  EXPECT_EQ(pool.canonical(v), pool.add(s, c(1)));
  EXPECT_FALSE(pool.assert_equal(v, s));
}

TEST_F(Dim, AliasesPreferFreshThenYounger) {
  const DimId u = pool.fresh();
  ASSERT_TRUE(pool.assert_equal(s, u));
  EXPECT_EQ(pool.canonical(u), s);
  EXPECT_EQ(pool.canonical(s), s);
  ASSERT_TRUE(pool.assert_equal(t, s));
  EXPECT_EQ(pool.canonical(t), s);
  const DimId past = pool.symbol("past"), seq = pool.symbol("seq"), total = pool.symbol("total");
  const DimId late = pool.symbol("late");
  ASSERT_TRUE(pool.assert_equal(total, pool.add(past, late)));
  EXPECT_EQ(pool.print(total), "late + past");  // total stood alone, so it is what is defined
  ASSERT_TRUE(pool.assert_equal(late, seq));
  EXPECT_EQ(pool.print(total), "past + seq");
}

TEST_F(Dim, AliasesNeverLoop) {
  const DimId u = pool.fresh();
  ASSERT_TRUE(pool.assert_equal(u, pool.add(pool.floor_div(u, c(2)), c(1))));  // nothing learnt
  EXPECT_EQ(pool.canonical(u), u);
  EXPECT_FALSE(pool.assert_equal(u, pool.add(u, c(1))));
  DimId last = u;
  for (int i = 0; i < 100000; ++i) {  // the longest chain: each new equation is about the older end
    const DimId next = pool.fresh();
    ASSERT_TRUE(pool.assert_equal(next, pool.add(last, c(1))));
    last = next;
  }
  EXPECT_EQ(pool.canonical(last), pool.add(u, c(100000)));
}

TEST_F(Dim, LongChainsOfAliasesNeedNoStack) {
  constexpr int kLength = 20000;
  std::vector<DimId> u;
  for (int i = 0; i <= kLength; ++i) u.push_back(pool.fresh());
  for (std::size_t i = kLength; i > 0; --i) ASSERT_TRUE(pool.assert_equal(u[i], u[i - 1]));
  EXPECT_EQ(pool.canonical(u.back()), u.front());
}

TEST_F(Dim, ContradictionsChangeNothing) {
  const DimId three = pool.symbol("three", {0, 3});
  const auto epoch = pool.epoch();
  EXPECT_FALSE(pool.assert_equal(three, c(4)));
  EXPECT_FALSE(pool.assert_equal(pool.mul(c(2), s), pool.add(pool.mul(c(2), t), c(1))));
  EXPECT_FALSE(pool.assert_equal(three, pool.add(s, c(9))));
  EXPECT_FALSE(pool.assert_equal(pool.mul(c(5), pos), c(0)));
  EXPECT_FALSE(pool.assert_range(three, {4, 9}));
  EXPECT_FALSE(pool.assert_range(three, {2, 1}));
  EXPECT_EQ(pool.epoch(), epoch);
  EXPECT_EQ(pool.range(three), (Range{0, 3}));
}

TEST_F(Dim, AssertionsNarrowRanges) {
  const DimId u = pool.fresh({2, 8});
  ASSERT_TRUE(pool.assert_equal(u, s));
  EXPECT_EQ(pool.range(s), (Range{2, 8}));
  ASSERT_TRUE(pool.assert_range(s, {8, Range::kMax}));
  EXPECT_EQ(pool.value(u), 8);
  const DimId v = pool.fresh();
  ASSERT_TRUE(pool.assert_equal(pool.mul(pos, v), pool.mul(pos, t)));  // pos is not 0
  EXPECT_EQ(pool.canonical(v), t);
  const DimId w = pool.fresh();
  ASSERT_TRUE(pool.assert_equal(pool.mul(t, w), t));  // t may be 0: w need not be 1
  EXPECT_EQ(pool.canonical(w), w);
}

TEST_F(Dim, NarrowingDecidesOldCalls) {
  const DimId old = pool.max(s, c(4)), quotient = pool.floor_div(s, c(16));
  ASSERT_TRUE(pool.assert_range(s, {4, 15}));
  EXPECT_EQ(pool.canonical(old), s);
  EXPECT_EQ(pool.value(quotient), 0);
}

TEST_F(Dim, DenominatorsStayPositiveBehindAliases) {
  const DimId d = pool.symbol("d", {1, Range::kMax});
  const DimId quotient = pool.floor_div(s, d);
  const DimId u = pool.fresh(), v = pool.fresh();
  ASSERT_TRUE(pool.assert_equal(pool.add(d, u), v));
  ASSERT_TRUE(pool.assert_equal(d, pool.sub(t, any)));
  EXPECT_TRUE(pool.canonical(quotient).valid());
  const DimPool::Binding binding[] = {{s, 7}, {t, 5}, {any, 3}};
  EXPECT_EQ(pool.evaluate(quotient, binding), 3);
}

TEST_F(Dim, LimitsGiveNone) {
  DimId sum = c(0);
  for (int i = 0; i < 64; ++i) sum = pool.add(sum, pool.symbol("x" + std::to_string(i)));
  EXPECT_TRUE(sum.valid());
  EXPECT_FALSE(pool.add(sum, s).valid());
  DimId nested = s;
  int depth = 0;
  while (nested.valid() && depth < 100) {
    nested = pool.max(pool.floor_div(pool.mul(nested, pool.add(nested, t)), c(7)), t);
    ++depth;
  }
  EXPECT_FALSE(nested.valid());
  DimId power = s;
  for (int i = 0; i < 40 && power.valid(); ++i) power = pool.mul(power, s);
  EXPECT_FALSE(power.valid());
  EXPECT_FALSE(pool.mul(c(kInt64Max), pool.mul(c(2), s)).valid());
}

TEST_F(Dim, ParseReadsTheGrammarAndExporters) {
  const DimId h = pool.symbol("height"), s0 = pool.symbol("s0"), past = pool.symbol("past"),
              seq = pool.symbol("seq");
  EXPECT_EQ(pool.parse("past + seq"), pool.add(past, seq));
  EXPECT_EQ(pool.parse(" 2*s0 - 1 "), pool.sub(pool.mul(c(2), s0), c(1)));
  EXPECT_EQ(pool.parse("s0//2"), pool.floor_div(s0, c(2)));
  EXPECT_EQ(pool.parse("-s0//2"), pool.floor_div(pool.neg(s0), c(2)));
  const DimId conv = pool.add(pool.floor_div(pool.sub(h, c(1)), c(8)), c(1));
  EXPECT_EQ(pool.parse("floor(height/8 - 1/8) + 1"), conv);
  EXPECT_EQ(pool.parse("floor(0.125*height - 0.125) + 1"), conv);
  EXPECT_EQ(pool.parse("floor((height - 1)/(8)) + 1"), conv);
  EXPECT_EQ(pool.parse("ceiling(height/4)"), pool.ceil_div(h, c(4)));
  EXPECT_EQ(pool.parse("Max(1, s0)"), pool.max(c(1), s0));
  EXPECT_EQ(pool.parse("min(s0, seq, past)"), pool.min(s0, pool.min(seq, past)));
  EXPECT_EQ(pool.parse("Mod(s0, 8)"), pool.mod(s0, c(8)));
  EXPECT_EQ(pool.parse("s0 % 8"), pool.mod(s0, c(8)));
  EXPECT_EQ(pool.parse("s0**2"), pool.mul(s0, s0));
  EXPECT_EQ(pool.parse("-2**2"), c(-4));
  EXPECT_EQ(pool.parse("4*s0/2"), pool.mul(c(2), s0));
  EXPECT_EQ(pool.parse("2*(s0 + 1)"), pool.add(pool.mul(c(2), s0), c(2)));
  EXPECT_EQ(pool.parse("-9223372036854775808"), c(kInt64Min));
  EXPECT_EQ(pool.parse("9223372036854775807"), c(kInt64Max));
  const DimId odd = pool.symbol("a-b/c");
  EXPECT_EQ(pool.parse("a-b/c"), DimId{});  // a and b are no symbols
  EXPECT_EQ(pool.parse("'a-b/c'*2"), pool.mul(c(2), odd));
}

TEST_F(Dim, ParseRefusesTheRest) {
  pool.fresh();
  for (const char* text : {"",
                           "  ",
                           "nobody",
                           "s +",
                           "s t",
                           "2s",
                           "(s",
                           "s)",
                           "s/2",
                           "1/2",
                           "s//0",
                           "s/0",
                           "s//t",
                           "floor(s",
                           "floor()",
                           "floor(s, t)",
                           "mod(s)",
                           "max()",
                           "min(,s)",
                           "sqrt(s)",
                           "u1",
                           "s @ t",
                           "9223372036854775808",
                           "1.5",
                           "s**-1",
                           "s**t",
                           "s**99",
                           "*s",
                           "//"})
    EXPECT_FALSE(pool.parse(text).valid()) << text;
  EXPECT_FALSE(pool.parse(std::string(100000, '(')).valid());
  EXPECT_FALSE(pool.parse(std::string(3000, '(')).valid());
  std::string signs(3000, '-');
  EXPECT_EQ(pool.parse(signs + "s"), s);  // an even number of them
}

// dim_params that exporters write over names that stand alone.
TEST_F(Dim, NamesThatAreExpressions) {
  const std::unordered_set<std::string_view> names = {"N", "M", "s0", "past_len"};
  for (const std::string_view name : names) pool.symbol(name);
  const std::pair<const char*, const char*> believed[] = {
      {"past_len + N", "N + past_len"},
      {"past_len+N", "N + past_len"},
      {"2*N", "2*N"},
      {"N*M", "M*N"},
      {"N - 1", "N - 1"},
      {"-N + M", "M - N"},
      {"(N + 1)*2", "2*N + 2"},
      {"(-1)*N + M", "M - N"},
      {"N//2", "floor((N)/(2))"},
      {"floor(N/2 - 1/2) + 1", "floor((N + 1)/(2))"},
      {"floor(0.5*N)", "floor((N)/(2))"},
      {"ceiling(N/4)", "floor((N + 3)/(4))"},
      {"Max(1, s0)", "max(1, s0)"},
      {"s0**2", "s0*s0"},
      {"N - N + M + 1", "M + 1"},
  };
  for (const auto& [text, printed] : believed) EXPECT_EQ(pool.print(pool.expression(text, names)), printed);
}

TEST_F(Dim, NamesThatAreOnlyNames) {
  const std::unordered_set<std::string_view> names = {"N", "M", "max", "2", "N-3"};
  for (const std::string_view name : names) pool.symbol(name);
  pool.symbol("K");  // stands alone nowhere
  pool.fresh();
  for (const char* text : {"",          " ",           "N",         "M",         "K",      "-1",
                           "--1",       "1",           "3",         "03",        " 3",     "N-N",
                           "N*0",       "()",          "(",         "+N",        "(N)",    "N*1",
                           "N + 0",     "-(-N)",       "N ",        " N + 1",    "N + 1 ", "N + ",
                           "N M",       "2N",          "+N + 1",    "N + -1",    "N - -1", "--N + 1",
                           "N*-1",      "2*N",         "N + 2",     "max(N, M)", "K + 1",  "K - K + N + 1",
                           "u1 + 1",    "N/2",         "N/N",       "4/2*N/2",   "N // 0", "N//M",
                           "N%1",       "N**0",        "min(N, 0)", "floor(N)",  "1.*N",   "00*N",
                           "007*N + 1", "'N' + 1",     "\"N\" + 1", "N+1)",      "(N+1",   "N + 1;",
                           "N, M",      "sqrt(N + 1)", "'N-3' + 1", "N\n+ 1",    "min()",  "nan",
                           "1e3*N",     "0x10*N",      "N.M + 1"})
    EXPECT_FALSE(pool.expression(text, names).valid()) << text;
  EXPECT_FALSE(pool.expression(std::string(5000, 'N') + " + 1", names).valid());
  EXPECT_FALSE(pool.expression(std::string(3000, '(') + "N", names).valid());
}

// Whatever a name is, print() cannot be taken for something else, and a file gets the name itself.
TEST_F(Dim, AnyNameReadsBackAsItself) {
  std::vector<DimId> ids;
  for (const char* name :
       {"-1",  "N-N", "()", "+N", "--1",   "N*0",       "1",   " 3",    " ",  "",   "'",      "\\", "'N'",
        "\\'", "N\\", "N",  "M",  "N + 1", "max(N, M)", "2*N", "a.b:c", "u1", "3N", "\xff\n", "max"})
    ids.push_back(pool.symbol(name));
  const std::size_t names = ids.size();
  for (std::size_t i = 0; i < names; ++i) {
    ids.push_back(pool.add(ids[i], c(1)));
    ids.push_back(pool.mul(ids[i], ids[(i + 1) % names]));
    ids.push_back(pool.max(ids[i], pool.floor_div(ids[(i + 5) % names], c(2))));
  }
  ids.push_back(pool.fresh());
  std::map<std::string, DimId> seen;
  for (const DimId id : ids) {
    const std::string text = pool.print(id);
    EXPECT_TRUE(seen.emplace(text, id).second) << text;
    if (pool.linked(id)) {
      EXPECT_EQ(pool.parse(text), id) << text;
    }
  }
  EXPECT_EQ(pool.print(pool.symbol("N-N")), "'N-N'");
  EXPECT_EQ(pool.file_text(pool.symbol("N-N")), "N-N");
  EXPECT_EQ(pool.print(pool.add(pool.symbol("it's"), c(1))), "'it\\'s' + 1");
  EXPECT_EQ(pool.file_text(pool.add(pool.symbol("N"), c(1))), "N + 1");
}

TEST_F(Dim, MadeNamesMeetNoInput) {
  const DimId u1 = pool.fresh(), u2 = pool.fresh();
  EXPECT_EQ(pool.print(u2), "u2");
  const DimId users = pool.symbol("u2");
  EXPECT_EQ(pool.print(users), "u2");
  EXPECT_EQ(pool.print(u2), "u3");
  pool.symbol("u4");
  const DimId u5 = pool.fresh();
  EXPECT_EQ(pool.print(u5), "u5");
  const DimId order[] = {u5, users, u1};
  pool.number_fresh(order, {"u3", "x"});
  EXPECT_EQ(pool.print(u5), "u1");
  EXPECT_EQ(pool.print(users), "u2");
  EXPECT_EQ(pool.print(u1), "u5");
  EXPECT_EQ(pool.print(u2), "u6");
  EXPECT_EQ(pool.print(pool.fresh()), "u7");
}

TEST_F(Dim, EvaluateIsExact) {
  const DimPool::Binding binding[] = {{s, 7}, {t, 3}};
  EXPECT_EQ(pool.evaluate(pool.parse("floor((s*t + 1)/(2)) - max(s, t)"), binding), 4);
  EXPECT_EQ(pool.evaluate(any, binding), std::nullopt);
  const DimPool::Binding huge[] = {{s, kInt64Max}, {t, kInt64Max}};
  EXPECT_EQ(pool.evaluate(pool.mul(s, t), huge), std::nullopt);
  EXPECT_EQ(pool.evaluate(pool.sub(pool.mul(s, t), pool.mul(s, pool.sub(t, c(1)))), huge), kInt64Max);
  const DimPool::Binding zero[] = {{s, 7}, {pos, 0}};
  EXPECT_EQ(pool.evaluate(pool.floor_div(s, pos), zero), std::nullopt);
}

TEST_F(Dim, SubstituteReachesIntoCalls) {
  const DimId e = pool.parse("floor((s + 1)/(2)) + s*t");
  EXPECT_EQ(pool.substitute(e, s, c(5)), pool.parse("5*t + 3"));
  EXPECT_EQ(pool.substitute(e, s, pool.mul(c(2), t)), pool.parse("2*t*t + t"));
  EXPECT_FALSE(pool.substitute(pool.floor_div(s, pos), pos, c(0)).valid());
}

TEST_F(Dim, NamesAndSymbols) {
  const DimId u = pool.fresh();
  EXPECT_EQ(pool.symbol_name(s), "s");
  EXPECT_EQ(pool.symbol_name(u), "u1");
  EXPECT_EQ(pool.symbol_name(pool.add(s, t)), "");
  EXPECT_EQ(pool.symbol("s", {5, 6}), s);
  EXPECT_EQ(pool.range(s), (Range{0, Range::kMax}));
  EXPECT_EQ(pool.symbols_of(pool.parse("max(t, floor((s)/(2)))*s")), (std::vector<DimId>{s, t}));
  EXPECT_TRUE(pool.is_symbol(s));
  EXPECT_FALSE(pool.is_symbol(pool.mul(c(2), s)));
  EXPECT_FALSE(pool.is_symbol(pool.max(s, t)));
}

TEST_F(Dim, AProductOfExtentsHasABoundOfItsOwn) {
  const DimId all = pool.product(std::vector{c(3), s, pos, pos2});
  pool.assert_at_most(all, 3000);
  EXPECT_EQ(pool.range(all), (Range{0, 3000}));
  EXPECT_EQ(pool.range(pool.product(std::vector{s, pos, pos2})), (Range{0, 1000}));
  // pos2 is never 0, so s * pos is no larger than the whole.
  EXPECT_EQ(pool.range(pool.mul(s, pos)), (Range{0, 1000}));
  // s may be 0, and then pos * pos2 may be anything.
  EXPECT_EQ(pool.range(pool.mul(pos, pos2)).high, Range::kMax);
  EXPECT_EQ(pool.range(pool.mul(s, t)).high, Range::kMax);
  EXPECT_EQ(pool.range(pool.mul(pool.mul(s, s), pool.mul(pos, pos2))).high, Range::kMax);
  // s * pos * (3 * pos2 - 2), and 3 * pos2 is 3 or more.
  EXPECT_EQ(pool.range(pool.sub(all, pool.mul(c(2), pool.mul(s, pos)))), (Range{0, 3000}));
}

TEST_F(Dim, ABoundOfASumOfExtentsHoldsForEachTerm) {
  pool.assert_at_most(pool.mul(pool.add(s, t), pos), 100);
  EXPECT_EQ(pool.range(pool.mul(s, pos)).high, 100);
  EXPECT_EQ(pool.range(pool.mul(t, pos)).high, 100);
  pool.assert_at_most(pool.mul(pool.sub(s, any), pos2), 100);  // terms of both signs: nothing follows for one
  EXPECT_EQ(pool.range(pool.mul(s, pos2)).high, Range::kMax);
}

TEST_F(Dim, ABoundFollowsItsSymbols) {
  pool.assert_at_most(pool.mul(s, t), 100);
  EXPECT_TRUE(pool.assert_equal(t, pos));
  EXPECT_EQ(pool.range(pool.mul(s, pos)).high, 100);
}

// What was learned in between is forgotten: an alias, a range, a bound of a product, a contradiction.
TEST_F(Dim, KnowledgeIsPutBack) {
  const DimId u = pool.fresh(), v = pool.fresh();
  EXPECT_TRUE(pool.assert_equal(u, pool.add(s, c(1))));
  EXPECT_TRUE(pool.assert_range(t, {2, 9}));
  pool.assert_at_most(pool.mul(s, pos), 100);
  const auto known = pool.knowledge();
  const std::uint32_t clock = pool.clock(), when = pool.learned_at(u);
  pool.forget();
  EXPECT_TRUE(pool.assert_equal(v, s));
  EXPECT_TRUE(pool.assert_equal(u, t));
  EXPECT_TRUE(pool.assert_range(t, {5, 5}));
  pool.assert_at_most(pool.mul(s, t), 7);
  EXPECT_FALSE(pool.contradicted());
  EXPECT_FALSE(pool.assert_equal(t, c(4)));
  EXPECT_TRUE(pool.contradicted());
  pool.restore(*known);
  EXPECT_FALSE(pool.contradicted());
  EXPECT_EQ(pool.print(u), "s + 1");
  EXPECT_EQ(pool.canonical(v), v);
  EXPECT_EQ(pool.range(t), (Range{2, 9}));
  EXPECT_EQ(pool.range(pool.mul(s, pos)).high, 100);
  EXPECT_EQ(pool.range(pool.mul(s, t)).high, Range::kMax);
  EXPECT_EQ(pool.clock(), clock);
  EXPECT_EQ(pool.learned_at(u), when);
  EXPECT_EQ(pool.learned_at(v), 0u);
  // The way back to nothing is restored, too.
  pool.forget();
  EXPECT_EQ(pool.canonical(u), u);
  EXPECT_EQ(pool.range(t).high, Range::kMax);
}

}  // namespace
}  // namespace graphopt
