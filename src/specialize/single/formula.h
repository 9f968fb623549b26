// Formulas over extents as trees, for who writes them as nodes.
//
// Problem: a dispatcher computes "floor((h + 1)/(2))*w" from the shapes that it is given; the pool of dims
// keeps its expressions to itself. Method: the printed form is unique and has a small grammar (ir/dim.h); it
// is read back into a tree. Ends: the text is read once; calls nest as deep as the pool allows.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/dim.h"

namespace graphopt {

struct Formula {
  enum class Kind : std::uint8_t { Number, Symbol, Sum, Product, FloorDiv, Min, Max };
  Kind kind = Kind::Number;
  std::int64_t number = 0;
  DimId dim;  // of a symbol, of operands of calls, and of the whole
  std::vector<Formula> parts;
};

// Returns the tree of the canonical form of d; none where it is unknown or has a symbol that is none of the
// inputs', as the number of entries that are not zero.
std::optional<Formula> formula_of(DimPool& pool, DimId d);

}  // namespace graphopt
