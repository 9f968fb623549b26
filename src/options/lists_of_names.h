// Values of options that are lists: names between commas.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graphopt/error.h"

namespace graphopt {

// Returns the items of a list that is separated by commas, without the blanks around each.
std::vector<std::string_view> items_of(std::string_view list);

// Adds names of values. ErrorKind::Usage for an empty one.
Status add_value_names(std::string_view option, std::string_view text, std::vector<std::string>& to);
// Adds names of passes. `explained`: also "all" and "lower", and each may be followed by ":NODE".
// ErrorKind::Usage for names that no pass has.
Status add_pass_names(std::string_view option, std::string_view text, bool explained,
                      std::vector<std::string>& to);

}  // namespace graphopt
