// The parts of an extent are those of its canonical form.
#include "ir/dim_terms.h"

#include <gtest/gtest.h>

#include <string>

namespace graphopt {
namespace {

std::string text(DimPool& dims, DimId a) {
  const auto terms = terms_of(dims, a);
  if (!terms) return "none";
  std::string out;
  for (const DimProduct& t : *terms) {
    out += (out.empty() ? "" : ", ") + std::to_string(t.coefficient);
    for (const DimFactor& f : t.factors) {
      out += " * " + dims.print(f.self);
      for (const DimId d : f.operands) out += " | " + dims.print(d);
    }
  }
  return out;
}

TEST(DimTerms, AreTheTermsOfTheCanonicalForm) {
  DimPool dims;
  const DimId h = dims.symbol("h", {1, 99}), s = dims.symbol("s", {1, 99});
  EXPECT_EQ(text(dims, dims.constant(0)), "");
  EXPECT_EQ(text(dims, dims.constant(-7)), "-7");
  EXPECT_EQ(text(dims, h), "1 * h");
  EXPECT_EQ(text(dims, dims.sub(dims.mul(dims.constant(3), dims.mul(h, s)), dims.constant(1))),
            "3 * h * s, -1");
  EXPECT_EQ(text(dims, dims.sub(dims.constant(5), h)), "-1 * h, 5");
  EXPECT_EQ(text(dims, {}), "none");
}

TEST(DimTerms, HaveTheOperandsOfCalls) {
  DimPool dims;
  const DimId h = dims.symbol("h", {1, 99}), s = dims.symbol("s", {1, 99});
  const DimId half = dims.floor_div(dims.add(h, dims.constant(1)), dims.constant(2));
  EXPECT_EQ(text(dims, half), "1 * floor((h + 1)/(2)) | h + 1 | 2");
  EXPECT_EQ(text(dims, dims.mul(half, dims.mul(half, s))),
            "1 * floor((h + 1)/(2)) | h + 1 | 2 * floor((h + 1)/(2)) | h + 1 | 2 * s");
  EXPECT_EQ(text(dims, dims.sub(dims.min(h, dims.sub(s, dims.constant(1))), dims.max(half, s))),
            "-1 * max(floor((h + 1)/(2)), s) | floor((h + 1)/(2)) | s, 1 * min(h + 1, s) | h + 1 | s, -1");
}

TEST(DimTerms, ANameMayLookLikeAnExpression) {
  DimPool dims;
  const DimId odd = dims.symbol("a + b*'(", {1, 99}), h = dims.symbol("h", {1, 99});
  const auto terms = terms_of(dims, dims.add(dims.mul(odd, h), odd));
  ASSERT_TRUE(terms);
  ASSERT_EQ(terms->size(), 2U);
  EXPECT_EQ((*terms)[0].factors.size(), 2U);
  EXPECT_EQ((*terms)[1].factors[0].self, odd);
}

TEST(DimTerms, AFreshSymbolIsOfNoInput) {
  DimPool dims;
  EXPECT_EQ(text(dims, dims.add(dims.fresh(), dims.constant(1))), "none");
}

}  // namespace
}  // namespace graphopt
