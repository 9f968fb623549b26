#include "options/lists_of_names.h"

#include <algorithm>

#include "graphopt/optimize.h"
#include "graphopt/option_rows.h"
#include "passes/explained.h"

namespace graphopt {

std::vector<std::string_view> items_of(std::string_view list) {
  constexpr std::string_view kBlanks = " \t";
  std::vector<std::string_view> out;
  for (;;) {
    const std::size_t comma = list.find(',');
    std::string_view item = list.substr(0, comma);
    item.remove_prefix(std::min(item.find_first_not_of(kBlanks), item.size()));
    out.push_back(item.substr(0, item.find_last_not_of(kBlanks) + 1));
    if (comma == std::string_view::npos) return out;
    list.remove_prefix(comma + 1);
  }
}

Status add_value_names(std::string_view option, std::string_view text, std::vector<std::string>& to) {
  for (const std::string_view name : items_of(text)) {
    if (name.empty())
      return wrong_value(option, text, "has an empty name", "write names between commas, as in a,b");
    to.emplace_back(name);
  }
  return Done{};
}

Status add_pass_names(std::string_view option, std::string_view text, bool explained,
                      std::vector<std::string>& to) {
  std::vector<std::string> known;
  if (explained) known.insert(known.end(), {"all", std::string(kLowerPass)});
  for (const PassDescription& pass : list_passes()) known.emplace_back(pass.name);
  for (const std::string_view item : items_of(text)) {
    const std::string_view name = explained ? item.substr(0, item.find(':')) : item;
    if (std::ranges::find(known, name) == known.end())
      return wrong_value(option, name, "is not a pass",
                         suggest_names(name, known, "passes") +
                             (explained ? "; a node is named after a pass or 'all', as in all:NODE" : ""));
    if (item.ends_with(':'))
      return wrong_value(option, item, "names no node",
                         "write the name of a node or of one of its results after ':'");
    to.emplace_back(item);
  }
  return Done{};
}

}  // namespace graphopt
