// docs/hoisting.md and the code name the same reasons and kinds.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "hoist/moves/refusal.h"

namespace graphopt {
namespace {

const std::filesystem::path kRoot = std::filesystem::path(GRAPHOPT_TESTS_DIR).parent_path();

std::vector<std::string> lines_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::vector<std::string> out;
  for (std::string line; std::getline(file, line);) out.push_back(line);
  return out;
}

// The texts between `before` and `after` in all lines that begin with `before`, within the section `title`.
std::vector<std::string> texts(const std::vector<std::string>& page, std::string_view title,
                               std::string_view before, std::string_view after) {
  std::vector<std::string> out;
  bool inside = false;
  for (const std::string& line : page) {
    if (line.starts_with("## ")) inside = std::string_view(line).substr(3) == title;
    if (!inside || !line.starts_with(before)) continue;
    const auto begin = before.size();
    if (const auto end = line.find(after, begin); end != std::string::npos)
      out.push_back(line.substr(begin, end - begin));
  }
  std::ranges::sort(out);
  return out;
}

class HoistingPage : public testing::Test {
 protected:
  void SetUp() override {
    page_ = lines_of(kRoot / "docs/hoisting.md");
    ASSERT_FALSE(page_.empty()) << "there is no " << kRoot / "docs/hoisting.md";
  }
  std::vector<std::string> page_;
};

TEST_F(HoistingPage, ExplainsEachReasonOfARefusal) {
  std::vector<std::string> reasons;
  for (const RefusalText& r : kRefusals)
    if (!r.text.empty()) reasons.emplace_back(r.text);
  std::ranges::sort(reasons);
  EXPECT_EQ(texts(page_, "Refusals", "| `", "` |"), reasons);
}

TEST_F(HoistingPage, HasASectionForEachKindOfMove) {
  const auto sections = texts(page_, "Kinds of moves", "### `", "`");
  EXPECT_EQ(texts(page_, "Kinds of moves", "| [`", "`]"), sections);
  // Kinds are written as text where the search tries them.
  const std::string all = [] {
    std::string out;
    for (const std::string& line : lines_of(kRoot / "src/hoist/search.cpp")) out += line + '\n';
    return out;
  }();
  for (const std::string& kind : sections) EXPECT_NE(all.find('"' + kind + '"'), std::string::npos) << kind;
}

}  // namespace
}  // namespace graphopt
