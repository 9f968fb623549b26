#include "options/values.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

namespace graphopt {
namespace {

// Digits with an optional fraction and exponent: from_chars, so that no locale changes the meaning of "1.5".
std::optional<double> parse_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

// Returns the parts before and after the last '=': names in models may contain that sign, numbers do not.
bool split(std::string_view text, std::string_view& name, std::string_view& value) {
  const std::size_t at = text.rfind('=');
  if (at == std::string_view::npos || at == 0) return false;
  name = text.substr(0, at);
  value = text.substr(at + 1);
  return true;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

}  // namespace

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  for (const std::string_view unit : {"iB", "B"}) {
    if (text.ends_with(unit)) {
      text.remove_suffix(unit.size());
      break;
    }
  }
  int shift = 0;
  if (!text.empty()) {
    switch (text.back()) {
      case 'k':
      case 'K': shift = 10; break;
      case 'm':
      case 'M': shift = 20; break;
      case 'g':
      case 'G': shift = 30; break;
      case 't':
      case 'T': shift = 40; break;
      default: break;
    }
  }
  if (shift > 0) text.remove_suffix(1);
  if (text.empty() || text.front() == '-') return std::nullopt;
  if (const auto whole = parse_integer(text)) {
    const auto bytes = static_cast<std::uint64_t>(*whole);
    if (bytes > (std::uint64_t{1} << 63) >> shift) return std::nullopt;
    return bytes << shift;
  }
  const auto number = parse_number(text);
  if (!number || *number < 0) return std::nullopt;
  const double bytes = std::ldexp(*number, shift);
  if (bytes >= 0x1p63) return std::nullopt;
  return static_cast<std::uint64_t>(bytes);
}

std::optional<double> parse_seconds(std::string_view text) {
  double scale = 1;
  if (text.ends_with('s')) {
    text.remove_suffix(1);
  } else if (text.ends_with('m')) {
    scale = 60;
    text.remove_suffix(1);
  } else if (text.ends_with('h')) {
    scale = 3600;
    text.remove_suffix(1);
  }
  const auto number = parse_number(text);
  constexpr double kYear = 3600.0 * 24 * 366;  // timers cannot hold much more
  if (!number || *number <= 0 || *number * scale > kYear) return std::nullopt;
  return *number * scale;
}

std::optional<double> parse_tolerance(std::string_view text) {
  const auto number = parse_number(text);
  if (!number || *number < 0) return std::nullopt;
  return number;
}

ParsedLayers parse_layers(std::string_view text) {
  text = trimmed(text);
  if (text.size() >= 2 && text.front() == '\'' && text.back() == '\'') text = text.substr(1, text.size() - 2);
  ParsedLayers out;
  const auto wrong = [&out](std::string_view at, const std::string& what) {
    out.wrong = ": " + what + " in '" + std::string(at) + "'";
    return out;
  };
  for (text = trimmed(text); !text.empty(); text = trimmed(text)) {
    const std::size_t open = text.find('('), close = text.find(')');
    const std::string_view device = trimmed(text.substr(0, std::min(open, close)));
    if (device.empty() || device.find(';') != std::string_view::npos)
      return wrong(text, "no device is before '('");
    if (open == std::string_view::npos || close == std::string_view::npos || close < open)
      return wrong(text, "no names in brackets follow the device");
    std::string_view patterns = text.substr(open + 1, close - open - 1);
    for (bool more = true; more;) {
      const std::size_t comma = patterns.find(',');
      more = comma != std::string_view::npos;
      std::string_view pattern = trimmed(patterns.substr(0, comma));
      const bool exact = pattern.starts_with('=');
      if (exact) pattern = trimmed(pattern.substr(1));
      if (pattern.empty()) return wrong(text.substr(0, close + 1), "a name is empty");
      out.rules.push_back({std::string(device), std::string(pattern), exact});
      if (more) patterns.remove_prefix(comma + 1);
    }
    text = trimmed(text.substr(close + 1));
    if (text.empty()) break;
    if (!text.starts_with(';')) return wrong(text, "no ';' is between two rules");
    text.remove_prefix(1);
  }
  if (out.rules.empty()) out.wrong = ": no rule follows '='";
  return out;
}

std::optional<ShapeOption> parse_shape(std::string_view text) {
  std::string_view name, value;
  if (!split(text, name, value)) return std::nullopt;
  ShapeOption shape{std::string(name), {}};
  while (!value.empty()) {
    const std::size_t comma = value.find(',');
    const auto dim = parse_integer(value.substr(0, comma));
    if (!dim || *dim < -1) return std::nullopt;
    shape.dims.push_back(*dim);
    if (comma == std::string_view::npos) break;
    value.remove_prefix(comma + 1);
    if (value.empty()) return std::nullopt;  // "1,"
  }
  return shape;
}

std::pair<std::string, std::string> reversed_range(std::string_view text) {
  std::string_view name, value;
  if (!split(text, name, value)) return {};
  const std::size_t dots = value.find("..");
  if (dots == std::string_view::npos) return {};
  const std::string_view low = value.substr(0, dots), high = value.substr(dots + 2);
  const auto a = parse_integer(low), b = parse_integer(high);
  if (!a || !b || *b < 0 || *a <= *b) return {};
  return {std::string(low), std::string(high)};
}

std::optional<DimOption> parse_dim(std::string_view text) {
  std::string_view name, value;
  if (!split(text, name, value)) return std::nullopt;
  const std::size_t dots = value.find("..");
  const auto low = parse_integer(value.substr(0, dots));
  const auto high = dots == std::string_view::npos ? low : parse_integer(value.substr(dots + 2));
  if (!low || !high || *low < 0 || *low > *high) return std::nullopt;
  return DimOption{std::string(name), *low, *high};
}

}  // namespace graphopt
