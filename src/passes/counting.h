// Integer tensors that count along one axis, however they were made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "rewrite/context.h"

namespace graphopt {

// An element is `start` plus its index along `axis`; without an axis all elements are `start`. It says
// nothing of extents.
struct Counting {
  std::int64_t start = 0;
  std::optional<std::size_t> axis;
};

// Returns how v counts; nothing where it is not known to. Reads constants, Range by 1 and ConstantOfShape,
// through deformations, Expand, casts to wider integers and sums with a constant, to a depth of 16 nodes.
std::optional<Counting> counting_of(const MatchContext& c, ValueId v);

}  // namespace graphopt
