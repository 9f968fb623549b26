// Normal forms of layouts: products and segments are flat, and what is not padded merges.
#include <gtest/gtest.h>

#include "buckets/padding/layout.h"

namespace graphopt {
namespace {

struct PaddingLayout : testing::Test {
  DimPool dims;
  LayoutPool pool{dims};
  DimId b = dims.symbol("b", {1, 8}), s = dims.symbol("s", {1, 32}), p = dims.symbol("p", {0, 32});

  LayoutId same(std::int64_t n) { return pool.same(dims.constant(n)); }
  LayoutId product(std::vector<LayoutId> parts) { return pool.product(parts); }
  LayoutId segments(std::vector<LayoutId> parts) { return pool.segments(parts); }
  std::string text(LayoutId l) { return pool.text(l); }
};

TEST_F(PaddingLayout, EqualLayoutsAreOne) {
  EXPECT_EQ(pool.prefix(s), pool.prefix(s));
  EXPECT_NE(pool.prefix(s), pool.same(s));
  EXPECT_EQ(product({pool.prefix(b), pool.prefix(s)}), product({pool.prefix(b), pool.prefix(s)}));
  EXPECT_NE(product({pool.prefix(b), pool.prefix(s)}), product({pool.prefix(s), pool.prefix(b)}));
}

TEST_F(PaddingLayout, AProductTakesConstantsFromTheRight) {
  EXPECT_EQ(text(product({pool.prefix(s), same(12)})), "12*s");
  EXPECT_EQ(text(product({same(12), pool.prefix(s)})), "12 x s");  // 12 rows, each padded
  EXPECT_EQ(product({pool.prefix(s), same(1)}), pool.prefix(s));
  EXPECT_EQ(text(product({pool.prefix(b), product({pool.prefix(s), same(3)}), same(4)})), "b x 12*s");
  EXPECT_EQ(product({}), same(1));
}

TEST_F(PaddingLayout, SegmentsTakeConstantsFromTheLeft) {
  EXPECT_EQ(text(segments({same(5), pool.prefix(s)})), "s + 5");
  EXPECT_EQ(text(segments({pool.prefix(s), same(1)})), "s ++ 1");  // the padding is between them
  EXPECT_EQ(segments({same(0), pool.prefix(s), same(0)}), pool.prefix(s));
  EXPECT_EQ(text(segments({pool.prefix(p), segments({pool.prefix(s), same(2)})})), "p ++ s ++ 2");
  EXPECT_EQ(segments({}), same(0));
}

TEST_F(PaddingLayout, ExtentsAreThoseOfTheTrueRun) {
  EXPECT_EQ(pool.extent(product({pool.prefix(b), pool.prefix(s)})), dims.mul(b, s));
  EXPECT_EQ(pool.extent(segments({pool.prefix(p), pool.prefix(s)})), dims.add(p, s));
  EXPECT_TRUE(pool.padded(product({same(3), pool.prefix(s)})));
  EXPECT_FALSE(pool.padded(product({same(3), same(4)})));
}

TEST_F(PaddingLayout, PartsOfPartsStandBetweenParentheses) {
  const LayoutId cache = segments({pool.prefix(p), pool.prefix(s)});
  EXPECT_EQ(text(product({pool.prefix(b), cache})), "b x (p ++ s)");
  EXPECT_EQ(text(segments({product({same(2), pool.prefix(s)}), same(1)})), "(2 x s) ++ 1");
}

TEST_F(PaddingLayout, NestsUpToItsLimit) {
  const LayoutId one = pool.prefix(dims.constant(1));
  LayoutId l = one;
  for (std::uint32_t i = 0; i < kMaxLayoutDepth; ++i) l = i % 2 == 0 ? segments({l, one}) : product({one, l});
  ASSERT_TRUE(l);
  EXPECT_EQ(pool[l].depth, kMaxLayoutDepth);
  EXPECT_FALSE(segments({l, one}));
  EXPECT_EQ(product({l, same(1)}), l);
}

TEST_F(PaddingLayout, AnExtentThatIsNotRepresentableGivesNone) {
  DimId big = dims.constant(std::int64_t{1} << 62);
  EXPECT_FALSE(product({pool.same(big), pool.same(big)}));
  EXPECT_FALSE(product({LayoutId{}, pool.prefix(s)}));
  EXPECT_FALSE(segments({LayoutId{}}));
}

}  // namespace
}  // namespace graphopt
