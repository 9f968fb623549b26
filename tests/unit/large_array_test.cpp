// Arrays that grow: what was in them stays, at every size where the memory changes its kind.
#include "support/large_array.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace graphopt {
namespace {

struct alignas(64) Line {
  std::uint64_t number = 7;
  std::uint64_t more[7] = {};
};

bool aligned(const void* p, std::size_t to) { return reinterpret_cast<std::uintptr_t>(p) % to == 0; }

TEST(LargeArray, KeepsElementsWhileItGrows) {
  LargeArray<Line> a, neighbour;  // two that grow in turns stand in each other's way
  const std::size_t count = 9 * kLargeMemory / sizeof(Line) + 1;
  for (std::uint64_t i = 0; i < count; ++i) {
    a.push_back({i, {~i}});
    neighbour.push_back({~i, {}});
  }
  ASSERT_EQ(a.size(), count);
  EXPECT_TRUE(aligned(a.data(), kLargePage));
  for (std::uint64_t i = 0; i < count; ++i) {
    ASSERT_EQ(a[i].number, i);
    ASSERT_EQ(a[i].more[0], ~i);
    ASSERT_EQ(neighbour[i].number, ~i);
  }
}

TEST(LargeArray, SmallOnesAreAligned) {
  LargeArray<Line> a;
  for (int i = 0; i < 100; ++i) {
    a.push_back({});
    ASSERT_TRUE(aligned(a.data(), alignof(Line)));
  }
}

TEST(LargeArray, ResizeMakesNewElementsAsTheyAreDeclared) {
  LargeArray<Line> a;
  a.resize(3);
  a[1].number = 1;
  a.resize(2 * kLargeMemory / sizeof(Line));
  EXPECT_EQ(a[1].number, 1U);
  EXPECT_EQ(a.back().number, 7U);
  a.back().number = 5;
  a.resize(a.size() - 1);
  a.resize(a.size() + 1);  // memory that was used before
  EXPECT_EQ(a.back().number, 7U);
}

TEST(LargeArray, TakesAnElementOfItsOwn) {
  LargeArray<std::uint64_t> a;
  a.push_back(42);
  for (std::size_t i = 0; i < 3 * kLargeMemory / sizeof(std::uint64_t); ++i) a.push_back(a[0]);
  EXPECT_EQ(a.back(), 42U);
}

TEST(LargeArray, Appends) {
  LargeArray<std::uint32_t> a;
  const std::vector<std::uint32_t> more(kLargeMemory / 8, 3);
  a.append({});
  EXPECT_TRUE(a.empty());
  for (int i = 0; i < 5; ++i) a.append(more);
  a.pop_back();
  EXPECT_EQ(a.size(), 5 * more.size() - 1);
  EXPECT_EQ(a.back(), 3U);
}

TEST(LargeArray, Moves) {
  LargeArray<Line> a(kLargeMemory / sizeof(Line)), small(2);
  const Line* const at = a.data();
  LargeArray<Line> b = std::move(a);
  EXPECT_EQ(b.data(), at);
  small = std::move(b);
  EXPECT_EQ(small.data(), at);
  EXPECT_EQ(small.size(), kLargeMemory / sizeof(Line));
}

TEST(LargeArray, TellsThatThereIsNoMemory) {
  LargeArray<Line> a(1);
  EXPECT_THROW(a.reserve(static_cast<std::size_t>(-1) / 4), std::bad_alloc);
  EXPECT_THROW(a.reserve(std::size_t{1} << 50), std::bad_alloc);
  EXPECT_EQ(a.size(), 1U);
  EXPECT_EQ(a[0].number, 7U);
}

}  // namespace
}  // namespace graphopt
