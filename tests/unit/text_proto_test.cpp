#include "exports/text_proto.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace graphopt {
namespace {

TEST(TextProto, WritesAFieldPerLine) {
  TextProto to;
  to.text("name", "m");
  to.number("size", -1);
  to.open("input");
  to.word("kind", "KIND_CPU");
  to.numbers("dims", std::vector<std::int64_t>{-1, 0, 9223372036854775807});
  to.numbers("none", {});
  to.open("inner");
  to.close();
  to.close();
  EXPECT_EQ(to.str(),
            "name: \"m\"\n"
            "size: -1\n"
            "input {\n"
            "  kind: KIND_CPU\n"
            "  dims: [-1, 0, 9223372036854775807]\n"
            "  none: []\n"
            "  inner {\n"
            "  }\n"
            "}\n");
}

TEST(TextProto, EscapesWhatIsNotPrintable) {
  const auto of = [](std::string_view value) {
    TextProto to;
    to.text("a", value);
    return to.str();
  };
  EXPECT_EQ(of("a \"b\" \\ 'c' ~"), "a: \"a \\\"b\\\" \\\\ 'c' ~\"\n");
  // Three digits always, so that the 7 that follows is none of them.
  EXPECT_EQ(of(std::string_view("\0007\n\x7F\xC3\xA9", 6)), "a: \"\\0007\\012\\177\\303\\251\"\n");
}

}  // namespace
}  // namespace graphopt
