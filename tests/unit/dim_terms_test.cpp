// The parts of an extent are those of its canonical form.
#include "ir/dim_terms.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "unit/rounds.h"

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

std::int64_t value_of(DimPool& dims, DimId a, std::span<const DimPool::Binding> binding);

std::int64_t value_of(DimPool& dims, const DimFactor& f, std::span<const DimPool::Binding> binding) {
  if (f.kind == DimFactor::Kind::Symbol) {
    for (const auto& [symbol, value] : binding)
      if (symbol == f.self) return value;
    ADD_FAILURE() << "a symbol that nobody bound";
    return 0;
  }
  const std::int64_t a = value_of(dims, f.operands[0], binding), b = value_of(dims, f.operands[1], binding);
  if (f.kind == DimFactor::Kind::Min) return std::min(a, b);
  if (f.kind == DimFactor::Kind::Max) return std::max(a, b);
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

std::int64_t value_of(DimPool& dims, DimId a, std::span<const DimPool::Binding> binding) {
  const auto terms = terms_of(dims, a);
  if (!terms) {
    ADD_FAILURE() << dims.print(a);
    return 0;
  }
  std::int64_t sum = 0;
  for (const DimProduct& t : *terms) {
    std::int64_t product = t.coefficient;
    for (const DimFactor& f : t.factors) product *= value_of(dims, f, binding);
    sum += product;
  }
  return sum;
}

TEST(DimTerms, HaveTheValuesOfTheExpressions) {
  std::mt19937 random(7);
  const auto below = [&](std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(random);
  };
  DimPool pool;
  std::vector<DimId> dims;
  for (const char* name : {"a", "b", "x[1]", "it's"}) dims.push_back(pool.symbol(name, {1, 50}));
  const std::vector<DimId> symbols = dims;
  for (const std::int64_t n : {0, 1, 2, 3, 7, -1, -5}) dims.push_back(pool.constant(n));
  for (int i = 0; i < rounds(3000); ++i) {
    const DimId a = dims[below(dims.size())], b = dims[below(dims.size())];
    DimId made;
    switch (below(7)) {
      case 0: made = pool.add(a, b); break;
      case 1: made = pool.sub(a, b); break;
      case 2: made = pool.mul(a, b); break;
      case 3: made = pool.floor_div(a, pool.constant(static_cast<std::int64_t>(1 + below(5)))); break;
      case 4: made = pool.floor_div(a, symbols[below(symbols.size())]); break;
      case 5: made = pool.min(a, b); break;
      default: made = pool.max(a, b); break;
    }
    if (!made || pool.print(made).size() > 400) continue;
    if (dims.size() < 60) dims.push_back(made);
    else dims[11 + below(49)] = made;
    for (int k = 0; k < 3; ++k) {
      std::vector<DimPool::Binding> binding;
      for (const DimId s : symbols) binding.push_back({s, static_cast<std::int64_t>(1 + below(50))});
      const auto expected = pool.evaluate(made, binding);
      if (!expected || std::abs(*expected) > (std::int64_t{1} << 40)) continue;
      ASSERT_EQ(value_of(pool, made, binding), *expected) << pool.print(made);
    }
  }
}

}  // namespace
}  // namespace graphopt
