// Parts of a batch that need no process: patterns, names, shards, contents of files, rules.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "batch/file_state.h"
#include "batch/find_models.h"
#include "batch/glob.h"
#include "batch/model_rules.h"
#include "batch/record.h"
#include "batch/shard.h"

namespace graphopt {
namespace {

// A folder that is removed at the end.
struct Folder {
  Folder() : path(std::filesystem::temp_directory_path() / ("batch_test." + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(path / name, std::ios::binary) << text;
    return (path / name).string();
  }
  std::filesystem::path path;
};

TEST(Glob, IsAboutTheLastPartOrTheWholePath) {
  for (const char* path : {"a.onnx", "x/a.onnx", "x/y/a.onnx"}) {
    EXPECT_TRUE(path_matches("*.onnx", path)) << path;
    EXPECT_TRUE(path_matches("**", path)) << path;
    EXPECT_TRUE(path_matches("**/a.onnx", path)) << path;
    EXPECT_TRUE(path_matches("**/*", path)) << path;
    EXPECT_FALSE(path_matches("*.onn", path)) << path;
    EXPECT_FALSE(path_matches("", path)) << path;
  }
  EXPECT_TRUE(path_matches("x/*", "x/a.onnx"));
  EXPECT_FALSE(path_matches("x/*", "x/y/a.onnx"));
  EXPECT_TRUE(path_matches("x/**", "x/y/a.onnx"));
  EXPECT_FALSE(path_matches("x/**", "y/x/a.onnx"));
  EXPECT_TRUE(path_matches("**/x/**/b", "a/x/x/y/b"));
  EXPECT_TRUE(path_matches("a/**/b/**/c", "a/b/b/x/c"));
  EXPECT_FALSE(path_matches("a/**/b/**/c", "a/x/c"));
  EXPECT_TRUE(path_matches("[ab]?.onnx", "x/b1.onnx"));
  EXPECT_FALSE(path_matches("[!ab]?.onnx", "x/b1.onnx"));
  EXPECT_TRUE(path_matches("./x//a", "x/a"));
}

TEST(Glob, EndsSoonOnManyStars) {
  std::string pattern, path;
  for (int i = 0; i < 2000; ++i) {
    pattern += "**/a/";
    path += "a/";
  }
  EXPECT_FALSE(path_matches(pattern + "b", path + "c"));
}

TEST(OutputName, IsThatOfAModel) {
  EXPECT_EQ(output_name("x/a.onnx"), "x/a.onnx");
  EXPECT_EQ(output_name("x/a.textproto"), "x/a.textproto");
  EXPECT_EQ(output_name("x/a.pb"), "x/a.onnx");
  EXPECT_EQ(output_name("x.y/a"), "x.y/a.onnx");
  EXPECT_EQ(output_name("a"), "a.onnx");
}

TEST(Shards, HaveEachNameOnce) {
  for (const std::uint32_t count : {1U, 2U, 3U, 7U, 1000U}) {
    std::uint64_t end = 0;
    for (std::uint32_t i = 1; i <= count; ++i) {
      EXPECT_EQ(range_of({i, count}).begin, end);
      end = range_of({i, count}).end;
    }
    EXPECT_EQ(end, std::uint64_t{1} << 62);
    for (const char* name : {"a.onnx", "b/c.onnx", ""}) {
      int has = 0;
      for (std::uint32_t i = 1; i <= count; ++i) has += is_in({i, count}, name) ? 1 : 0;
      EXPECT_EQ(has, 1) << name << ' ' << count;
    }
  }
  EXPECT_EQ(range_of({4'000'000'000U, 4'000'000'000U}).end, std::uint64_t{1} << 62);
}

TEST(FileState, ContentIsTheSameForHolesAndZeros) {
  const Folder folder;
  const std::size_t size = (std::size_t{5} << 20) + 17;
  std::string text(size, '\0');
  text[std::size_t{3} << 20] = 'x';
  const std::string full = folder.file("full", text), hole = folder.file("hole", "");
  std::filesystem::resize_file(hole, size);
  std::fstream(hole, std::ios::in | std::ios::out | std::ios::binary).seekp(std::streamoff{3} << 20) << 'x';
  const auto a = state_of(full, true), b = state_of(hole, true);
  ASSERT_TRUE(a && b);
  EXPECT_EQ(a->content.size(), 32U);
  EXPECT_EQ(a->content, b->content);
  // One byte elsewhere, one byte less, and the same byte in another block are other contents.
  std::vector<std::string> others = {text, text.substr(0, size - 1), std::string(size, '\0')};
  others[0][size - 1] = 'y';
  others[2][std::size_t{2} << 20] = 'x';
  for (const std::string& other : others)
    EXPECT_NE(state_of(folder.file("other", other), true)->content, a->content);
  EXPECT_NE(state_of(folder.file("empty", ""), true)->content,
            state_of(folder.file("zero", std::string(1, '\0')), true)->content);
  EXPECT_FALSE(state_of((folder.path / "nothing").string()));
  EXPECT_FALSE(state_of(folder.path.string(), true));  // a folder
}

TEST(ModelRules, SetOptions) {
  const Folder folder;
  const std::string path =
      folder.file("rules",
                  R"([{"match": "a*", "options": {"level": 3, "dim": ["n=2", "m=3"], "--exact": true,
                                      "strip": ["doc", "names"]}}])");
  const auto rules = read_model_rules(path);
  ASSERT_TRUE(rules) << rules.error().what;
  Options options;
  apply_rule(rules->at(0), options);
  EXPECT_EQ(options.clean_up.level, 3);
  EXPECT_TRUE(options.clean_up.exact);
  EXPECT_TRUE(options.strip.doc && options.strip.names && !options.strip.metadata);
  EXPECT_EQ(options.infer.dims.size(), 2U);
  EXPECT_TRUE(read_model_rules("")->empty());
}

