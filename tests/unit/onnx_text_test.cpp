// What is taken for ONNX text.
#include "onnx/text.h"

#include <gtest/gtest.h>

#include <string>

namespace graphopt {
namespace {

TEST(OnnxText, BeginsWithSpaceAMarkOrAName) {
  EXPECT_TRUE(looks_like_text("<ir_version: 8>\ng () => () {}"));
  EXPECT_TRUE(looks_like_text("\n  # a comment\n<ir_version: 8>"));
  EXPECT_TRUE(looks_like_text("g (float x) => (float y) { y = Relu (x) }"));
  EXPECT_FALSE(looks_like_text(""));
  EXPECT_FALSE(looks_like_text("\x08\x08\x12\x03pt"));
}

// Unknown fields come first in a saved model, and the tag of field 1 with a length is a line feed.
TEST(OnnxText, UnknownFieldsInFrontAreBinary) {
  EXPECT_FALSE(looks_like_text(std::string("\x0a\x01u\x08\x02\x08\x04", 7)));
  EXPECT_FALSE(looks_like_text(std::string("\x20\x01\x08\x04", 4)));
}

}  // namespace
}  // namespace graphopt
