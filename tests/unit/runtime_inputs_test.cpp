// Are the inputs legal, and do they show what they are there to show? Bounds are worked out from the models
// by hand.
#include "runtime/inputs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "unit/runtime_models.h"

namespace graphopt {
namespace {

using test::Planned;

template <class T> std::vector<T> elements(const HostValue& v) {
  std::vector<T> out(v.raw.size() / sizeof(T));
  if (!out.empty()) std::memcpy(out.data(), v.raw.data(), v.raw.size());
  return out;
}

std::vector<NamedValue> draw(const Planned& p, InputStyle style = {}, std::size_t binding = 0) {
  EXPECT_EQ(p.problem, "");
  const auto all = candidate_bindings(p.plan);
  EXPECT_LT(binding, all.size());
  auto made = make_inputs(p.plan, all.at(binding), style);
  EXPECT_TRUE(made.has_value());
  return made.value_or(std::vector<NamedValue>{});
}

const HostValue& named(const std::vector<NamedValue>& values, const std::string& name) {
  static const HostValue none;
  for (const NamedValue& v : values)
    if (v.name == name) return v.value;
  ADD_FAILURE() << "no input " << name;
  return none;
}

// The extremes of an int64 input over several seeds, special values included.
std::pair<std::int64_t, std::int64_t> extremes(const Planned& p, const std::string& name,
                                               bool special = false) {
  std::int64_t low = std::numeric_limits<std::int64_t>::max(),
               high = std::numeric_limits<std::int64_t>::min();
  for (std::uint64_t seed = 0; seed < 40; ++seed)
    for (const std::int64_t v :
         elements<std::int64_t>(named(draw(p, {.seed = seed, .turn = 0, .special = special}), name))) {
      low = std::min(low, v);
      high = std::max(high, v);
    }
  return {low, high};
}

TEST(Inputs, DimsOfOneSymbolAgreeAndExpressionsFollow) {
  Planned p(
      "g (float[batch, seq] a, float[seq, 3] b, float[batch, past_len, 4] c) => (float[batch, seq] y) { y = "
      "Identity(a) }");
  for (std::size_t i = 0; i < candidate_bindings(p.plan).size(); ++i) {
    const auto values = draw(p, {}, i);
    const auto &a = named(values, "a").dims, &b = named(values, "b").dims, &c = named(values, "c").dims;
    ASSERT_EQ(a.size(), 2u);
    EXPECT_EQ(a[1], b[0]);
    EXPECT_EQ(b[1], 3);
    EXPECT_EQ(a[0], c[0]);
    EXPECT_EQ(named(values, "a").raw.size(), static_cast<std::size_t>(a[0] * a[1]) * 4);
  }
}

TEST(Inputs, TheSecondBindingHasNoTwoSizesAlikeAndTheThirdIsOnes) {
  Planned p("g (float[n1] a, float[n2] b, float[n3] c) => (float[n1] y) { y = Identity(a) }");
  const auto all = candidate_bindings(p.plan);
  ASSERT_GE(all.size(), 3u);
  std::set<std::int64_t> sizes;
  for (const DimBinding& d : all[1]) sizes.insert(d.value);
  EXPECT_EQ(sizes.size(), 3u);
  EXPECT_EQ(to_string(all[2]), "n1=1 n2=1 n3=1");
}

TEST(Inputs, DecoderMaskCoversPastAndPresent) {
  Planned p(
      R"(g (int64[batch, seq] input_ids, int64[batch, total] attention_mask,
           float[batch, 2, past_len, 4] past)
               => (float[batch, 2, past_len, 4] y) { y = Identity(past) })");
  const auto values = draw(p);
  const std::int64_t seq = named(values, "input_ids").dims.at(1), past = named(values, "past").dims.at(2);
  EXPECT_EQ(named(values, "attention_mask").dims.at(1), past + seq);
}

TEST(Inputs, UnknownDimsAndRanksGetSizes) {
  Planned p("g (float scalar, float[?, 3] some, float[] any) => (float y) { y = Identity(scalar) }");
  const auto values = draw(p);
  EXPECT_TRUE(named(values, "scalar").dims.empty());
  EXPECT_EQ(named(values, "scalar").raw.size(), 4u);
  std::set<std::size_t> ranks;
  for (std::size_t i = 0; i < candidate_bindings(p.plan).size(); ++i)
    ranks.insert(named(draw(p, {}, i), "any").dims.size());
  EXPECT_GE(ranks.size(), 4u);  // an unknown rank is tried with several
  ASSERT_EQ(named(values, "some").dims.size(), 2u);
  EXPECT_EQ(named(values, "some").dims[1], 3);
}

TEST(Inputs, IndicesStayInTheTable) {
  Planned p(
      "g (int64[n] i) => (float y) <float[5, 2] t = {0,1,2,3,4,5,6,7,8,9}> { y = Gather<axis = 0>(t, i) }");
  const auto [low, high] = extremes(p, "i");
  EXPECT_EQ(low, 0);
  EXPECT_EQ(high, 4);
  // Special values count from the end, too.
  const auto [special_low, special_high] = extremes(p, "i", true);
  EXPECT_EQ(special_low, -5);
  EXPECT_EQ(special_high, 4);
}

TEST(Inputs, ShiftsAndScalesOnTheWayNarrowTheRange) {
  // 0 <= 2 * i + 3 < 10: i in 0 .. 3. And i - 1 in a table of 10: i in 1 .. 10. Both: 1 .. 3.
  Planned p(
      R"(g (int64[n] i) => (float y, float z)
      <float[10] t = {0,1,2,3,4,5,6,7,8,9}, int64 two = {2}, int64 three = {3}, int64 one = {1}> {
    d = Mul(two, i)
    e = Add(d, three)
    y = Gather(t, e)
    f = Sub(i, one)
    z = Gather(t, f) })");
  const auto [low, high] = extremes(p, "i", true);
  EXPECT_EQ(low, 1);
  EXPECT_EQ(high, 3);
}

TEST(Inputs, SumsOfUnknownsShareTheRange) {
  Planned p(
      "g (int64[n] i, int64[n] j) => (float y) <float[10] t = {0,1,2,3,4,5,6,7,8,9}> { s = Add(i, j)\n y = "
      "Gather(t, s) }");
  EXPECT_LE(extremes(p, "i").second + extremes(p, "j").second, 9);
}

TEST(Inputs, IndicesAreFollowedIntoLoopsBranchesAndFunctions) {
  Planned loop(
      R"(g (int64[n] i, int64 trips) => (float y) <float[3] t = {0,1,2}, bool go = {1}, float[1] zero = {0}> {
    out, y = Loop (trips, go, i)
      <body = b (int64 k, bool c, int64[n] state) => (bool c2, int64[n] state2, float[n] row) {
      c2 = Identity(c)
      state2 = Identity(state)
      row = Gather(t, state) }> })");
  EXPECT_EQ(extremes(loop, "i"), std::make_pair(std::int64_t{0}, std::int64_t{2}));
  const auto [fewest, most] = extremes(loop, "trips");
  EXPECT_GE(fewest, 0);
  EXPECT_LE(most, 5);

