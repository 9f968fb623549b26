// The index of interned records: equal records have one id, whatever their hashes have in common.
#include "support/intern_index.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace graphopt {
namespace {

class Texts {
 public:
  // Of each hash only the bits of `mask` differ; the others are those of `rest`.
  Texts(std::size_t slots, std::uint64_t mask, std::uint64_t rest)
      : index_(slots), mask_(mask), rest_(rest) {}

  std::uint32_t intern(const std::string& text) {
    return index_.find_or_add(
        hash(text), [&](std::uint32_t id) { return texts_[id] == text; },
        [&] {
          texts_.push_back(text);
          return static_cast<std::uint32_t>(texts_.size() - 1);
        });
  }
  std::uint32_t find(const std::string& text) const {
    return index_.find(hash(text), [&](std::uint32_t id) { return texts_[id] == text; });
  }
  std::size_t size() const { return texts_.size(); }

 private:
  std::uint64_t hash(const std::string& text) const {
    return (std::hash<std::string>{}(text) * 0x9E3779B97F4A7C15u & mask_) | rest_;
  }
  InternIndex index_;
  std::uint64_t mask_, rest_;
  std::vector<std::string> texts_;
};

TEST(InternIndex, AnEmptyIndexFindsNothing) {
  const InternIndex index;
  EXPECT_EQ(index.find(7, [](std::uint32_t) { return true; }), InternIndex::kNone);
}

TEST(InternIndex, AgreesWithAMap) {
  std::mt19937 random(7);
  for (const std::size_t slots : {std::size_t{0}, std::size_t{5}, std::size_t{4096}}) {
    Texts texts(slots, ~std::uint64_t{0}, 0);
    std::unordered_map<std::string, std::uint32_t> known;
    for (int i = 0; i < 20'000; ++i) {
      const std::string text = "t" + std::to_string(random() % 9000);
      const auto it = known.find(text);
      EXPECT_EQ(texts.find(text), it == known.end() ? InternIndex::kNone : it->second);
      EXPECT_EQ(texts.intern(text), it == known.end() ? known.size() : it->second);
      known.emplace(text, static_cast<std::uint32_t>(known.size()));
    }
    EXPECT_EQ(texts.size(), known.size());
  }
}

// All entries in one row of slots, also at the end of the table, where the row goes on at its start.
TEST(InternIndex, EqualHashesAreToldApartByTheRecords) {
  using Bits = std::pair<std::uint64_t, std::uint64_t>;
  for (const auto& [mask, rest] : {Bits{0, 0}, Bits{0, 0xFFFFFFFF}, Bits{0xF, 0}}) {
    Texts texts(4, mask, rest);
    for (std::uint32_t i = 0; i < 300; ++i) EXPECT_EQ(texts.intern(std::to_string(i)), i);
    for (std::uint32_t i = 0; i < 300; ++i) EXPECT_EQ(texts.find(std::to_string(i)), i);
    EXPECT_EQ(texts.find("300"), InternIndex::kNone);
  }
}

}  // namespace
}  // namespace graphopt
