// What both forms of marks have read of a group, before it is complete.
#pragma once

#include <optional>
#include <vector>

#include "buckets/marks/marks.h"

namespace graphopt {

struct GroupDraft {
  BucketGroup group;  // symbols, method and options; no range, no lengths
  bool has_method = false;
  std::optional<IntRange> range;
  std::optional<std::vector<std::int64_t>> values;
  std::optional<std::int64_t> min;
};

// Completes the group (range, sorted values) and checks it: returns what is wrong, or nothing. Lengths are
// not read.
std::optional<MarkProblem> complete(GroupDraft& draft);

}  // namespace graphopt