  Planned branch(R"(g (int64[n] i, bool c) => (float y) <float[3] t = {0,1,2}> {
    y = If (c) <then_branch = a () => (float[n] r) { r = Gather(t, i) },
                else_branch = b () => (float[n] s) { j = Identity(i)
 s = Gather(t, j) }> })");
  EXPECT_EQ(extremes(branch, "i"), std::make_pair(std::int64_t{0}, std::int64_t{2}));

  Planned function(R"(g (int64[n] i) => (float y) <float[3] t = {0,1,2}> { j = local.keep(i)
 y = Gather(t, j) }
    <domain: "local", opset_import: ["": 20]> keep (x) => (y) { y = Identity(x) })");
  EXPECT_EQ(extremes(function, "i"), std::make_pair(std::int64_t{0}, std::int64_t{2}));
}

TEST(Inputs, DivisorsAreNeverZero) {
  Planned p("g (int64[n] a, int64[n] b) => (int64[n] y) { y = Div(a, b) }");
  EXPECT_GE(extremes(p, "b", true).first, 1);
  EXPECT_LT(extremes(p, "a", true).first, 0);  // plain integers have negative values among the special ones
}

TEST(Inputs, LengthsFitTheSequence) {
  Planned p(
      "g (float[4, 2, 3] x, int64[2] n) => (float y) { y = ReverseSequence<time_axis = 0, batch_axis = 1>(x, "
      "n) }");
  const auto [low, high] = extremes(p, "n");
  EXPECT_GE(low, 1);
  EXPECT_EQ(high, 4);
}

