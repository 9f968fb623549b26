#include "graphopt/option_rows.h"

#include <algorithm>
#include <limits>

#include "graphopt/optimize.h"
#include "options/lists_of_names.h"
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

Result<double> read_tolerance(std::string_view option, std::string_view text) {
  if (const auto value = parse_tolerance(text)) return *value;
  return wrong_value(option, text, "is not a tolerance", "give a number as in 1e-4; 0 wants equal values");
}

Result<std::vector<DeviceValue>> read_device_values(std::string_view option, std::string_view text,
                                                    std::string_view form) {
  std::vector<DeviceValue> out;
  const std::string problem = "is not " + std::string(form) + ",...";
  const std::string remedy = "write " + std::string(form) + ", as in npu=4,gpu=1";
  for (const std::string_view item : items_of(text)) {
    const std::size_t equals = item.rfind('=');
    if (equals == std::string_view::npos || equals == 0) return wrong_value(option, text, problem, remedy);
    const std::string device(item.substr(0, equals));
    if (std::ranges::find(out, device, &DeviceValue::device) != out.end())
      return wrong_value(option, text, "names a device twice", "give each device once");
    out.push_back({device, item.substr(equals + 1)});
  }
  if (out.empty()) return wrong_value(option, text, problem, remedy);
  return out;
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
