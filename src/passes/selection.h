// What a Slice by constants selects, and of how many entries, for the passes about selections.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "rewrite/context.h"

namespace graphopt {

inline constexpr std::int64_t kNoEnd = std::numeric_limits<std::int64_t>::max();

struct AxisRange {
  std::int64_t axis = 0, start = 0, end = kNoEnd, step = 1;
};
using Ranges = std::vector<AxisRange>;

// Returns the ranges of a Slice, of which all numbers are constants, with axes counted from the front;
// nothing where one is not known.
std::optional<Ranges> ranges_of(const MatchContext& c, NodeId n);

// Returns the extent of v along an axis where both are known and it is a number.
std::optional<std::int64_t> extent(const MatchContext& c, ValueId v, std::int64_t axis);

// Counts start and end from the front, as far as that is known. Returns false where they may depend on the
// extent in another way than by its being an end, and for a step below 1.
bool count_from_front(AxisRange& range, std::optional<std::int64_t> extent);

}  // namespace graphopt
