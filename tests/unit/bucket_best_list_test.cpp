// The optimal list against all lists, and files of lengths.
#include "buckets/marks/best_list.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "buckets/marks/lengths.h"

namespace graphopt {
namespace {

using List = std::vector<std::int64_t>;
using Lengths = std::vector<LengthCount>;

std::int64_t size_of(std::int64_t length, std::int64_t align, std::int64_t high) {
  return std::min(high, (std::max<std::int64_t>(length, 1) + align - 1) / align * align);
}

std::int64_t work_with(const Lengths& lengths, const List& list, std::int64_t align, const LengthWork& work) {
  std::int64_t sum = 0;
  for (const LengthCount& c : lengths)
    sum += c.count * work(*std::ranges::lower_bound(list, size_of(c.length, align, list.back())));
  return sum;
}

// All subsets of the sizes that hold the greatest one: the least work (and price) with at most `most` of
// them, and the fewest sizes that have it.
struct Best {
  std::int64_t cost = std::numeric_limits<std::int64_t>::max();
  std::size_t sizes = 0;
};
Best best_of_all(const Lengths& lengths, std::int64_t high, std::int64_t align, std::size_t most,
                 std::int64_t price, const LengthWork& work) {
  List sizes;
  for (const LengthCount& c : lengths) sizes.push_back(size_of(c.length, align, high));
  sizes.push_back(high);
  std::ranges::sort(sizes);
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  Best best;
  for (unsigned set = 0; set < 1U << (sizes.size() - 1); ++set) {
    List list;
    for (std::size_t i = 0; i + 1 < sizes.size(); ++i)
      if ((set >> i & 1U) != 0) list.push_back(sizes[i]);
    list.push_back(high);
    if (list.size() > most) continue;
    const std::int64_t cost =
        work_with(lengths, list, align, work) + price * static_cast<std::int64_t>(list.size());
    if (cost > best.cost || (cost == best.cost && list.size() >= best.sizes)) continue;
    best = {cost, list.size()};
  }
  return best;
}

TEST(BucketBestList, IsTheBestOfAllLists) {
  std::mt19937 random(600);
  const auto draw = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  std::size_t fewer = 0;
  for (int round = 0; round < 1500; ++round) {
    Lengths lengths;
    for (int x = draw(0, 3), n = draw(1, 10); n > 0; --n, x += draw(1, draw(0, 1) == 0 ? 3 : 40))
      lengths.push_back({x, draw(0, 3) == 0 ? draw(0, 1) : draw(1, 200)});
    const std::int64_t high =
        std::max<std::int64_t>(1, lengths.back().length + (draw(0, 1) == 0 ? 0 : draw(0, 30)));
    const std::vector<LengthWork> works = {
        [](std::int64_t x) { return x; }, [](std::int64_t x) { return x * x + 3 * x; },
        [](std::int64_t x) { return 100 + 7 * x; }, [](std::int64_t x) { return x / 16; },
        [](std::int64_t) { return std::int64_t{5}; }};
    const LengthWork& work = works[static_cast<std::size_t>(round) % works.size()];
    BestListOptions options;
    options.align = draw(0, 2) == 0 ? draw(1, 20) : 1;
    options.most = static_cast<std::size_t>(draw(1, 12));
    std::int64_t price = 0;
    if (draw(0, 1) == 0) {
      std::int64_t exact = 0;  // of the aligned lengths
      for (const LengthCount& c : lengths) exact += c.count * work(size_of(c.length, options.align, high));
      options.share = draw(0, 100) / 256.0;  // exact in binary
      price = static_cast<std::int64_t>(std::floor(*options.share * static_cast<double>(exact)));
    }
    const auto list = best_list(lengths, high, options, work);
    ASSERT_TRUE(list);
    ASSERT_TRUE(std::ranges::is_sorted(*list, std::less_equal<>()));
    ASSERT_EQ(list->back(), high);
    ASSERT_LE(list->size(), options.most);
    const Best best = best_of_all(lengths, high, options.align, options.most, price, work);
    const std::int64_t cost =
        work_with(lengths, *list, options.align, work) + price * static_cast<std::int64_t>(list->size());
    ASSERT_EQ(cost, best.cost) << "round " << round;
    ASSERT_EQ(list->size(), best.sizes) << "round " << round;
    fewer += list->size() < options.most ? 1U : 0U;
  }
  EXPECT_GT(fewer, 300U);  // the price and equal costs were seen to matter
}

TEST(BucketBestList, IsTheFirstOfEqualLists) {
  // 1 | 3 costs 1 + 3 + 3, and 2 | 3 costs 2 + 2 + 3.
  EXPECT_EQ(*best_list(Lengths{{1, 1}, {2, 1}, {3, 1}}, 3, {.align = 1, .most = 2, .share = {}}),
            (List{1, 3}));
}

TEST(BucketBestList, HoldsExtremeNumbers) {
  const Lengths lengths = {
      {1, kMaxLengthCount / 2}, {kMaxBucketExtent - 1, 1}, {kMaxBucketExtent, kMaxLengthCount / 2}};
  const LengthWork huge = [](std::int64_t x) {
    return x == 1 ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int64_t>::max();
  };
  EXPECT_EQ(*best_list(lengths, kMaxBucketExtent, {.align = 1, .most = 3, .share = {}}, huge),
            (List{1, kMaxBucketExtent}));
  EXPECT_EQ(*best_list(lengths, kMaxBucketExtent, {.align = kMaxBucketExtent, .most = 3, .share = {}}, huge),
            (List{kMaxBucketExtent}));
  // A work that falls counts as one that stays: a second bucket saves nothing.
  EXPECT_EQ(*best_list(lengths, kMaxBucketExtent, {.align = 1, .most = 3, .share = {}},
                       [](std::int64_t x) { return kMaxBucketExtent - x; }),
            (List{kMaxBucketExtent}));
  EXPECT_EQ(*best_list(Lengths{{1, 1}, {2, 1}, {3, 1}}, 3, {.align = 1, .most = 2, .share = {}},
                       [](std::int64_t x) { return x == 1   ? 5
                                                   : x == 2 ? 100
                                                            : 2; }),
            (List{1, 3}));
  EXPECT_EQ(*best_list({}, 7, {.align = 1, .most = 3, .share = {}}), (List{7}));
}

TEST(BucketBestList, IsFastAndRefusesWhatIsTooMuch) {
  Lengths lengths;
  for (std::int64_t x = 1; x <= 100000; ++x) lengths.push_back({x, 1});
  const auto list = best_list(lengths, 100000, {.align = 1, .most = 10, .share = {}});
  ASSERT_TRUE(list);
  ASSERT_EQ(list->size(), 10U);  // equal counts: equal steps
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ((*list)[i], static_cast<std::int64_t>(i + 1) * 10000);
  const auto refused = best_list(lengths, 100000, {.align = 1, .most = 1000, .share = {}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::Usage);
  EXPECT_EQ(refused.error().what, "100000 different lengths are too many for 1000 buckets");
  EXPECT_TRUE(best_list(lengths, 100000, {.align = 1, .most = 1000, .share = 0.5}));  // tries fewer
  EXPECT_TRUE(best_list(lengths, 100000, {.align = 16, .most = 1000, .share = {}}));
}

TEST(BucketBestList, ExpectedWorkCountsPadding) {
  const Lengths lengths = {{2, 3}, {4, 1}, {5, 2}};
  const ExpectedWork linear = expected_work(lengths, List{4, 8});
  EXPECT_EQ(linear.exact, 20);   // 3*2 + 4 + 2*5
  EXPECT_EQ(linear.padded, 32);  // 4*4 + 2*8
  EXPECT_DOUBLE_EQ(linear.waste(), 0.6);
  const ExpectedWork square = expected_work(lengths, List{4, 8}, [](std::int64_t x) { return x * x; });
  EXPECT_EQ(square.exact, 78);  // 12 + 16 + 50
  EXPECT_EQ(square.padded, 192);
  EXPECT_EQ(expected_work({}, List{4}).waste(), 0);
}

TEST(BucketLengths, BothFormsAreRead) {
  const IntRange range{0, 100};
  const Lengths wanted = {{0, 2}, {7, 3}, {100, 5}};
  for (const std::string text :
       {"7 2\n0 2\n100 5\n7\n", "# lengths\r\n\r\n 7\t2 # two\r\n0 2\n100\t 5\n9 0\n7",
        "[7, 100, 0, 7, 100, 100, 0, 7, 100, 100]", " {\"7\": 3, \"0\": 2, \"100\": 5, \"8\": 0}\n"}) {
    const auto read = read_lengths(text, "l", range);
    ASSERT_TRUE(read) << text << to_string(read.error());
    EXPECT_EQ(*read, wanted) << text;
  }
}

TEST(BucketLengths, JunkNamesItsLine) {
  struct Case {
    std::string text, what;
  };
  const std::vector<Case> cases = {
      {"", "has no length"},
      {"# none\n\n", "has no length"},
      {"3 0\n", "has no length"},
      {"[]", "has no length"},
      {"{}", "has no length"},
      {"3\nabc\n", "line 2: found 'abc' as a length"},
      {"3 4 5\n", "line 1: found '4 5' as a count"},
      {"3,4\n", "line 1: found '3,4' as a length"},
      {"1.5\n", "line 1: found '1.5' as a length"},
      {"\n-3\n", "line 2: the length -3 is negative"},
      {"3 -4\n", "line 1: the count -4 is negative"},
      {"0\n", "line 1: the length 0 is outside the range 1..16 of the buckets (1 such in all)"},
      {"4\n17\n99 2\n", "line 2: the length 17 is outside the range 1..16 of the buckets (2 such in all)"},
      {"99999999999999999999\n", "line 1: a length, 99999999999999999999, does not fit into 64 bits"},
      {"3 9007199254740992\n4 1\n", "line 2: the counts add up to more than 9007199254740992"},
      {"[3, \"4\"]", "[1]: found \"4\""},
      {"[3, -4]", "[1]: found -4"},
      {"[[3]]", "[0]: more than 1 objects and lists are inside each other"},
      {"{\"x\": 3}", "x: found 'x' as a length"},
      {"{\"3\": 1.5}", "3: found 1.5"},
      {"{\"3\": 1, \"3\": 2}", "3: the key occurs twice in its object"},
      {"{\"20\": 1}", "20: the length 20 is outside the range 1..16 of the buckets (1 such in all)"},
      {"[3", "line 1, column 2: syntax error while parsing array - unexpected end of input; expected ']'"},
  };
  for (const Case& c : cases) {
    const auto read = read_lengths(c.text, "lengths.txt", {1, 16});
    ASSERT_FALSE(read) << c.text;
    EXPECT_EQ(read.error().what, c.what);
    EXPECT_EQ(read.error().kind, ErrorKind::Usage);
    EXPECT_EQ(read.error().place.file, "lengths.txt");
    EXPECT_FALSE(read.error().remedy.empty()) << c.text;
  }
  EXPECT_EQ(read_lengths("17\n0\n", "l", {1, 16}).error().remedy,
            "let the range be 0..17, or take these lengths out of the file");
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "x\n";
  EXPECT_EQ(read_lengths(many, "l", {1, 16}).errors().size(), kMaxErrors);
}

TEST(BucketLengths, NoTextCrashesTheReader) {
  std::mt19937 random(3);
  const std::string alphabet = "019 \t\n-+.,#x[]{}:\"\\e\xff";
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (std::size_t n = random() % 20; n > 0; --n) text += alphabet[random() % alphabet.size()];
    if (i % 3 == 0) text = "[1," + text + "]";
    const auto read = read_lengths(text, "l", {1, 1000});
    if (!read) continue;
    ASSERT_FALSE(read->empty());
    ASSERT_TRUE(
        std::ranges::all_of(*read, [](const LengthCount& c) { return c.count > 0 && c.length >= 1; }));
  }
}

}  // namespace
}  // namespace graphopt
