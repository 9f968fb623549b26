// From an operator to its row in a table that has one row for some operators.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "ir/op_kind.h"

namespace graphopt {

// Returns, for each kind, the place of the row with that `.kind`, + 1; 0 for none.
template <class Row, std::size_t N>
consteval std::array<std::uint8_t, kOpKindCount> index_by_kind(const Row (&rows)[N]) {
  static_assert(N < 255);
  std::array<std::uint8_t, kOpKindCount> index{};
  for (std::size_t i = 0; i < N; ++i)
    index[static_cast<std::size_t>(rows[i].kind)] = static_cast<std::uint8_t>(i + 1);
  return index;
}

}  // namespace graphopt
