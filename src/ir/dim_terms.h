// An extent in parts, for those who compute it elsewhere: a sum of products of symbols and calls.
//
//   2*floor((h + 1)/(2)) - s     2 * FloorDiv (h + 1, 2), -1 * s
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/dim.h"

namespace graphopt {

struct DimFactor {
  enum class Kind : std::uint8_t { Symbol, FloorDiv, Min, Max };
  Kind kind = Kind::Symbol;
  DimId self;                   // the expression that is just this factor
  std::vector<DimId> operands;  // of a call: two
};

struct DimProduct {
  std::int64_t coefficient = 1;
  std::vector<DimFactor> factors;  // none in the constant term
};

// Returns the terms of an expression in its canonical form, none for 0. Nothing for an unknown one, and where
// a symbol is not one of inputs.
std::optional<std::vector<DimProduct>> terms_of(DimPool& dims, DimId a);

}  // namespace graphopt