TEST(Inputs, ShapesFitTheirData) {
  Planned p(
      "g (float[2, 3] x, int64[2] same, int64[1] flat) => (float y, float z) { y = Reshape(x, same)\n z = "
      "Reshape(x, flat) }");
  const auto values = draw(p);
  EXPECT_EQ(elements<std::int64_t>(named(values, "same")), (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(elements<std::int64_t>(named(values, "flat")), (std::vector<std::int64_t>{6}));
}

TEST(Inputs, PartsAddUpAndAxesDiffer) {
  Planned p(R"(g (float[7, 2] x, int64[3] parts, int64[2] axes) => (float a, float b, float c, float y) {
    a, b, c = Split<axis = 0>(x, parts)
    y = Unsqueeze(x, axes) })");
  const auto values = draw(p);
  EXPECT_EQ(elements<std::int64_t>(named(values, "parts")), (std::vector<std::int64_t>{2, 2, 3}));
  EXPECT_EQ(elements<std::int64_t>(named(values, "axes")), (std::vector<std::int64_t>{0, 1}));
}

TEST(Inputs, MasksLeaveSomethingInEveryRow) {
  Planned p("g (int64[batch, seq] attention_mask) => (int64[batch, seq] y) { y = Identity(attention_mask) }");
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto values = draw(p, {.seed = seed});
    const HostValue& mask = named(values, "attention_mask");
    const auto v = elements<std::int64_t>(mask);
    const auto row = static_cast<std::size_t>(mask.dims.at(1));
    for (std::size_t at = 0; at < v.size(); at += row) {
      EXPECT_EQ(v[at], 1);
      EXPECT_TRUE(std::is_sorted(v.begin() + static_cast<std::ptrdiff_t>(at),
                                 v.begin() + static_cast<std::ptrdiff_t>(at + row), std::greater<>()));
    }
    EXPECT_EQ(std::count(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(row), 1),
              static_cast<std::ptrdiff_t>(row));
  }
}

TEST(Inputs, ConditionsGoBothWays) {
  Planned p(R"(g (bool c, float x) => (float y) {
    d = Not(c)
    y = If (d)
      <then_branch = a () => (float r) { r = Neg(x) }, else_branch = b () => (float s) { s = Abs(x) }> })");
  EXPECT_EQ(named(draw(p, {.seed = 0, .turn = 0}), "c").raw, std::string(1, '\1'));
  EXPECT_EQ(named(draw(p, {.seed = 0, .turn = 1}), "c").raw, std::string(1, '\0'));
}

TEST(Inputs, SameKeySameBytesOtherSeedOtherBytes) {
  Planned p("g (float[8] x, string[8] s, float16[8] h, uint8[8] b) => (float[8] y) { y = Identity(x) }");
  const auto one = draw(p, {.seed = 3}), same = draw(p, {.seed = 3}), other = draw(p, {.seed = 4});
  for (const char* name : {"x", "h", "b"}) {
    EXPECT_EQ(named(one, name).raw, named(same, name).raw);
    EXPECT_NE(named(one, name).raw, named(other, name).raw);
  }
  EXPECT_EQ(named(one, "s").strings, named(same, "s").strings);
  EXPECT_EQ(named(one, "s").strings.size(), 8u);
}

TEST(Inputs, SpecialValuesAreThereAndStayAwayFromSizes) {
  const auto look = [](const Planned& p) {
    bool negative_zero = false, nan = false, infinite = false;
    for (std::uint64_t seed = 0; seed < 20; ++seed)
      for (const float v : elements<float>(named(draw(p, {.seed = seed, .turn = 0, .special = true}), "x"))) {
        negative_zero |= v == 0 && std::signbit(v);
        nan |= std::isnan(v);
        infinite |= std::isinf(v);
      }
    return std::make_tuple(negative_zero, nan, infinite);
  };
  EXPECT_EQ(look(Planned("g (float[64] x) => (float[64] y) { y = Relu(x) }")),
            std::make_tuple(true, true, true));
  // A float that becomes an integer may be a size or an index.
  EXPECT_EQ(look(Planned("g (float[64] x) => (int64[64] y) { y = Cast<to = 7>(x) }")),
            std::make_tuple(true, false, false));
}

TEST(Inputs, DefaultsAreFedOnlyWhenAskedFor) {
  Planned p("g (float[2] x, float[2] w) => (float[2] y) <float[2] w = {1, -2}> { y = Mul(x, w) }");
  ASSERT_EQ(p.problem, "");
  EXPECT_EQ(draw(p).size(), 1u);
  const auto values = draw(p, {.seed = 0, .turn = 0, .special = false, .feed_defaults = true});
  EXPECT_EQ(elements<float>(named(values, "w")),
            (std::vector<float>{1.375f, -2.625f}));  // scaled and shifted, same signs
}

TEST(Inputs, TooLargeIsRefusedNotAllocated) {
  Planned p("g (float[1000000, 1000000, 1000000, 1000000] x) => (float y) { y = Identity(x) }");
  ASSERT_EQ(p.problem, "");
  EXPECT_FALSE(make_inputs(p.plan, candidate_bindings(p.plan).at(0), {}).has_value());
  Planned q("g (float[1024, 1024] x) => (float y) { y = Identity(x) }");
  EXPECT_FALSE(make_inputs(q.plan, candidate_bindings(q.plan).at(0), {}, {}, 1 << 20).has_value());
  EXPECT_TRUE(make_inputs(q.plan, candidate_bindings(q.plan).at(0), {}, {}, 1 << 22).has_value());
}

}  // namespace
}  // namespace graphopt
