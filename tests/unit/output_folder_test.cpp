#include "support/output_folder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

namespace graphopt {
namespace {

namespace fs = std::filesystem;

class OutputFolders : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "graphopt-folder-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  // What is there: files with their text, folders with "/".
  std::map<std::string, std::string> all() const {
    std::map<std::string, std::string> out;
    for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
      const std::string name = fs::relative(entry.path(), folder_).string();
      std::ostringstream text;
      if (entry.is_regular_file()) text << std::ifstream(entry.path()).rdbuf();
      else text << "/";
      out[name] = text.str();
    }
    return out;
  }

  void write(const std::string& text, bool place = true) {
    auto folder = OutputFolder::open(path("f"));
    ASSERT_TRUE(folder);
    ASSERT_TRUE((*folder)->write("a/1/x", text));
    ASSERT_TRUE((*folder)->make("b/c"));
    if (place) {
      EXPECT_TRUE((*folder)->place());
    }
  }

  fs::path folder_;
};

using Tree = std::map<std::string, std::string>;
Tree tree(const std::string& text) {
  return {{"f", "/"}, {"f/a", "/"}, {"f/a/1", "/"}, {"f/a/1/x", text}, {"f/b", "/"}, {"f/b/c", "/"}};
}

TEST_F(OutputFolders, AppearsWholeAndReplacesWhole) {
  write("one");
  EXPECT_EQ(all(), tree("one"));
  std::ofstream(path("f/a/other")) << "goes";
  write("two");
  EXPECT_EQ(all(), tree("two"));
}

TEST_F(OutputFolders, IsLeftAloneUntilItIsPlaced) {
  write("one");
  write("two", false);
  EXPECT_EQ(all(), tree("one"));
}

TEST_F(OutputFolders, TakesWhatAnInterruptedRunLeft) {
  fs::create_directories(path(".f.graphopt/new/deep"));
  std::ofstream(path(".f.graphopt/new/deep/x")) << "left";
  EXPECT_TRUE(OutputFolder::is_unfinished(path("f")));
  write("one");
  EXPECT_EQ(all(), tree("one"));
  EXPECT_FALSE(OutputFolder::is_unfinished(path("f")));
}

TEST_F(OutputFolders, ReplacesAFileAndALinkButNotWhatItLeadsTo) {
  std::ofstream(path("f")) << "a file";
  write("one");
  EXPECT_EQ(all(), tree("one"));
  fs::remove_all(path("f"));
  fs::create_directory(path("elsewhere"));
  std::ofstream(path("elsewhere/kept")) << "kept";
  fs::create_directory_symlink("elsewhere", path("f"));
  write("two");
  Tree wanted = tree("two");
  wanted["elsewhere"] = "/";
  wanted["elsewhere/kept"] = "kept";
  EXPECT_EQ(all(), wanted);
}

TEST_F(OutputFolders, Goes) {
  write("one");
  {
    auto folder = OutputFolder::open(path("f"));
    ASSERT_TRUE(folder);
    ASSERT_TRUE((*folder)->remove());
    ASSERT_TRUE((*folder)->remove());  // nothing is there any more
  }
  EXPECT_EQ(all(), Tree{});
}

TEST_F(OutputFolders, SaysWhatIsInTheWay) {
  std::ofstream(path(".f.graphopt")) << "a file";
  const auto folder = OutputFolder::open(path("f"));
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().kind, ErrorKind::Output);
  EXPECT_EQ(folder.error().place.file, path(".f.graphopt"));
  EXPECT_FALSE(OutputFolder::open(path("none/f")));
}

}  // namespace
}  // namespace graphopt
