#include <algorithm>

#include "options/groups.h"

namespace graphopt {

std::string option_key(const OptionInfo& info) {
  if (info.name == "-O") return "level";
  std::string out(info.name.substr(std::min(info.name.find_first_not_of('-'), info.name.size())));
  std::ranges::replace(out, '-', '_');
  return out;
}

const std::vector<OptionRow<Options>>& option_table() {
  static const Rows rows = [] {
    Rows out;
    add_optimization_rows(out);
    add_shape_rows(out);
    add_device_rows(out);
    add_output_rows(out);
    add_check_rows(out);
    add_message_rows(out);
    return out;
  }();
  return rows;
}

const OptionRow<Options>* find_option(std::string_view name) {
  for (const OptionRow<Options>& row : option_table())
    if (row.info.name == name || option_key(row.info) == name) return &row;
  return nullptr;
}

std::vector<std::pair<std::string, OptionValue>> result_options(const Options& options) {
  std::vector<std::pair<std::string, OptionValue>> out;
  for (const OptionRow<Options>& row : option_table())
    if (row.info.changes_result && row.info.form != OptionForm::Devices)
      if (std::optional<OptionValue> value = row.get(options))
        out.emplace_back(option_key(row.info), *std::move(value));
  return out;
}

}  // namespace graphopt
