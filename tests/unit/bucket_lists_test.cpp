// Lists of sizes from each method: known lists, and the bounds on padding that bucket_lists.h states, for
// drawn ranges, extreme ones among them.
#include "buckets/marks/bucket_lists.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "buckets/marks/parse_marks.h"

namespace graphopt {
namespace {

using List = std::vector<std::int64_t>;

constexpr std::size_t kMost = 4096;

BucketGroup group_of(const std::string& spec) {
  auto g = parse_bucket_spec("s=" + spec);
  EXPECT_TRUE(g) << to_string(g.error());
  return g ? *g : BucketGroup{};
}

List list_of(const BucketGroup& g, std::size_t most = kMost) {
  const auto list = bucket_list(g, most);
  EXPECT_TRUE(list && *list);
  return list && *list ? **list : List{};
}

TEST(BucketLists, KnownOnes) {
  struct Case {
    std::string spec;
    List list;
    IntRange range;
  };
  const std::vector<Case> cases = {
      {"1,2,4", {1, 2, 4}, {1, 4}},
      {"4,1,2,2", {1, 2, 4}, {1, 4}},
      {"4..32:pow2", {4, 8, 16, 32}, {4, 32}},
      {"1..16:pow2", {1, 2, 4, 8, 16}, {1, 16}},
      {"3..24:pow2", {4, 8, 16, 24}, {3, 24}},
      {"2..8:pow2", {2, 4, 8}, {2, 8}},
      {"6..48:pow2", {8, 16, 32, 48}, {6, 48}},
      {"3..24:step=8", {8, 16, 24}, {3, 24}},
      {"8..32:step=8", {8, 16, 24, 32}, {8, 32}},
      {"3..12:step=3", {3, 6, 9, 12}, {3, 12}},
      {"16..64:geo=1.5,align=8", {24, 40, 64}, {16, 64}},
      // By hand: floor(1.15 * 20) is 23, though 1.15 * 20 of doubles may be below it.
      {"20..50:geo=1.15", {23, 27, 32, 37, 43, 50}, {20, 50}},
      {"7..9:max", {9}, {7, 9}},
      {"5..5:pow2", {5}, {5, 5}},
      {"3..24:pow2,align=64", {24}, {3, 24}},
      {"3..100:step=10,align=16", {16, 32, 48, 64, 80, 96, 100}, {3, 100}},
      {"0..5:pow2", {1, 2, 4, 5}, {0, 5}},
      {"0..5:step=2", {2, 4, 5}, {0, 5}},
      {"0..4:geo=1.5", {1, 3, 4}, {0, 4}},
      {"0,2,min=0", {0, 2}, {0, 2}},
      {"2,4,fixed", {2, 4}, {2, 4}},
      {"4..8:pow2,fixed", {4, 8}, {4, 8}},
      {"2,4", {2, 4}, {1, 4}},
      {"4,8,min=3,align=4", {4, 8}, {3, 8}},
      {"2147483600..2147483647:pow2", {2147483647}, {2147483600, 2147483647}},
  };
  for (const Case& c : cases) {
    const BucketGroup g = group_of(c.spec);
    EXPECT_EQ(list_of(g), c.list) << c.spec;
    EXPECT_EQ(g.range, c.range) << c.spec;
  }
}

// The bound of the head comment on the size of a length.
std::int64_t bound(const BucketGroup& g, std::int64_t length) {
  const std::int64_t aligned = g.align - 1;
  switch (g.method) {
    case BucketMethod::Step: return length + g.step - 1 + aligned;
    case BucketMethod::Pow2: return 2 * length - 1 + aligned;
    case BucketMethod::Geo:
      return static_cast<std::int64_t>(static_cast<long double>(g.ratio) * static_cast<long double>(length) /
                                       kRatioOne) +
             aligned;
    default: return g.range.high;
  }
}

void check_list(const BucketGroup& g, const List& list, std::mt19937_64& random) {
  ASSERT_FALSE(list.empty());
  EXPECT_TRUE(std::ranges::is_sorted(list, std::less_equal<>()));  // none twice
  EXPECT_EQ(list.back(), g.range.high);
  EXPECT_GE(list.front(), g.range.low);
  for (std::size_t i = 0; i + 1 < list.size(); ++i) EXPECT_EQ(list[i] % g.align, 0);
  // Lengths just above a size are the worst; the others are drawn.
  List lengths = {std::max<std::int64_t>(g.range.low, 1), g.range.high};
  for (std::size_t i = 0; i + 1 < list.size() && i < 200; ++i) lengths.push_back(list[i] + 1);
  std::uniform_int_distribution<std::int64_t> any(lengths.front(), g.range.high);
  for (int i = 0; i < 50; ++i) lengths.push_back(any(random));
  for (const std::int64_t length : lengths) {
    const std::int64_t size = *std::ranges::lower_bound(list, length);
    ASSERT_LE(size, bound(g, length)) << "length " << length << " of " << g.range.low << ".." << g.range.high;
  }
}

TEST(BucketLists, StayWithinTheirBounds) {
  std::mt19937_64 random(21);
  const auto draw = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  std::size_t refused = 0, checked = 0;
  for (int i = 0; i < 4000; ++i) {
    BucketGroup g;
    g.symbols = {"s"};
    const std::int64_t top =
        std::vector<std::int64_t>{8, 100, 5000, kMaxBucketExtent}[static_cast<std::size_t>(draw(0, 3))];
    g.range.high = draw(1, 4) == 1 ? top : draw(1, top);
    g.range.low = draw(1, 4) == 1 ? g.range.high : draw(0, g.range.high);
    g.align = draw(1, 2) == 1 ? 1 : draw(1, 2 * std::min<std::int64_t>(top, 1000));
    g.method = static_cast<BucketMethod>(std::vector<int>{1, 2, 3, 5}[static_cast<std::size_t>(draw(0, 3))]);
    g.step = draw(1, std::max<std::int64_t>(top / 50, 3));
    g.ratio = kRatioOne + (draw(1, 3) == 1 ? draw(1, 1000) : draw(1, 3 * kRatioOne));
    ASSERT_FALSE(check_group(g)) << check_group(g)->what;
    const auto list = bucket_list(g, kMost);
    ASSERT_TRUE(list);
    if (!*list) {
      ++refused;
      continue;
    }
    ++checked;
    ASSERT_LE((*list)->size(), kMost);
    check_list(g, **list, random);
    if (HasFailure())
      FAIL() << "round " << i << ", method " << static_cast<int>(g.method) << ", align " << g.align;
  }
  EXPECT_GT(refused, 30U);
  EXPECT_GT(checked, 2500U);
}

// The least number of sizes such that each length is within floor(q * length): from below, by trying.
std::size_t fewest_sizes(std::int64_t low, std::int64_t high, std::int64_t ratio) {
  std::vector<std::size_t> fewest(static_cast<std::size_t>(high) + 2, 0);  // to cover lengths from here on
  for (std::int64_t x = high; x >= low; --x) {
    std::size_t best = 1000;
    for (std::int64_t size = x; size <= std::min(high, x * ratio / kRatioOne); ++size)
      best = std::min(best, 1 + fewest[static_cast<std::size_t>(size) + 1]);
    fewest[static_cast<std::size_t>(x)] = best;
  }
  return fewest[static_cast<std::size_t>(low)];
}

TEST(BucketLists, GeoHasTheFewestSizes) {
  std::mt19937 random(4);
  for (int i = 0; i < 300; ++i) {
    const auto high = static_cast<std::int64_t>(1 + random() % 60),
               low = static_cast<std::int64_t>(1 + random() % static_cast<unsigned>(high));
    const std::int64_t ratio = kRatioOne + 1 + static_cast<std::int64_t>(random() % 1'500'000'000);
    const auto list = geo_list({low, high}, ratio, 1, kMost);
    ASSERT_TRUE(list);
    EXPECT_EQ(list->size(), fewest_sizes(low, high, ratio)) << low << ".." << high << " geo " << ratio;
  }
}

TEST(BucketLists, EndWhereTheLimitIs) {
  EXPECT_FALSE(*bucket_list(group_of("1..2147483647:step=1"), 64));
  EXPECT_FALSE(*bucket_list(group_of("1..2147483647:geo=1.000000001"), 64));
  EXPECT_FALSE(*bucket_list(group_of("1,2,3"), 2));
  EXPECT_EQ(list_of(group_of("1..3:step=1"), 3), (List{1, 2, 3}));
  EXPECT_FALSE(*bucket_list(group_of("1..3:step=1"), 2));
  EXPECT_EQ(list_of(group_of("1..2147483647:pow2"), 32).size(), 32U);
}

BucketMarks marks_of(std::initializer_list<std::string> specs) {
  const auto marks = parse_marks(std::vector<std::string>(specs), "");
  EXPECT_TRUE(marks) << to_string(marks.error());
  return marks ? *marks : BucketMarks{};
}

TEST(BucketLists, SymbolsOfAGroupHaveListsOfTheirOwn) {
  const auto symbols = bucket_symbols(marks_of({"src,tgt=1..4:pow2", "b=2,fixed"}));
  ASSERT_TRUE(symbols);
  ASSERT_EQ(symbols->size(), 3U);
  EXPECT_EQ((*symbols)[0].name + (*symbols)[1].name + (*symbols)[2].name, "srctgtb");
  EXPECT_EQ((*symbols)[1].values, (List{1, 2, 4}));
  EXPECT_EQ((*symbols)[1].group, 0U);
  EXPECT_EQ((*symbols)[2].group, 1U);
  EXPECT_TRUE((*symbols)[0].adjustable && !(*symbols)[0].fixed);
  EXPECT_TRUE(!(*symbols)[2].adjustable && (*symbols)[2].fixed);
}

TEST(BucketLists, AListThatIsTooLongNamesARatioThatFits) {
  const auto symbols = bucket_symbols(marks_of({"s=1..2147483647:step=1"}));
  ASSERT_FALSE(symbols);
  EXPECT_EQ(symbols.error().kind, ErrorKind::Usage);
  EXPECT_EQ(symbols.error().what,
            "--bucket 's=1..2147483647:step=1': symbol 's' alone would have more than 4096 "
            "buckets; the limit is 64");
  // The ratio and the number are computed anew: the list fits, and that of a ratio 0.001 below does not.
  const std::string& remedy = symbols.error().remedy;
  ASSERT_TRUE(remedy.starts_with("geo=")) << remedy;
  const double q = std::stod(remedy.substr(4));
  const IntRange range{1, kMaxBucketExtent};
  EXPECT_TRUE(geo_list(range, std::llround(q * 1e9), 1, 64));
  EXPECT_FALSE(geo_list(range, std::llround((q - 0.001) * 1e9), 1, 64));
}

TEST(BucketLists, TheLeastRatioFits) {
  const auto symbols = *bucket_symbols(marks_of({"s,t=1..512:step=8", "b=1,2,4"}));
  for (const std::size_t limit : {std::size_t{3}, std::size_t{12}, std::size_t{64}, std::size_t{500}}) {
    const auto fits = least_ratio(symbols, limit);
    ASSERT_TRUE(fits);
    EXPECT_LE(fits->buckets, limit);
    const auto length = [&](std::int64_t thousandths) {
      return geo_list({1, 512}, thousandths * 1'000'000, 1, 10000)->size();
    };
    EXPECT_EQ(fits->buckets, 3 * length(fits->thousandths) * length(fits->thousandths));
    EXPECT_GT(3 * length(fits->thousandths - 1) * length(fits->thousandths - 1), limit);
  }
  EXPECT_FALSE(least_ratio(symbols, 2));  // one bucket each is too many
  EXPECT_FALSE(least_ratio(*bucket_symbols(marks_of({"b=1,2,4"})), 2));
  EXPECT_TRUE(too_many_remedy(symbols, 2).starts_with("write shorter lists"));
}

TEST(BucketLists, AnAutomaticNumberStaysWithinTheLimit) {
  BucketMarks marks;
  marks.limit = 5;
  BucketGroup& g = marks.groups.emplace_back();
  g.symbols = {"s"};
  g.range = {1, 100};
  g.method = BucketMethod::Hist;
  g.share = 0;
  for (std::int64_t x = 1; x <= 100; ++x) g.lengths.push_back({x, 1});
  const auto symbols = bucket_symbols(marks);
  ASSERT_TRUE(symbols);
  EXPECT_EQ((*symbols)[0].values, (List{20, 40, 60, 80, 100}));
}

TEST(BucketLists, WorkOfASymbolReachesItsList) {
  BucketMarks marks;
  BucketGroup& g = marks.groups.emplace_back();
  g.symbols = {"s", "t"};
  g.range = {1, 10};
  g.method = BucketMethod::Hist;
  g.most = 2;
  g.lengths = {{1, 10}, {8, 5}, {10, 1}};
  // Linear: 1 | 10 costs 10 + 60, 8 | 10 costs 120 + 10. For t all work is that of length 9 and above.
  const auto symbols = bucket_symbols(marks, [](std::string_view name) -> LengthWork {
    if (name == "s") return {};
    return [](std::int64_t length) { return length >= 9 ? 1000 : 0; };
  });
  ASSERT_TRUE(symbols);
  EXPECT_EQ((*symbols)[0].values, (List{1, 10}));
  EXPECT_EQ((*symbols)[1].values, (List{8, 10}));
}

}  // namespace
}  // namespace graphopt
