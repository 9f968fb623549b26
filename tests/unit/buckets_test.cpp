// Products of lists: filters, constraints, the limit, holes and the choice, all against slow and plain
// counting.
#include "buckets/marks/buckets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "buckets/marks/coverage.h"
#include "buckets/marks/parse_marks.h"
#include "buckets/marks/shape_filter.h"

namespace graphopt {
namespace {

using List = std::vector<std::int64_t>;
using Specs = std::vector<std::string>;

BucketMarks marks_of(const Specs& specs, const std::string& where = "",
                     std::int64_t limit = kDefaultBucketLimit) {
  auto marks = parse_marks(specs, "");
  EXPECT_TRUE(marks) << to_string(marks.error());
  if (!marks) return {};
  marks->where = where;
  marks->limit = limit;
  return *marks;
}

// A pool in which a model would have these symbols.
DimPool pool_of(const BucketMarks& marks) {
  DimPool pool;
  for (const BucketGroup& g : marks.groups)
    for (const std::string& s : g.symbols) (void)pool.symbol(s);
  (void)pool.symbol("free");
  return pool;
}

Result<BucketSet> make(const BucketMarks& marks,
                       const std::vector<std::pair<std::string, std::int64_t>>& multiples = {}) {
  DimPool pool = pool_of(marks);
  std::vector<Divisibility> constraints;
  for (const auto& [text, divisor] : multiples) constraints.push_back({pool.parse(text), divisor});
  auto symbols = bucket_symbols(marks);
  EXPECT_TRUE(symbols) << to_string(symbols.error());
  return make_buckets(marks, *symbols, pool, constraints);
}

std::vector<List> buckets_of(const Result<BucketSet>& set) {
  EXPECT_TRUE(set) << to_string(set.error());
  std::vector<List> out;
  for (std::size_t b = 0; set && b < set->size(); ++b) out.emplace_back(set->at(b).begin(), set->at(b).end());
  return out;
}

std::string error_of(const Result<BucketSet>& set) {
  EXPECT_FALSE(set);
  if (set) return "";
  EXPECT_EQ(set.error().kind, ErrorKind::Usage);
  EXPECT_FALSE(set.error().remedy.empty());
  return set.error().what;
}

TEST(Buckets, AreTheProduct) {
  EXPECT_EQ(buckets_of(make(marks_of({"b=1,2", "s=4..16:pow2"}))),
            (std::vector<List>{{1, 4}, {1, 8}, {1, 16}, {2, 4}, {2, 8}, {2, 16}}));
  EXPECT_EQ(make(marks_of({"h,w=8..32:step=8"}))->size(), 16U);
  EXPECT_EQ(make(marks_of({"p=2..8:pow2", "s=1,2,4"}))->size(), 9U);
  EXPECT_EQ(make(marks_of({}))->size(), 0U);
}

TEST(Buckets, AFilterRemovesThoseForWhichItDoesNotHold) {
  const auto set = make(marks_of({"b=1,2,4,8,fixed", "s=16..512:pow2"}, "b*s <= 1024"));
  const auto buckets = buckets_of(set);
  EXPECT_EQ(buckets.size(), 6U + 6U + 5U + 4U);
  for (const List& b : buckets) EXPECT_LE(b[0] * b[1], 1024);
  // Sizes that no bucket has are gone.
  const auto fewer = make(marks_of({"b=1,2,fixed", "s=4..16:pow2"}, "b <= 1"));
  EXPECT_EQ(buckets_of(fewer).size(), 3U);
  EXPECT_EQ(fewer->symbols[0].values, List{1});
  EXPECT_EQ(fewer->symbols[1].values, (List{4, 8, 16}));
}

TEST(Buckets, AFilterThatLeavesHolesNamesAShape) {
  const auto set = make(marks_of({"b=1,2,4,8", "s=16..512:pow2"}, "b*s <= 1024"));
  EXPECT_EQ(error_of(set),
            "where: the shape b=3, s=257 has no bucket: 'b*s <= 1024' holds for it, but not for the "
            "bucket b=4, s=512, the least that could hold it");
  EXPECT_EQ(set.error().remedy,
            "add sizes for which it holds (here b=3, s=257), mark a symbol with a list 'fixed' if "
            "runs have just these sizes, or narrow 'where' or the ranges so that the shape is "
            "outside");
  // No bucket for any shape, and no shape that wants one.
  EXPECT_EQ(error_of(make(marks_of({"b=2,4,min=2"}, "b <= 1"))),
            "where: no bucket is left: 'b <= 1' does not hold for any, not even for b=2");
}

TEST(Buckets, ConstraintsRemoveThoseThatDoNotMeetThem) {
  const auto set = make(marks_of({"h=3..24:pow2", "w=6,8,9,12"}), {{"h", 4}, {"h + w", 2}, {"free", 7}});
  EXPECT_EQ(buckets_of(set).size(), 4U * 3U);
  EXPECT_EQ(set->symbols[1].values, (List{6, 8, 12}));
  const auto lost = make(marks_of({"h=4..15:step=4"}), {{"h", 2}});
  EXPECT_EQ(error_of(lost),
            "the shape h=15 has no bucket: h=15 is none, since the model needs (h) mod 2 == 0");
  EXPECT_EQ(lost.error().remedy,
            "write sizes that meet it, the greatest one too: a range that ends in a multiple of 2, "
            "with align=2, if the model is valid there");
  // One that cannot be computed is not met.
  EXPECT_EQ(error_of(make(marks_of({"h=4"}), {{"h*free", 2}})),
            "the shape h=4 has no bucket: h=4 is none, since the model needs (free*h) mod 2 == 0");
  // A fixed size is promised as any other.
  EXPECT_EQ(error_of(make(marks_of({"h=3,4,fixed"}), {{"h", 2}})),
            "the shape h=3 has no bucket: h=3 is none, since the model needs (h) mod 2 == 0");
  EXPECT_EQ(buckets_of(make(marks_of({"h=3,4,fixed"}, "h > 3"), {{"h", 2}})), std::vector<List>{{4}});
}

TEST(Buckets, TooManyAreRefused) {
  const auto set = make(marks_of({"h,w=1..64:step=4", "b=1,2"}));
  EXPECT_EQ(error_of(set), "512 buckets are more than the limit of 64: h has 16, w has 16, b has 2");
  const auto fits = least_ratio(*bucket_symbols(marks_of({"h,w=1..64:step=4", "b=1,2"})), 64);
  ASSERT_TRUE(fits);
  EXPECT_TRUE(set.error().remedy.starts_with("geo=")) << set.error().remedy;
  EXPECT_NE(set.error().remedy.find(" for h, w gives " + std::to_string(fits->buckets)), std::string::npos)
      << set.error().remedy;
  EXPECT_EQ(make(marks_of({"h,w=1..64:step=4", "b=1,2"}, "", 512))->size(), 512U);
  EXPECT_EQ(error_of(make(marks_of({"h,w=1..64:step=4"}, "h + w <= 100"))).substr(0, 47),
            "228 of 256 buckets are more than the limit of 6");
  EXPECT_EQ(error_of(make(marks_of({"a,b,c,d,e=1..64:step=2"}))).substr(0, 53),
            "more than 262144 buckets are more than the limit of 6");
}

TEST(Buckets, ManySymbolsAndHugeSizesStaySmall) {
  Specs specs;
  for (int i = 0; i < 40; ++i) specs.push_back("s" + std::to_string(i) + "=2147483646..2147483647:max");
  const auto set = make(marks_of(specs));
  ASSERT_TRUE(set);
  EXPECT_EQ(set->size(), 1U);
  const List shape(40, kMaxBucketExtent);
  EXPECT_EQ(choose_bucket(*set, shape), 0U);  // the product leaves 64 bits
  EXPECT_EQ(error_of(make(marks_of({"a,b,c=1..2147483647:max"}, "a*b*c <= 5"))).substr(0, 80),
            "where: 'a*b*c <= 5' cannot be computed for a=2147483647, b=2147483647, c=2147483");
}

TEST(Buckets, WrongFiltersSayWhatToWrite) {
  struct Case {
    std::string where, what, remedy;
  };
  const std::vector<Case> cases = {
      {"b*s", "where: 'b*s' is no comparison", "batch*seq <= 4096"},
      {"b = 4", "where: 'b = 4' has '=', which is no comparison", "=="},
      {"b != 4", "where: 'b != 4' has '!=', which is no comparison", "=="},
      {"b =< 4", "where: 'b =< 4' has '=<', which is no comparison", "<="},
      {"1 <= b <= 4", "where: '1 <= b <= 4' has more than one comparison", "one comparison"},
      {"b <= ", "where: '' is no expression over symbols", "batch*seq"},
      {"b * <= 4", "where: 'b *' is no expression over symbols", "batch*seq"},
      {"sqe <= 4", "where: 'sqe' in 'sqe' is none of the symbols with buckets", "did you mean 'seq'?"},
      {"zzzz <= 4", "where: 'zzzz' in 'zzzz' is none of the symbols with buckets",
       "symbols with buckets: b, seq, x[1]"},
      {"b and seq <= 4", "where: 'and' in 'b and seq' is none of the symbols with buckets", "symbols"},
      {"b/0 <= 4", "where: 'b/0' is no expression over symbols", "batch*seq"},
  };
  for (const Case& c : cases) {
    const auto set = make(marks_of({"b=1,2", "seq=4", "x[1]=1"}, c.where));
    EXPECT_EQ(error_of(set), c.what);
    EXPECT_NE(set.error().remedy.find(c.remedy), std::string::npos) << set.error().remedy;
  }
  EXPECT_EQ(error_of(make(marks_of({}, "b <= 4"))), "where: no symbol has buckets");
}

TEST(Buckets, FiltersMayNameOddSymbolsAndRelations) {
  EXPECT_EQ(buckets_of(make(marks_of({"x[1],N-N=1,2,3,fixed"}, "'x[1]' + 'N-N'*2 == max(3, 'x[1]') + 2"))),
            (std::vector<List>{{1, 2}, {3, 1}}));
  BucketMarks marks = marks_of({"past=1,2,4,fixed", "seq=1,2,fixed"}, "total <= 4");
  marks.dims = {{"other", "unbucketed * 2"}, {"total", "past + seq"}};
  EXPECT_EQ(buckets_of(make(marks)), (std::vector<List>{{1, 1}, {1, 2}, {2, 1}, {2, 2}}));
  marks.dims = {{"total", "past + sqe"}};
  EXPECT_EQ(error_of(make(marks)), "dims, total: 'sqe' in 'past + sqe' is none of the symbols with buckets");
}

// Every shape of the ranges, one by one.
bool has_hole(const std::vector<BucketSymbol>& symbols, const std::set<List>& buckets,
              const std::function<bool(const List&)>& admitted, List& shape) {
  if (shape.size() == symbols.size())
    return admitted(shape) && std::ranges::none_of(buckets, [&](const List& b) {
             for (std::size_t i = 0; i < b.size(); ++i)
               if (symbols[i].fixed ? b[i] != shape[i] : b[i] < shape[i]) return false;
             return true;
           });
  const BucketSymbol& s = symbols[shape.size()];
  for (std::int64_t v = s.range.low; v <= s.range.high; ++v) {
    if (s.fixed && std::ranges::find(s.values, v) == s.values.end()) continue;
    shape.push_back(v);
    if (has_hole(symbols, buckets, admitted, shape)) return true;
    shape.pop_back();
  }
  return false;
}

TEST(Buckets, HolesAreThoseOfCountingShapes) {
  std::mt19937 random(8);
  const auto draw = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  std::size_t holes = 0, whole = 0, empty = 0;
  for (int round = 0; round < 3000; ++round) {
    Specs specs;
    const Specs names = {"a", "b", "c"};
    const int n = draw(1, 3);
    for (int i = 0; i < n; ++i) {
      const int high = draw(2, 12), low = draw(0, high);
      const std::string range =
          names[static_cast<std::size_t>(i)] + "=" + std::to_string(low) + ".." + std::to_string(high);
      specs.push_back(range + (draw(0, 1) == 0 ? ":pow2" : ":step=" + std::to_string(draw(1, 5))) +
                      (draw(0, 2) == 0 ? ",fixed" : ""));
    }
    // Falling, rising, with holes inside, and with a product.
    const std::string bound = std::to_string(draw(0, 20)), a = "a";
    const std::string& last = names[static_cast<std::size_t>(n - 1)];
    const Specs filters = {"",
                           a + "*" + last + " <= " + bound,
                           a + " + " + last + " >= " + bound,
                           a + " < " + last,
                           "mod(" + a + ", 3) == 1",
                           "(" + a + " - 4)*(" + a + " - 4) > " + bound,
                           last + " == " + std::to_string(draw(1, 6)),
                           a + "*" + a + " > " + bound + " - " + last,
                           "0 >= mod(" + a + ", 3)",
                           "mod(" + last + ", 3) < 1",
                           "mod(" + a + ", 3) <= 0"};
    const BucketMarks marks = marks_of(specs, filters[static_cast<std::size_t>(draw(0, 10))], 5000);
    const std::int64_t divisor = draw(1, 3);
    const auto symbols = *bucket_symbols(marks);
    auto filter =
        marks.where.empty() ? std::nullopt : std::optional(*ShapeFilter::parse(marks.where, symbols, {}));
    const auto admitted = [&](const List& shape) { return !filter || *filter->holds(shape); };
    std::set<List> buckets;
    BucketGrid grid(symbols);
    List sizes;
    do {
      grid.sizes(sizes);
      if (admitted(sizes) && sizes[0] % divisor == 0) buckets.insert(sizes);
    } while (grid.next());
    List shape;
    const bool hole = has_hole(symbols, buckets, admitted, shape);
    const auto set = make(marks, {{"a", divisor}});
    const std::string context = marks.where + ", " + specs[0] + ", round " + std::to_string(round);
    if (hole) {
      ++holes;
      ASSERT_FALSE(set) << context;
      ASSERT_NE(set.error().what.find(" has no bucket: "), std::string::npos) << context << set.error().what;
      continue;
    }
    if (buckets.empty()) {
      ++empty;
      ASSERT_FALSE(set) << context;
      continue;
    }
    ++whole;
    ASSERT_TRUE(set) << context << to_string(set.error());
    const auto found = buckets_of(set);
    ASSERT_EQ(found, std::vector<List>(buckets.begin(), buckets.end())) << context;
  }
  EXPECT_GT(holes, 500U);
  EXPECT_GT(whole, 500U);
  EXPECT_GT(empty, 5U);
}

TEST(Buckets, AHoleThatIsNamedIsOne) {
  const auto symbols = *bucket_symbols(marks_of({"a=1..100:pow2", "b=1..100:pow2"}));
  ShapeFilter filter = *ShapeFilter::parse("(a - 37)*(b - 41) == 1", symbols, {});
  const std::vector<bool> none(64, false);
  const auto hole = find_hole(symbols, none, &filter, kMaxBoxes);
  ASSERT_TRUE(hole && hole->decided);
  EXPECT_EQ((hole->shape[0] - 37) * (hole->shape[1] - 41), 1);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_GE(hole->bucket[i], hole->shape[i]);
    EXPECT_LT(hole->bucket[i], 2 * hole->shape[i]);
  }
  // A search that may not look at any box gives up rather than say that all is well.
  const auto given_up = find_hole(symbols, none, &filter, 0);
  ASSERT_TRUE(given_up);
  EXPECT_FALSE(given_up->decided);
}

TEST(Buckets, AFilterThatIsHardToDecideIsRefusedInTime) {
  // mod() of a product: intervals say nothing, and no shape is admitted (a square is 0 or 1 modulo 4).
  const auto set = make(marks_of({"a=1..2147483647:max"}, "mod(a*a, 4) == 2"));
  EXPECT_EQ(error_of(set),
            "where: it was not decided whether each shape up to a=2147483647 for which "
            "'mod(a*a, 4) == 2' holds has a bucket");
}

TEST(Buckets, AShapeTakesTheLeastWork) {
  std::mt19937 random(9);
  const auto draw = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  for (int round = 0; round < 500; ++round) {
    const int n = draw(1, 3);
    BucketSet set;
    for (int i = 0; i < n; ++i) {
      BucketSymbol& s = set.symbols.emplace_back();
      s.fixed = draw(0, 3) == 0;
    }
    std::set<List> all;
    for (int i = draw(1, 20); i > 0; --i) {
      List b;
      for (int k = 0; k < n; ++k) b.push_back(draw(0, 6));
      all.insert(b);
    }
    for (const List& b : all) set.sizes.insert(set.sizes.end(), b.begin(), b.end());
    List shape;
    for (int k = 0; k < n; ++k) shape.push_back(draw(0, 6));
    const BucketWork works[] = {{},
                                [](std::span<const std::int64_t> s) { return s[0] / 3; },
                                [](std::span<const std::int64_t> s) { return -s.back(); }};
    const BucketWork& work = works[round % 3];
    std::optional<std::pair<std::int64_t, List>> wanted;
    for (const List& b : all) {
      bool holds = true;
      std::int64_t product = 1;
      for (std::size_t i = 0; i < b.size(); ++i) {
        holds &= set.symbols[i].fixed ? b[i] == shape[i] : b[i] >= shape[i];
        product *= b[i];
      }
      const std::pair candidate{work ? work(b) : product, b};
      if (holds && (!wanted || candidate < *wanted)) wanted = candidate;
    }
    const auto found = choose_bucket(set, shape, work);
    ASSERT_EQ(found.has_value(), wanted.has_value());
    if (!found) continue;
    const List bucket(set.at(*found).begin(), set.at(*found).end());
    ASSERT_EQ(bucket, wanted->second);
  }
}

}  // namespace
}  // namespace graphopt
