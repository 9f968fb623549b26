// Layouts and extents as texts: what is read is written again, and what is none is refused.
#include "deploy/layout_tree.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace graphopt::deploy {
namespace {

using Kind = LayoutTree::Kind;

LayoutTree extent(std::string text) { return {Kind::Extent, std::move(text), {}}; }
LayoutTree product(std::vector<LayoutTree> parts) { return {Kind::Product, {}, std::move(parts)}; }
LayoutTree segments(std::vector<LayoutTree> parts) { return {Kind::Segments, {}, std::move(parts)}; }

void expect_layout(const std::string& text, const LayoutTree& wanted) {
  const auto read = parse_layout(text);
  ASSERT_TRUE(read) << text;
  EXPECT_EQ(*read, wanted) << text;
  EXPECT_EQ(wanted.text(), text);
}

TEST(Layout, ReadsWhatItWrites) {
  expect_layout("seq", extent("seq"));
  expect_layout("?", extent("?"));
  expect_layout("0", extent("0"));
  expect_layout("batch x seq", product({extent("batch"), extent("seq")}));
  expect_layout("past ++ seq", segments({extent("past"), extent("seq")}));
  expect_layout("a + 1 x floor((h - 3)/(2)) + 1 x 4",
                product({extent("a + 1"), extent("floor((h - 3)/(2)) + 1"), extent("4")}));
  expect_layout("batch x (past ++ seq)",
                product({extent("batch"), segments({extent("past"), extent("seq")})}));
  expect_layout("(a x b) ++ (c x (d ++ ?))",
                segments({product({extent("a"), extent("b")}),
                          product({extent("c"), segments({extent("d"), extent("?")})})}));
  // Symbols that look like the signs of layouts.
  expect_layout("x x x", product({extent("x"), extent("x")}));
  expect_layout("'a x b' x 'c ++ d'", product({extent("'a x b'"), extent("'c ++ d'")}));
  expect_layout("(a + b)*2 ++ c", segments({extent("(a + b)*2"), extent("c")}));
  expect_layout("max(a, b) x min(1, c)", product({extent("max(a, b)"), extent("min(1, c)")}));
}

TEST(Layout, RefusesWhatIsNone) {
  for (const char* text :
       {"",       " ",   "x x",       "a x",      "a ++", "++ a", "a b",    "a x b ++ c",   "(a)x",
        "(a",     "a)",  "((a x b)",  "(a x b))", "'a",   "a,b",  "max(a)", "mod(a, b, c)", "floor(a, b)",
        "sin(a)", "a +", "a x ? + 1", "(?)",      "1a b"})
    EXPECT_FALSE(parse_layout(text)) << '"' << text << '"';
}

std::string nested(std::size_t depth) {
  std::string text = "a";
  for (std::size_t i = 0; i < depth; ++i) text = '(' + text + (i % 2 == 0 ? " x b)" : " ++ b)");
  return text + " x c";
}

TEST(Layout, NestsUpToItsLimit) {
  EXPECT_TRUE(parse_layout(nested(kMaxLayoutDepth)));
  EXPECT_FALSE(parse_layout(nested(kMaxLayoutDepth + 1)));
  EXPECT_FALSE(parse_layout(std::string(1 << 20, '(')));
}

TEST(Extent, NamesItsSymbols) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(symbols_of_extent("2*seq - floor((past)/(4))"), (Names{"seq", "past"}));
  EXPECT_EQ(symbols_of_extent("'it\\'s' + x.1:y"), (Names{"it's", "x.1:y"}));
  EXPECT_EQ(symbols_of_extent("-(-3)"), Names{});
  EXPECT_EQ(symbols_of_extent("?"), Names{});
  EXPECT_EQ(symbols_of_extent("a x b"), std::nullopt);
  EXPECT_EQ(symbols_of_extent("a ++ b"), std::nullopt);
  EXPECT_EQ(symbols_of_extent("a "), (Names{"a"}));
  EXPECT_EQ(symbols_of_comparison("batch*seq <= 4096"), (Names{"batch", "seq"}));
  EXPECT_EQ(symbols_of_comparison("a == b"), (Names{"a", "b"}));
  for (const char* text : {"a", "a <", "< b", "a = b", "a <= b <= c", "a <> b", "a ! b"})
    EXPECT_EQ(symbols_of_comparison(text), std::nullopt) << text;
}

TEST(Constraint, ReadsWhatItWrites) {
  const auto read = parse_constraint("(mod(h, 3) + 1) mod 2 == 0");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->extent, "mod(h, 3) + 1");
  EXPECT_EQ(read->divisor, 2);
  EXPECT_EQ(read->text(), "(mod(h, 3) + 1) mod 2 == 0");
  for (const char* text : {"", "h mod 2 == 0", "(h) mod 0 == 0", "(h) mod -2 == 0", "(h) mod 2 == 1",
                           "(h) mod == 0", "() mod 2 == 0", "(h) mod 2 == 0 ", "(h)) mod 2 == 0",
                           "(h) mod 99999999999999999999 == 0", "(h) mod  == 0"})
    EXPECT_FALSE(parse_constraint(text)) << '"' << text << '"';
}

}  // namespace
}  // namespace graphopt::deploy
