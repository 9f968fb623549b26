// Near names by edit distance: the restricted Damerau-Levenshtein distance (no text between the letters of a
// swap is edited again), computed row by row. Computation stops once everything in a row exceeds the limit,
// and names whose length alone exceeds it are skipped: a model may have 10^6 inputs.
//
// The accepted distance grows with the length (a third of the longer name), so that "dept" offers "depth" and
// "x" offers nothing. A word that a name begins or ends with, or contains as a whole part between separators,
// is near as well: "fold" for "fold-constants".
#include "support/nearest.h"

#include <algorithm>
#include <utility>

namespace graphopt {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::size_t reach(std::string_view word, std::string_view name) {
  return std::max(word.size(), name.size()) / 3;
}

bool starts_alike(std::string_view name, std::string_view word) {
  if (word.size() < 3 || name.size() <= word.size()) return false;
  return std::equal(word.begin(), word.end(), name.begin(),
                    [](char a, char b) { return lower(a) == lower(b); });
}

// Returns true if `word` is one of the parts of `name` ("fold-constants" has the parts fold, constants).
bool has_part(std::string_view name, std::string_view word) {
  if (word.size() < 3 || name.size() <= word.size()) return false;
  const auto separates = [](char c) { return c == '-' || c == '_' || c == '.' || c == '/' || c == ':'; };
  for (std::size_t at = name.find(word); at != std::string_view::npos; at = name.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || separates(name[at - 1])) && (end == name.size() || separates(name[end]))) return true;
  }
  return false;
}

std::vector<std::string_view> views(std::span<const std::string> names) {
  return {names.begin(), names.end()};
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t limit) {
  if (a.size() < b.size()) std::swap(a, b);
  if (a.size() - b.size() > limit) return limit + 1;
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    std::size_t best = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1])) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
      best = std::min(best, row[j]);
    }
    // A swap reads the row before the previous one, so one row above the limit proves nothing; two rows do,
    // since the least entry never falls from row to row.
    if (best > limit + 1) return limit + 1;
    before.swap(last);
    last.swap(row);
  }
  return std::min(last[b.size()], limit + 1);
}

std::vector<std::string> nearest(std::string_view word, std::span<const std::string_view> names,
                                 std::size_t count) {
  std::vector<std::pair<std::size_t, std::string_view>> found;
  for (const std::string_view name : names) {
    const std::size_t limit = reach(word, name);
    const std::size_t distance = edit_distance(word, name, limit);
    if (distance <= limit) {
      found.emplace_back(distance, name);
    } else if (starts_alike(name, word) || has_part(name, word)) {
      found.emplace_back(limit + 1, name);
    }
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  // After a name with one wrong letter, one with four wrong letters would only confuse.
  std::vector<std::string> out;
  for (const auto& [distance, name] : found) {
    if (out.size() == count || distance > found.front().first + 2) break;
    out.emplace_back(name);
  }
  return out;
}

std::vector<std::string> nearest(std::string_view word, std::span<const std::string> names,
                                 std::size_t count) {
  return nearest(word, views(names), count);
}

std::string did_you_mean(std::span<const std::string> names) {
  if (names.empty()) return {};
  std::string out = "did you mean ";
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) out += i + 1 == names.size() ? " or " : ", ";
    out += '\'' + names[i] + '\'';
  }
  return out + '?';
}

std::string suggest(std::string_view word, std::span<const std::string_view> names, std::string_view kind) {
  if (std::string near = did_you_mean(nearest(word, names)); !near.empty()) return near;
  if (names.empty()) return "there are no " + std::string(kind);
  constexpr std::size_t kLine = 90;
  std::string out = std::string(kind) + ": ";
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) out += ", ";
    if (i > 0 && out.size() + names[i].size() > kLine)
      return out + "... (" + std::to_string(names.size()) + " in all)";
    out += names[i];
  }
  return out;
}

std::string suggest(std::string_view word, std::span<const std::string> names, std::string_view kind) {
  return suggest(word, views(names), kind);
}

}  // namespace graphopt
