// The table that a dispatcher looks buckets up in, against choose_bucket(), and formulas read back from the
// pool of dims, against what the pool computes.
#include "specialize/single/bucket_cells.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "specialize/marks/parse_marks.h"
#include "specialize/single/formula.h"

namespace graphopt {
namespace {

using Sizes = std::vector<std::int64_t>;

// All shapes up to the last size of each list, in the lists of fixed symbols, find what choose_bucket()
// finds.
void expect_same(const BucketSet& set) {
  const BucketCells cells = cells_of(set);
  Sizes shape;
  for (const BucketSymbol& s : set.symbols) shape.push_back(s.fixed ? s.values.front() : s.range.low);
  const auto next = [&] {
    for (std::size_t i = shape.size(); i-- > 0;) {
      const BucketSymbol& s = set.symbols[i];
      if (shape[i] < s.values.back()) {
        shape[i] = s.fixed ? *std::ranges::upper_bound(s.values, shape[i]) : shape[i] + 1;
        return true;
      }
      shape[i] = s.fixed ? s.values.front() : s.range.low;
    }
    return false;
  };
  std::size_t count = 0;
  do {
    const auto chosen = choose_bucket(set, shape);
    ASSERT_EQ(cells.bucket_of(shape), chosen ? static_cast<std::int64_t>(*chosen) : -1)
        << shape_text(set.symbols, shape);
    ++count;
  } while (next());
  ASSERT_GT(count, 1U);
}

BucketSet set_of(const std::vector<std::string>& specs, const std::string& where = "",
                 std::vector<std::pair<std::string, std::int64_t>> multiples = {}) {
  auto marks = parse_marks(specs, "");
  EXPECT_TRUE(marks) << to_string(marks.error());
  marks->where = where;
  DimPool pool;
  std::vector<Divisibility> constraints;
  for (const BucketGroup& g : marks->groups)
    for (const std::string& s : g.symbols) (void)pool.symbol(s);
  for (const auto& [text, divisor] : multiples) constraints.push_back({pool.parse(text), divisor});
  auto symbols = bucket_symbols(*marks);
  EXPECT_TRUE(symbols) << to_string(symbols.error());
  auto set = make_buckets(*marks, *symbols, pool, constraints);
  EXPECT_TRUE(set) << to_string(set.error());
  return set ? *std::move(set) : BucketSet{};
}

TEST(BucketCells, AProductOfListsIsItsOwnTable) {
  const BucketSet set = set_of({"a=1,2,5", "b=0..9:step=3", "c=3,4"});
  EXPECT_TRUE(cells_of(set).is_plain);
  expect_same(set);
  expect_same(set_of({"a=0,4", "b=0,1,7"}));  // products of 0 are equal: the first one counts
}

TEST(BucketCells, FiltersAndConstraintsLeaveCellsToOtherBuckets) {
  // b is a list of its own, so that shapes for which the filter holds have a bucket.
  const BucketSet filtered = set_of({"b=1,2,4,8,fixed", "s=4..32:pow2"}, "b*s <= 64");
  EXPECT_FALSE(cells_of(filtered).is_plain);
  EXPECT_EQ(cells_of(filtered).bucket_of(Sizes{8, 9}), -1);
  expect_same(filtered);
  // 1 x 3 is odd: shapes of it go to 1 x 4.
  const BucketSet even = set_of({"a=1,2", "b=3,4"}, "", {{"a*b", 2}});
  ASSERT_EQ(even.size(), 3U);
  EXPECT_EQ(cells_of(even).bucket_of(Sizes{1, 3}), 0);
  EXPECT_EQ(Sizes(even.at(0).begin(), even.at(0).end()), (Sizes{1, 4}));
  expect_same(even);
  expect_same(set_of({"a=1,2,3,4", "b=1,2,3,4", "c=2,4"}, "", {{"a*b + c", 2}}));
}

// --- formulas ----------------------------------------------------------------------------------------------

std::int64_t value_of(const Formula& f, std::span<const DimPool::Binding> binding) {
  const auto floor_div = [](std::int64_t a, std::int64_t b) {
    return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
  };
  if (f.kind == Formula::Kind::Number) return f.number;
  if (f.kind == Formula::Kind::Symbol) {
    for (const auto& [symbol, value] : binding)
      if (symbol == f.dim) return value;
    ADD_FAILURE() << "a symbol that nobody bound";
    return 0;
  }
  std::int64_t all = value_of(f.parts[0], binding);
  for (std::size_t i = 1; i < f.parts.size(); ++i) {
    const std::int64_t v = value_of(f.parts[i], binding);
    switch (f.kind) {
      case Formula::Kind::Sum: all += v; break;
      case Formula::Kind::Product: all *= v; break;
      case Formula::Kind::FloorDiv: all = floor_div(all, v); break;
      case Formula::Kind::Min: all = std::min(all, v); break;
      default: all = std::max(all, v); break;
    }
  }
  return all;
}

TEST(BucketFormula, TreesHaveTheValuesOfTheExpressions) {
  std::mt19937 random(7);
  const auto below = [&](std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(random);
  };
  DimPool pool;
  std::vector<DimId> dims;
  for (const char* name : {"a", "b", "x[1]", "it's"}) dims.push_back(pool.symbol(name, {1, 50}));
  const std::vector<DimId> symbols = dims;
  for (const std::int64_t n : {0, 1, 2, 3, 7, -1, -5}) dims.push_back(pool.constant(n));
  for (int i = 0; i < 3000; ++i) {
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
    const auto tree = formula_of(pool, made);
    ASSERT_TRUE(tree) << pool.print(made);
    for (int k = 0; k < 3; ++k) {
      std::vector<DimPool::Binding> binding;
      for (const DimId s : symbols) binding.push_back({s, static_cast<std::int64_t>(1 + below(50))});
      const auto expected = pool.evaluate(made, binding);
      if (!expected || std::abs(*expected) > (std::int64_t{1} << 40)) continue;
      ASSERT_EQ(value_of(*tree, binding), *expected) << pool.print(made);
    }
  }
  EXPECT_FALSE(formula_of(pool, pool.add(dims[0], pool.fresh())));
  EXPECT_FALSE(formula_of(pool, DimId{}));
}

}  // namespace
}  // namespace graphopt
