// Operators that nothing tells apart but the order of operands that has no meaning.
//
// Problem: of two equal branches into one Add each may be either one of the other graph; a pair of theirs is
// right with a chance of a half, however well its neighbours fit, since these are as unsure. Method: twins
// have equal value numbers from both ends (value_numbers.h), in which a constant is what it holds where the
// other graph has the same one, and its dims elsewhere. Of twins that compute the same value each is right.
//
//   p = MatMul (x, v)  q = MatMul (x, w)  y = Add (p, q)    p and q are twins if the other graph has neither
//   v nor w
#pragma once

#include <array>
#include <vector>

#include "mapping/ends.h"
#include "mapping/labels.h"
#include "mapping/view.h"

namespace graphopt::mapping {

struct Twins {
  // Of an operator and its twins: how many there are, and how many different values they compute.
  Index operators = 1, values = 1;
};

// By side and operator. `weights`: contents of constants count.
std::array<std::vector<Twins>, 2> count_twins(const Matching& m, const View& view, const Ends& ends,
                                              bool weights, Labels& labels);

}  // namespace graphopt::mapping
