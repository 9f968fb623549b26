// The list of passes is what docs/adding-a-pass.md promises.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "passes/pass.h"
#include "passes/pipeline.h"

namespace graphopt {
namespace {

TEST(Passes, EachIsNamedOnceAndDescribed) {
  std::set<std::string_view> names;
  for (const PassInfo* p : all_passes()) {
    EXPECT_TRUE(names.insert(p->name).second) << p->name;
    EXPECT_FALSE(p->summary.empty()) << p->name;
    EXPECT_LE(p->name.size() + p->summary.size(), 90u) << p->name << ": the summary does not fit a help line";
    EXPECT_EQ(find_pass(p->name), p);
    EXPECT_GE(p->level, 1);
  }
  EXPECT_EQ(find_pass("no-such-pass"), nullptr);
}

TEST(Passes, EachHasGoldenCasesThatApplyAndThatMustNot) {
  const std::filesystem::path golden = std::filesystem::path(GRAPHOPT_TESTS_DIR) / "golden";
  for (const PassInfo* p : all_passes()) {
    int applies = 0, keeps = 0;
    const std::filesystem::path folder = golden / p->name;
    ASSERT_TRUE(std::filesystem::is_directory(folder)) << p->name << " has no golden folder";
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (!entry.is_regular_file()) continue;
      std::stringstream text;
      text << std::ifstream(entry.path()).rdbuf();
      (text.str().find("\n=== unchanged") == std::string::npos ? applies : keeps) += 1;
    }
    EXPECT_GT(applies, 0) << p->name;
    EXPECT_GT(keeps, 0) << p->name;
  }
}

// Each says why it refused something, and a case holds it to the words.
TEST(Passes, EachHasAGoldenCaseThatNamesAReason) {
  const std::filesystem::path golden = std::filesystem::path(GRAPHOPT_TESTS_DIR) / "golden";
  for (const PassInfo* p : all_passes()) {
    int reasons = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(golden / p->name)) {
      if (!entry.is_regular_file()) continue;
      std::stringstream text;
      text << std::ifstream(entry.path()).rdbuf();
      const std::string head = text.str().substr(0, text.str().find("\n=== before"));
      reasons += head.find("\n# EXPLAIN: ") != std::string::npos ? 1 : 0;
    }
    EXPECT_GT(reasons, 0) << p->name;
  }
}

TEST(Passes, AnUnknownNameIsAUsageErrorWithTheNearest) {
  Model m;
  Inference infer(m, {});
  PipelineOptions o;
  o.passes = {"drop-identitty"};
  const auto r = run_pipeline(m, infer, o);
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.error().kind, ErrorKind::Usage);
  EXPECT_NE(r.error().remedy.find("drop-identity"), std::string::npos) << r.error().remedy;
}

}  // namespace
}  // namespace graphopt
