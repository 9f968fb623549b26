// A model too large for one message goes through files, which end with it.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "onnx/reader.h"
#include "runtime/saved_for_runtime.h"

namespace graphopt {
namespace {

namespace fs = std::filesystem;

Model small() {
  std::vector<Warning> warnings;
  std::string weight;
  for (int i = 0; i < 400; ++i) weight += (i == 0 ? "" : ",") + std::to_string(i);
  auto loaded = load_model_from_memory(
      "<ir_version: 10, opset_import: [\"\" : 21]>\ng (float[400] x) => (float[400] y) <float[400] w = {" +
          weight + "}> { y = Add (x, w) }",
      "case", "", warnings);
  EXPECT_TRUE(loaded);
  return *std::move(loaded);
}

TEST(SavedForRuntime, ALargeModelIsInFilesAsLongAsItIsWanted) {
  const fs::path room = fs::path(::testing::TempDir()) / "graphopt-room";
  fs::create_directories(room);
  const Model model = small();
  {
    SavedForRuntime saved(room.string(), 500);
    ASSERT_TRUE(saved.save(model, {}, "."));
    EXPECT_TRUE(saved.source().bytes.empty());
    ASSERT_TRUE(fs::exists(saved.source().path));
    EXPECT_EQ(fs::path(saved.source().path).parent_path().parent_path(), room);
    std::vector<Warning> warnings;
    const auto again = load_model({saved.source().path, {}, 0, true}, warnings);
    ASSERT_TRUE(again) << again.error().what;
    EXPECT_EQ(again->external_data_bytes, 1600U);
    ASSERT_TRUE(saved.save(model, {}, "."));  // a second one takes the place of the first
    EXPECT_EQ(std::distance(fs::directory_iterator(room), fs::directory_iterator()), 1);
  }
  EXPECT_TRUE(fs::is_empty(room));
  SavedForRuntime in_memory(room.string());
  ASSERT_TRUE(in_memory.save(model, {}, "."));
  EXPECT_TRUE(in_memory.source().path.empty());
  EXPECT_GT(in_memory.source().bytes.size(), 1600U);
  EXPECT_TRUE(fs::is_empty(room));
  fs::remove(room);
}

TEST(SavedForRuntime, SaysThatItNeedsAFile) {
  SavedForRuntime saved("/nonexistent", 500);
  const Status done = saved.save(small(), {}, ".");
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::Output);
  EXPECT_NE(done.error().what.find("2 GiB"), std::string::npos);
}

}  // namespace
}  // namespace graphopt