TEST(Records, AreReadAsTheyWereWritten) {
  const Folder folder;
  Record r;
  r.version = "1.2.3";
  r.input = {"/zoo/a.onnx", {3, -4, 5, "0123"}};
  r.data = {{"a.data", {6, 7, 8, "89"}}};
  r.asked = {{"/p.json", {1, 2, 3, "45"}}};
  r.options = {{"level", 2}};
  r.status = 3;
  r.error = "it \"failed\"\n";
  r.written = {{"a.onnx", {9, 0, 0, "ab"}}};
  r.begun = {"a.manifest.json"};
  r.figures = {1, 2, 3, 4};
  const std::string path = (folder.path / "deep" / "a.json").string();
  ASSERT_TRUE(write_record(path, r));
  const auto back = read_record(path);
  ASSERT_TRUE(back);
  EXPECT_EQ(to_json(*back), to_json(r));
  EXPECT_EQ(back->input.state.modified, -4);
  // Cut anywhere, it is no record.
  const std::string text = to_json(r);
  for (std::size_t size = 0; size + 2 < text.size(); size += 7)
    EXPECT_FALSE(read_record(folder.file("cut.json", text.substr(0, size)))) << size;
}

TEST(Records, NameTheFilesOfTheirOptions) {
  Options options;
  EXPECT_TRUE(asked_files(options).empty());
  EXPECT_FALSE(recorded_check(options));
  options.buckets.file = "/b.json";
  options.partition.devices = "nnapi";
  options.check.inputs = {"x=/x.npy"};
  options.check.seeds = 2;
  const std::vector<std::string> files = asked_files(options);
  ASSERT_GE(files.size(), 3U);
  EXPECT_EQ(files.front(), "/b.json");
  EXPECT_EQ(files.back(), "/x.npy");
  EXPECT_EQ(recorded_options(options).at("devices"), "nnapi");
  EXPECT_EQ(recorded_check(options)->at("check"), 2);
}

}  // namespace
}  // namespace graphopt
