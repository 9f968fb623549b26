// Where the values of two graphs begin to differ.
//
// Problem: one wrong weight makes all values after it differ; the operator that is wrong is at the border.
// Method: of the values that correspond and were compared, those come first that differ while nothing above
// them does, in either graph: not the nearest values alone, since a masked value can hide a difference from
// its neighbour and show it further down. A value that differs while all that is compared next below it
// agrees was no counterpart: it is taken back. So is one that differs without harm, as a mask of -3e38
// against one of -65504: a reader whose other operands agree gives the same, and no
// reader differs for it alone. A few sweeps over the operators
// of each side.
//
//   x -> f -> g -> h    f agrees, g differs, h differs    =>    g is first; its region are the operators of g
#pragma once

#include <utility>
#include <vector>

#include "mapping/matching.h"

namespace graphopt::mapping {

struct ComparedValue {
  Index a = 0, b = 0;  // values
  bool differs = false;
};

struct Frontier {
  std::vector<std::size_t> first;       // places in the list of values, in its order
  std::vector<std::size_t> taken_back;  // the same
};

Frontier find_frontier(const Side& a, const Side& b, const std::vector<ComparedValue>& values);

// The operators of a side that make a value from values that were compared and agree, or from its inputs;
// ascending. `s`: the side that `side` is.
std::vector<Index> region_of(const Side& side, std::size_t s, Index value,
                             const std::vector<ComparedValue>& values);

}  // namespace graphopt::mapping
