// The string pool: ids, fixed names, lifetime of text, memory and speed class at 10^6 names.
#include "support/string_pool.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <string>
#include <vector>

#include "support/known_names.h"

namespace graphopt {
namespace {

TEST(StringPool, EqualTextsHaveEqualIds) {
  StringPool pool;
  const NameId a = pool.intern("conv_1"), b = pool.intern("conv_2");
  EXPECT_NE(a, b);
  EXPECT_EQ(pool.intern(std::string("conv_") + "1"), a);
  EXPECT_EQ(pool.intern_view("conv_2"), b);
  EXPECT_EQ(pool.text(a), "conv_1");
  EXPECT_EQ(pool.text(b), "conv_2");
}

TEST(StringPool, TheEmptyNameIsZeroAndNoneHasNoText) {
  StringPool pool;
  EXPECT_EQ(pool.intern(""), kEmptyName);
  EXPECT_EQ(pool.intern(std::string_view{}), kEmptyName);
  EXPECT_EQ(pool.find(""), kEmptyName);
  EXPECT_EQ(pool.text(NameId{}), "");
  EXPECT_EQ(pool.text(NameId{std::uint32_t{4'000'000'000U}}), "");
}

TEST(StringPool, KnownNamesHaveTheirFixedIds) {
  const StringPool pool;
  EXPECT_EQ(pool.size(), kKnownNames.size());
  for (std::size_t i = 0; i < kKnownNames.size(); ++i) {
    EXPECT_EQ(pool.find(kKnownNames[i]), NameId{i}) << kKnownNames[i];
    EXPECT_EQ(pool.text(NameId{i}), kKnownNames[i]);
  }
  EXPECT_EQ(pool.text(names::axis), "axis");
  EXPECT_EQ(pool.text(names::then_branch), "then_branch");
  EXPECT_EQ(pool.text(names::transB), "transB");
}

TEST(StringPool, FindAddsNothing) {
  StringPool pool;
  const std::size_t before = pool.size();
  EXPECT_FALSE(pool.find("never seen"));
  EXPECT_EQ(pool.size(), before);
  const NameId id = pool.intern("never seen");
  EXPECT_EQ(pool.find("never seen"), id);
}

TEST(StringPool, InternCopiesAndViewDoesNot) {
  StringPool pool;
  std::string text = "some name";
  const NameId copied = pool.intern(text);
  std::string other = "other name";
  const NameId seen = pool.intern_view(other);
  EXPECT_NE(pool.text(copied).data(), text.data());
  EXPECT_EQ(pool.text(seen).data(), other.data());
  text.assign(text.size(), '#');
  EXPECT_EQ(pool.text(copied), "some name");
}

TEST(StringPool, TextWithZeroBytesAndLongTextsAreKeptWhole) {
  StringPool pool;
  const std::string zero("a\0b", 3), longer("a\0c", 3), large(1'000'000, 'x');
  const NameId z = pool.intern(zero), l = pool.intern(longer), big = pool.intern(large);
  EXPECT_NE(z, l);
  EXPECT_NE(z, pool.intern("a"));
  EXPECT_EQ(pool.text(z), zero);
  EXPECT_EQ(pool.text(big), large);
  EXPECT_EQ(pool.intern(large), big);
}

TEST(StringPool, TextStaysWhereItIsWhenThePoolGrowsAndMoves) {
  StringPool pool;
  const NameId first = pool.intern("first of many");
  const char* const place = pool.text(first).data();
  std::vector<NameId> ids;
  for (int i = 0; i < 100'000; ++i) ids.push_back(pool.intern("name_" + std::to_string(i)));
  StringPool moved = std::move(pool);
  EXPECT_EQ(moved.text(first).data(), place);
  for (int i = 0; i < 100'000; ++i) {
    const std::string name = "name_" + std::to_string(i);
    ASSERT_EQ(moved.text(ids[static_cast<std::size_t>(i)]), name);
    ASSERT_EQ(moved.find(name), ids[static_cast<std::size_t>(i)]);
  }
}

TEST(StringPool, IdsFollowTheOrderOfInterning) {
  StringPool a, b;  // two pools with two seeds
  for (int i = 0; i < 5000; ++i) {
    const std::string name = "/layer." + std::to_string(i * 7919 % 5000) + "/out";
    ASSERT_EQ(a.intern(name), b.intern(name));
    ASSERT_EQ(a.text(NameId{kKnownNames.size() + static_cast<std::size_t>(i)}), name);
  }
}

TEST(StringPool, AMillionNamesTakeUnderSixtyBytesEachBeyondTheirText) {
  constexpr std::size_t kCount = 1'000'000;
  std::string text;
  std::vector<std::size_t> ends;
  for (std::size_t i = 0; i < kCount; ++i) {
    text += "/model/layers." + std::to_string(i) + "/attn/Add_output_0";
    ends.push_back(text.size());
  }
  const auto in_use = [] {
    const struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
  };
  const std::size_t before = in_use();
  StringPool pool;
  std::size_t begin = 0;
  for (const std::size_t end : ends) {
    pool.intern(std::string_view(text).substr(begin, end - begin));
    begin = end;
  }
  const std::size_t used = in_use() - before;
  if (used < kCount) GTEST_SKIP() << "the allocator does not report to mallinfo2";
  EXPECT_EQ(pool.size(), kCount + kKnownNames.size());
  EXPECT_LT((used - text.size()) / kCount, 60U);
}

}  // namespace
}  // namespace graphopt
