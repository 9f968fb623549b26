// The table that a dispatcher looks buckets up in, against choose_bucket().
#include "buckets/single/bucket_cells.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "buckets/marks/parse_marks.h"

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

}  // namespace
}  // namespace graphopt
