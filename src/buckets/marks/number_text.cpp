#include "buckets/marks/number_text.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace graphopt {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool looks_whole(std::string_view text) {
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) text.remove_prefix(1);
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::variant<std::int64_t, MarkProblem> read_whole(std::string_view text, std::string_view what) {
  text = trimmed(text);
  if (!looks_whole(text))
    return MarkProblem{
        text.empty() ? fmt::format("{} is missing", what) : fmt::format("found '{}' as {}", text, what),
        "write a whole number"};
  const std::string_view digits = text.front() == '+' ? text.substr(1) : text;
  std::int64_t v = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), v);
  if (error != std::errc{} || end != digits.data() + digits.size())
    return MarkProblem{fmt::format("{}, {}, does not fit into 64 bits", what, text),
                       fmt::format("a dim of an input has at most {}", kMaxBucketExtent)};
  return v;
}

std::optional<MarkNumber> read_number(std::string_view text) {
  text = trimmed(text);
  if (text.starts_with('+')) text.remove_prefix(1);
  const char* const end = text.data() + text.size();
  std::int64_t whole = 0;
  if (const auto [at, error] = std::from_chars(text.data(), end, whole); error == std::errc{} && at == end)
    return MarkNumber(whole);
  double real = 0;
  const auto [at, error] = std::from_chars(text.data(), end, real);
  if (error != std::errc{} || at != end || text.empty() || std::isnan(real)) return std::nullopt;
  return MarkNumber(real);
}

std::int64_t ratio_of(double ratio) {
  if (!(ratio > 0) || ratio > static_cast<double>(kMaxBucketExtent)) return 0;
  return std::llround(ratio * static_cast<double>(kRatioOne));
}

}  // namespace graphopt
