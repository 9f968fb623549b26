#include "graphopt/option_rows.h"

#include <algorithm>
#include <limits>

#include "graphopt/optimize.h"
#include "options/values.h"

namespace graphopt {

Error wrong_value(std::string_view option, std::string_view value, std::string_view problem,
                  std::string remedy) {
  return {ErrorKind::Usage,
          {},
          std::string(option) + ": '" + std::string(value) + "' " + std::string(problem),
          std::move(remedy)};
}

Result<bool> read_flag(std::string_view option, std::string_view text) {
  if (text.empty() || text == "true") return true;
  if (text == "false") return false;
  return wrong_value(option, text, "is neither true nor false", "give the option alone, without a value");
}

Result<std::int64_t> read_count(std::string_view option, std::string_view text, const CountForm& form) {
  const auto value = parse_integer(text);
  if (value && *value >= form.least && *value <= form.most) return *value;
  return wrong_value(option, text, form.problem, form.remedy);
}

Result<std::uint64_t> read_bytes(std::string_view option, std::string_view text) {
  if (const auto value = parse_bytes(text)) return *value;
  return wrong_value(option, text, "is not a size", "give bytes, as in 4096, 64K, 2M or 1G");
}

Result<double> read_seconds(std::string_view option, std::string_view text) {
  if (const auto value = parse_seconds(text)) return *value;
  return wrong_value(option, text, "is not a time", "give seconds above 0, as in 10, 0.5s or 5m");
}

Result<std::size_t> read_choice(std::string_view option, std::string_view text,
                                const std::vector<std::string_view>& names) {
  const auto at = std::ranges::find(names, text);
  if (at != names.end()) return static_cast<std::size_t>(at - names.begin());
  const std::vector<std::string> known(names.begin(), names.end());
  return wrong_value(option, text, "is not one of its values", suggest_names(text, known, "values"));
}

OptionValue size_value(std::uint64_t bytes) {
  return OptionValue(static_cast<std::int64_t>(
      std::min(bytes, static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))));
}

}  // namespace graphopt
