// What passes refused, for --explain. A Refusals (refusals.h) collects it during one run of a pass.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graphopt/error.h"
#include "graphopt/search_limit.h"
#include "support/ids.h"

namespace graphopt {

struct RefusedCandidate {
  std::string pass;
  std::string_view kind;  // of a search: listed in docs/hoisting.md, like its reasons; else the rule's name
  std::string reason;
  Place place;
  std::string value;                      // the first result of the node at that place, or the initializer
  std::optional<SearchLimit> limit = {};  // of reason "limit", where one limit is to blame
  NodeId node = {};                       // at that place; none: an initializer
};

struct RefusalLog {
  std::vector<std::string> explain;       // names of passes whose refusals are wanted
  std::vector<RefusedCandidate> refused;  // of the last run of each pass

  bool explains(std::string_view pass) const { return std::ranges::count(explain, pass) > 0; }
};

}  // namespace graphopt
