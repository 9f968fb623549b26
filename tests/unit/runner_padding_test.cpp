// Layouts under the extents of a request, elements of all types, sizes of values.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "runner/extents.h"
#include "runner/padding.h"
#include "unit/runner_values.h"

namespace graphopt::runner {
namespace {

using namespace test;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// --- layouts -----------------------------------------------------------------------------------------------

std::vector<Piece> pieces_of(std::string_view text, const Extents& extents, const Extents& padded) {
  Formulas formulas;
  const AxisLayout axis(formulas, layout(text));
  const auto out = axis.pieces(formulas, formulas.bind(extents), formulas.bind(padded));
  EXPECT_TRUE(out.has_value()) << text;
  return out.value_or(std::vector<Piece>{{-1, -1, -1}});
}

TEST(RunnerPadding, PiecesOfLayouts) {
  const Extents own{{"b", 2}, {"p", 2}, {"s", 1}}, larger{{"b", 3}, {"p", 4}, {"s", 3}};
  EXPECT_EQ(pieces_of("s", own, larger), (std::vector<Piece>{{0, 0, 1}}));
  EXPECT_EQ(pieces_of("2*s + 1", own, larger), (std::vector<Piece>{{0, 0, 3}}));
  EXPECT_EQ(pieces_of("p ++ s", own, larger), (std::vector<Piece>{{0, 0, 2}, {2, 4, 1}}));
  EXPECT_EQ(pieces_of("b x p", own, larger), (std::vector<Piece>{{0, 0, 2}, {2, 4, 2}}));
  // A part that is not padded joins the rows; one that is whole behind another one, too.
  EXPECT_EQ(pieces_of("b x 5", own, larger), (std::vector<Piece>{{0, 0, 10}}));
  EXPECT_EQ(pieces_of("5 ++ s", own, larger), (std::vector<Piece>{{0, 0, 6}}));
  // b rows of p ++ s: places 0 1 . . 2 . . in rows of seven.
  EXPECT_EQ(pieces_of("b x (p ++ s)", own, larger),
            (std::vector<Piece>{{0, 0, 2}, {2, 4, 1}, {3, 7, 2}, {5, 11, 1}}));
  // p entries and then b rows of s: 4 + 3 * 3 places.
  EXPECT_EQ(pieces_of("p ++ (b x s)", own, larger), (std::vector<Piece>{{0, 0, 2}, {2, 4, 1}, {3, 7, 1}}));
  EXPECT_EQ(pieces_of("b x p x s", own, larger),
            (std::vector<Piece>{{0, 0, 1}, {1, 3, 1}, {2, 12, 1}, {3, 15, 1}}));
  // Nothing is padded: one run.
  EXPECT_EQ(pieces_of("b x (p ++ s)", own, own), (std::vector<Piece>{{0, 0, 6}}));
}

TEST(RunnerPadding, PiecesOfNoElements) {
  const Extents own{{"b", 0}, {"p", 0}, {"s", 2}}, larger{{"b", 3}, {"p", 4}, {"s", 3}};
  EXPECT_EQ(pieces_of("b", own, larger), std::vector<Piece>{});
  EXPECT_EQ(pieces_of("b x s", own, larger), std::vector<Piece>{});
  EXPECT_EQ(pieces_of("s x b", own, larger), std::vector<Piece>{});
  EXPECT_EQ(pieces_of("p ++ s", own, larger), (std::vector<Piece>{{0, 4, 2}}));
  EXPECT_EQ(pieces_of("s ++ p", own, larger), (std::vector<Piece>{{0, 0, 2}}));
}

TEST(RunnerPadding, SizesThatAreNone) {
  Formulas formulas;
  const AxisLayout product(formulas, layout("a x b")), sum(formulas, layout("a ++ b")),
      less(formulas, layout("4 - a"));
  const auto size = [&](const AxisLayout& l, std::int64_t a, std::int64_t b) {
    return l.size(formulas, formulas.bind({{"a", a}, {"b", b}}));
  };
  EXPECT_EQ(size(product, kMost, 1), kMost);
  EXPECT_EQ(size(product, kMost, 0), 0);
  EXPECT_EQ(size(product, kMost, 2), std::nullopt);
  EXPECT_EQ(size(product, std::int64_t{1} << 32, std::int64_t{1} << 31), std::nullopt);
  EXPECT_EQ(size(sum, kMost, 0), kMost);
  EXPECT_EQ(size(sum, kMost, 1), std::nullopt);
  EXPECT_EQ(size(less, 4, 0), 0);
  EXPECT_EQ(size(less, 5, 0), std::nullopt);
  EXPECT_EQ(less.pieces(formulas, formulas.bind({{"a", 1}}), formulas.bind({{"a", 2}})), std::nullopt);
  EXPECT_EQ(size(product, -1, -1), std::nullopt);
  EXPECT_FALSE(AxisLayout(formulas, layout("?")).is_known());
  EXPECT_EQ(AxisLayout(formulas, layout("c")).size(formulas, {}), std::nullopt);
}

TEST(RunnerPadding, SolvesForTheLeastExtent) {
  const auto solved = [](std::string_view text, const Extents& known, std::int64_t wanted, std::int64_t low,
                         std::int64_t high) {
    Formulas formulas;
    const AxisLayout axis(formulas, layout(text));
    return axis.solve(formulas, formulas.bind(known), formulas.symbol("s"), wanted, low, high);
  };
  EXPECT_EQ(solved("p ++ s", {{"p", 3}}, 5, 0, 100), 2);
  EXPECT_EQ(solved("p ++ s", {{"p", 3}}, 3, 0, 100), 0);
  EXPECT_EQ(solved("p ++ s", {{"p", 3}}, 2, 0, 100), std::nullopt);
  EXPECT_EQ(solved("p ++ s", {{"p", 3}}, 104, 0, 100), std::nullopt);
  EXPECT_EQ(solved("p ++ s", {{"p", 3}}, kMost, 0, kMost), kMost - 3);
  EXPECT_EQ(solved("p x s", {{"p", 3}}, 12, 1, 100), 4);
  EXPECT_EQ(solved("p x s", {{"p", 3}}, 13, 1, 100), std::nullopt);
  EXPECT_EQ(solved("p x s", {{"p", 0}}, 0, 1, 100), 1);
  EXPECT_EQ(solved("floor((s)/(2))", {}, 7, 1, 100), 14);
  EXPECT_EQ(solved("floor((s + 1)/(2))", {}, 7, 1, 100), 13);
  EXPECT_EQ(solved("mod(s, 4)", {}, 3, 4, 100), 7);
  EXPECT_EQ(solved("10 - s", {}, 3, 0, 100), 7);
  EXPECT_EQ(solved("s - 3", {}, 0, 0, 100), 3);
  EXPECT_EQ(solved("s", {}, 3, 5, 4), std::nullopt);
}

// --- element types -----------------------------------------------------------------------------------------

std::optional<unsigned> code(DType type, double number) {
  const auto out = element_of(type, number);
  if (!out) return std::nullopt;
  unsigned value = 0;
  for (std::size_t i = out->size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>((*out)[i]);
  return value;
}

// From the tables of the formats: sign, exponent, fraction.
TEST(RunnerPadding, ElementsOfSmallFloats) {
  EXPECT_EQ(code(DType::Float16, 1), 0x3C00U);
  EXPECT_EQ(code(DType::Float16, -kInfinity), 0xFC00U);
  EXPECT_EQ(code(DType::BFloat16, 1), 0x3F80U);
  EXPECT_EQ(code(DType::BFloat16, -kInfinity), 0xFF80U);
  EXPECT_EQ(code(DType::Float8E4M3FN, 0), 0x00U);
  EXPECT_EQ(code(DType::Float8E4M3FN, 1), 0x38U);
  EXPECT_EQ(code(DType::Float8E4M3FN, -1), 0xB8U);
  EXPECT_EQ(code(DType::Float8E4M3FN, 448), 0x7EU);
  EXPECT_EQ(code(DType::Float8E4M3FN, 449), std::nullopt);
  EXPECT_EQ(code(DType::Float8E4M3FN, std::ldexp(1, -9)), 0x01U);
  EXPECT_EQ(code(DType::Float8E4M3FN, -kInfinity), std::nullopt);
  EXPECT_EQ(code(DType::Float8E4M3FN, 17), 0x58U);  // between 16 and 18: the even one
  EXPECT_EQ(code(DType::Float8E4M3FN, 19), 0x5AU);  // between 18 and 20
  EXPECT_EQ(code(DType::Float8E4M3FN, -0.0), 0x80U);
  EXPECT_EQ(code(DType::Float8E4M3FNUZ, 1), 0x40U);
  EXPECT_EQ(code(DType::Float8E4M3FNUZ, 240), 0x7FU);
  EXPECT_EQ(code(DType::Float8E4M3FNUZ, -0.0), 0x00U);
  EXPECT_EQ(code(DType::Float8E4M3FNUZ, kInfinity), std::nullopt);
  EXPECT_EQ(code(DType::Float8E5M2, 1), 0x3CU);
  EXPECT_EQ(code(DType::Float8E5M2, 57344), 0x7BU);
  EXPECT_EQ(code(DType::Float8E5M2, kInfinity), 0x7CU);
  EXPECT_EQ(code(DType::Float8E5M2, -kInfinity), 0xFCU);
  EXPECT_EQ(code(DType::Float8E5M2, 1e9), std::nullopt);
  EXPECT_EQ(code(DType::Float8E5M2FNUZ, 1), 0x40U);
  EXPECT_EQ(code(DType::Float8E5M2FNUZ, -57344), 0xFFU);
  EXPECT_EQ(code(DType::Float8E8M0, 1), 0x7FU);
  EXPECT_EQ(code(DType::Float8E8M0, 0), std::nullopt);
  EXPECT_EQ(code(DType::Float8E8M0, -1), std::nullopt);
  EXPECT_EQ(code(DType::Float6E2M3, 7.5), 0x1FU);
  EXPECT_EQ(code(DType::Float6E3M2, 28), 0x1FU);
  EXPECT_EQ(code(DType::Float6E3M2, -28), 0x3FU);
  EXPECT_EQ(code(DType::Float4E2M1, 6), 0x7U);
  EXPECT_EQ(code(DType::Float4E2M1, -0.5), 0x9U);
  EXPECT_EQ(code(DType::Float4E2M1, 7), std::nullopt);
}

TEST(RunnerPadding, ElementsOfOtherTypes) {
  EXPECT_EQ(code(DType::Bool, 1), 1U);
  EXPECT_EQ(code(DType::Bool, 2), std::nullopt);
  EXPECT_EQ(code(DType::Int4, -8), 0x8U);
  EXPECT_EQ(code(DType::Int4, 7), 0x7U);
  EXPECT_EQ(code(DType::Int4, 8), std::nullopt);
  EXPECT_EQ(code(DType::UInt4, 15), 0xFU);
  EXPECT_EQ(code(DType::UInt4, -1), std::nullopt);
  EXPECT_EQ(code(DType::Int2, -2), 0x2U);
  EXPECT_EQ(code(DType::UInt2, 4), std::nullopt);
  EXPECT_EQ(code(DType::UInt4, 0.5), std::nullopt);
  EXPECT_EQ(code(DType::UInt4, kInfinity), std::nullopt);
  EXPECT_EQ(code(DType::Int64, -1), ~0U);  // all bytes are 255
  EXPECT_EQ(element_of(DType::Int64, -1), std::string(8, '\xff'));
  EXPECT_EQ(element_of(DType::Int64, -kInfinity), std::nullopt);
  EXPECT_EQ(element_of(DType::String, 0), "");
  EXPECT_EQ(element_of(DType::Complex64, 0), std::string(8, '\0'));
  EXPECT_EQ(element_of(DType::Undefined, 0), std::nullopt);
}

TEST(RunnerPadding, EveryWidthIsPaddedAndCut) {
  const std::vector<PaddedAxis> axes{{2, 3, {{0, 0, 2}}}, {3, 5, {{0, 1, 2}, {2, 4, 1}}}};
  for (const DType type : {DType::UInt2, DType::Int4, DType::Float6E3M2, DType::Bool, DType::Float8E5M2,
                           DType::BFloat16, DType::Float, DType::Double, DType::Complex128}) {
    // Elements are 0 to 5 in their lowest bits, of 2 bits 0 to 3.
    const auto bits = static_cast<std::size_t>(bits_of(type));
    HostValue v = empty(type, {2, 3});
    const auto put = [&](std::string& raw, std::size_t i, unsigned value) {
      for (std::size_t b = 0; b < 8 && b < bits; ++b)
        if ((value >> b & 1U) != 0)
          raw[(i * bits + b) / 8] = static_cast<char>(raw[(i * bits + b) / 8] | 1 << ((i * bits + b) % 8));
    };
    const unsigned mask = bits == 2 ? 3 : 7;
    v.raw.assign(*raw_size(type, 6), '\0');
    for (std::size_t i = 0; i < 6; ++i) put(v.raw, i, static_cast<unsigned>(i) & mask);
    // The same by places: . 0 1 . 2 / . 3 4 . 5 / . . . . .
    std::string wanted(*raw_size(type, 15), '\0');
    for (std::size_t i = 0; i < 15; ++i) put(wanted, i, 1);
    const std::map<std::size_t, unsigned> places{{1, 0}, {2, 1}, {4, 2}, {6, 3}, {7, 4}, {9, 5}};
    wanted.assign(wanted.size(), '\0');
    for (std::size_t i = 0; i < 15; ++i) put(wanted, i, places.contains(i) ? places.at(i) & mask : 1);
    std::string element(std::max<std::size_t>(1, bits / 8), '\0');
    element[0] = 1;
    const auto padded = pad_tensor(v, axes, element);
    ASSERT_TRUE(padded.ok()) << dtype_name(type) << ' ' << problem(padded);
    EXPECT_EQ(padded->dims, (std::vector<std::int64_t>{3, 5}));
    EXPECT_TRUE(padded->raw == wanted) << dtype_name(type);
    const auto cut = cut_tensor(*padded, axes);
    ASSERT_TRUE(cut.ok()) << dtype_name(type);
    EXPECT_TRUE(cut->raw == v.raw) << dtype_name(type);
    EXPECT_EQ(cut->dims, v.dims);
  }
}

TEST(RunnerPadding, StringsArePaddedAndCut) {
  HostValue v = empty(DType::String, {1, 2});
  v.strings = {"a", std::string(100, 'b')};
  const std::vector<PaddedAxis> axes{{1, 2, {{0, 0, 1}}}, {2, 3, {{0, 0, 1}, {1, 2, 1}}}};
  const auto padded = pad_tensor(v, axes, "");
  ASSERT_TRUE(padded.ok()) << problem(padded);
  EXPECT_EQ(padded->strings, (std::vector<std::string>{"a", "", v.strings[1], "", "", ""}));
  const auto cut = cut_tensor(*padded, axes);
  ASSERT_TRUE(cut.ok()) << problem(cut);
  EXPECT_EQ(cut->strings, v.strings);
}

// --- sizes -------------------------------------------------------------------------------------------------

TEST(RunnerPadding, SizesOfValues) {
  const SizeFormulas sizes(std::vector<deploy::Size>{{64, ""},
                                                     {std::nullopt, "4*batch*seq"},
                                                     {std::nullopt, "floor((batch + 1)/(2))"},
                                                     {std::nullopt, "8*'-1'"},
                                                     {std::nullopt, ""},
                                                     {std::nullopt, "4*batch*seq*seq*seq"},
                                                     {std::nullopt, "batch - seq"}});
  using Bytes = std::vector<std::optional<std::uint64_t>>;
  EXPECT_EQ(sizes.bytes({{"batch", 3}, {"seq", 5}}),
            (Bytes{64, 60, 2, std::nullopt, std::nullopt, 1500, std::nullopt}));
  EXPECT_EQ(sizes.bytes({{"batch", 0}, {"seq", kMost}, {"-1", 2}}),
            (Bytes{64, 0, 0, 16, std::nullopt, 0, std::nullopt}));
  EXPECT_EQ(sizes.bytes({{"batch", 1}, {"seq", std::int64_t{1} << 21}})[5], std::nullopt);  // 2^65
  EXPECT_EQ(sizes.bytes({{"batch", 1}, {"seq", 1 << 20}})[5], std::uint64_t{1} << 62);
}

}  // namespace
}  // namespace graphopt::runner
