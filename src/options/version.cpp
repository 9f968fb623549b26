// The version is that of the project line of CMakeLists.txt; the macros of the header must say the same.
#include "graphopt/version.h"

namespace graphopt {
namespace {

constexpr std::string_view kVersion = GRAPHOPT_VERSION;

// Returns whether the text begins with the number and then has a '.', or ends; removes that part.
constexpr bool take(std::string_view& text, int number) {
  int found = 0;
  std::size_t digits = 0;
  for (; digits < text.size() && text[digits] != '.'; ++digits) found = 10 * found + (text[digits] - '0');
  text.remove_prefix(digits + (digits < text.size() ? 1 : 0));
  return digits > 0 && found == number;
}

constexpr bool matches_header() {
  std::string_view text = kVersion;
  return take(text, GRAPHOPT_VERSION_MAJOR) && take(text, GRAPHOPT_VERSION_MINOR) &&
         take(text, GRAPHOPT_VERSION_PATCH) && text.empty();
}
static_assert(matches_header(), "include/graphopt/version.h and the project line of CMakeLists.txt differ");

}  // namespace

std::string_view version() { return kVersion; }

}  // namespace graphopt
