// Parts are compared from left to right. After a `**` the rest of the pattern is tried at each further part;
// only the last `**` has to be tried again, since the parts before it are as short as they can be. So the
// time is at most the product of both numbers of parts.
#include "batch/glob.h"

#include <fnmatch.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace graphopt {
namespace {

std::vector<std::string> parts_of(std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, end);
    if (!part.empty() && part != ".") parts.emplace_back(part);
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return parts;
}

}  // namespace

bool path_matches(std::string_view pattern, std::string_view path) {
  constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  const bool is_of_last = pattern.find('/') == std::string_view::npos && pattern != "**";
  const std::vector<std::string> want = parts_of(pattern);
  std::vector<std::string> have = parts_of(path);
  if (is_of_last && have.size() > 1) have.erase(have.begin(), have.end() - 1);
  std::size_t w = 0, h = 0, after_stars = kNone, tried_from = 0;
  while (h < have.size()) {
    if (w < want.size() && want[w] == "**") {
      after_stars = ++w;
      tried_from = h;
    } else if (w < want.size() && ::fnmatch(want[w].c_str(), have[h].c_str(), 0) == 0) {
      ++w;
      ++h;
    } else if (after_stars != kNone) {
      w = after_stars;
      h = ++tried_from;
    } else {
      return false;
    }
  }
  while (w < want.size() && want[w] == "**") ++w;
  return w == want.size();
}

}  // namespace graphopt
