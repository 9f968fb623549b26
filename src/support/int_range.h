// A range of integers as files give it.
#pragma once

#include <cstdint>
#include <limits>

namespace graphopt {

// Inclusive. An end that the file leaves open is the least or the greatest number.
struct IntRange {
  std::int64_t low = std::numeric_limits<std::int64_t>::min();
  std::int64_t high = std::numeric_limits<std::int64_t>::max();

  bool holds(std::int64_t i) const { return low <= i && i <= high; }
  friend bool operator==(const IntRange&, const IntRange&) = default;
};

}  // namespace graphopt
