// hoist-reshape: moves deformations and transpositions out from between elementwise nodes and anchors.
//
// Problem: a Reshape, Squeeze, Unsqueeze, Flatten or Transpose between an elementwise node and the MatMul,
// Softmax or other elementwise node that it could be executed with keeps them apart, and two that undo each
// other keep their distance.
// Method: methods/rewrites.md, b4 and b5 (src/hoist/common_moves.cpp, rebase.cpp): elementwise operators do
// not see shapes, deformations do not touch elements, so they commute. Tried in a draft of each graph, with
// the clean-up of b6
// (tidy.cpp), and kept only if the cost of part c falls (cost.h).
// Exact: b7: with a deformation the same kernel reads the same buffer; a Transpose is moved only past
// operators whose bits do not depend on places (below -O3).
// Lowers: (C', F + D). Ends: that pair of naturals falls with every move.
// Left alone: unknown shapes, targets that no constant can say, ties.
//
//   n = MatMul (x, w)  r = Reshape (n, s)  y = Relu (r)      =>      n = MatMul (x, w)  e = Relu (n)  y =
//   Reshape (e, s)

#include "passes/search_pass.h"

namespace graphopt {
extern constinit const PassInfo hoist_reshape = {
    .name = "hoist-reshape",
    .summary = "move Reshapes and Transposes to where they cancel or stand in no way",
    .exact = Exact::Yes,
    .level = 1,
    .make = make_pass<SearchPass<MoveKinds{.common = true, .rebase = true}>>,
    .search = true};

}  // namespace graphopt
