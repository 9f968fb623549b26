// The target of a Reshape in numbers: a number where the dim is one, 0 (copy) where it equals the operand's
// dim at the same position, -1 for at most one other.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ir/dim.h"

namespace graphopt {

struct ReshapeTarget {
  std::vector<std::int64_t> numbers;
  std::optional<std::size_t> open;   // the position of -1
  bool copies_may_be_empty = false;  // a copied dim may be 0
  // -1 is the number of elements divided by the product of the other dims: undefined when a copied dim is 0.
  bool defined() const { return !open || !copies_may_be_empty; }
};

// `same(a, b)` returns true if two dims are proven equal. Returns nothing for a number below 1 (a 0 would
// copy), and when two dims would need the -1.
template <class Same>
std::optional<ReshapeTarget> reshape_target(const DimPool& dims, std::span<const DimId> from,
                                            std::span<const DimId> to, Same same) {
  ReshapeTarget out;
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (const auto number = dims.value(to[i])) {
      if (*number < 1) return std::nullopt;
      out.numbers.push_back(*number);
    } else if (i < from.size() && same(from[i], to[i])) {
      out.numbers.push_back(0);
      out.copies_may_be_empty |= dims.range(to[i]).low < 1;
    } else {
      if (out.open) return std::nullopt;
      out.open = i;
      out.numbers.push_back(-1);
    }
  }
  return out;
}

}  // namespace graphopt
