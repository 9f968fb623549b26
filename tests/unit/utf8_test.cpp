#include "support/utf8.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace graphopt {
namespace {

TEST(Utf8, TakesEachLengthUpToTheLastCharacter) {
  for (const std::string_view text :
       {"", "abc", "\x7F", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80",
        "\xEF\xBF\xBF", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"})
    EXPECT_TRUE(is_utf8(text)) << text;
  EXPECT_TRUE(is_utf8(std::string_view("a\0b", 3)));
}

TEST(Utf8, RefusesWhatIsCutOverlongOrNoCharacter) {
  for (const std::string_view text :
       {"\x80", "a\xBF", "\xC2", "\xC2z", "\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xE2\x82", "\xED\xA0\x80",
        "\xED\xBF\xBF", "\xF0\x8F\xBF\xBF", "\xF0\x9F\x98", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF"})
    EXPECT_FALSE(is_utf8(text));
}

}  // namespace
}  // namespace graphopt
