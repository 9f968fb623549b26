// Near names: distances worked out by hand, and what must not be offered.
#include "support/nearest.h"

#include <gtest/gtest.h>

#include <array>

namespace graphopt {
namespace {

using Names = std::vector<std::string>;

TEST(Nearest, DistanceCountsEachEditOnce) {
  EXPECT_EQ(edit_distance("", "", 3), 0u);
  EXPECT_EQ(edit_distance("", "abc", 3), 3u);
  EXPECT_EQ(edit_distance("dept", "depth", 3), 1u);
  EXPECT_EQ(edit_distance("kitten", "sitting", 5), 3u);
  EXPECT_EQ(edit_distance("batch", "bathc", 3), 1u);  // neighbours swapped
  EXPECT_EQ(edit_distance("Batch", "bAtCH", 3), 0u);
  EXPECT_EQ(edit_distance("ca", "abc", 3), 3u);  // the restricted form: 3, not 2
}

TEST(Nearest, DistanceStopsAboveTheLimit) {
  EXPECT_EQ(edit_distance("kitten", "sitting", 2), 3u);
  EXPECT_EQ(edit_distance("a", "abcdefgh", 2), 3u);
  EXPECT_EQ(edit_distance("xxxxxxxx", "yyyyyyyy", 1), 2u);
  // One row above the limit, and a swap brings it down again.
  EXPECT_EQ(edit_distance("ba", "ab", 1), 1u);
  EXPECT_EQ(edit_distance("badc", "abcd", 2), 2u);
}

TEST(Nearest, NearestFirstThenInTheGivenOrder) {
  const Names names = {"depth", "fewest", "grow", "dep"};
  EXPECT_EQ(nearest("dept", names), (Names{"depth", "dep"}));  // both 1 off
  EXPECT_EQ(nearest("grwo", names), (Names{"grow"}));
}

TEST(Nearest, OffersNothingFarOff) {
  EXPECT_EQ(nearest("zzz", Names{"depth", "grow"}), Names{});
  EXPECT_EQ(nearest("x", Names{"batch", "sequence"}), Names{});
  EXPECT_EQ(nearest("4", Names{"0", "1", "22"}), Names{});
  EXPECT_EQ(nearest("", Names{"batch"}), Names{});
  EXPECT_EQ(nearest("batch", Names{}), Names{});
}

TEST(Nearest, FindsParts) {
  const Names names = {"fold-constants", "drop-identity", "unfolded"};
  EXPECT_EQ(nearest("fold", names), (Names{"fold-constants"}));
  EXPECT_EQ(nearest("identity", names), (Names{"drop-identity"}));
}

TEST(Nearest, SuggestionIsASentence) {
  EXPECT_EQ(suggest("bach", Names{"batch", "back"}, "symbols"), "did you mean 'batch' or 'back'?");
  EXPECT_EQ(suggest("zzz", Names{"batch", "seq"}, "symbols"), "symbols: batch, seq");
  EXPECT_EQ(suggest("zzz", Names{}, "symbols of the model"), "there are no symbols of the model");
  Names many;
  for (int i = 0; i < 1000; ++i) many.push_back("input_" + std::to_string(i));
  const std::string text = suggest("zzz", many, "inputs");
  EXPECT_LT(text.size(), 130u);
  EXPECT_NE(text.find("(1000 in all)"), std::string::npos);
}

}  // namespace
}  // namespace graphopt
