// Pairs of equal operators in a row stand in one order on both sides.
//
// Problem: nothing tells two equal operators in a row apart, such as two Casts to one type, but which of them
// reads the other; labels and neighbours may give each the other one's counterpart. Method: where an operator
// and the one that it reads have types, attributes and dims in common, and their counterparts read each other
// the other way round, these change places. It ends: an exchange puts two neighbours in order, and there are
// few rounds.
//
//   b = Cast (a)  c = Cast (b)    <->    s = Cast (r)  t = Cast (s)    b is s, and c is t
#pragma once

#include "mapping/matching.h"

namespace graphopt::mapping {

// Pairs that the user gives, or that a run shows, stay.
void uncross(Matching& m);

}  // namespace graphopt::mapping
