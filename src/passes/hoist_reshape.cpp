// hoist-reshape: moves Reshapes, Transposes and their like from between nodes that compute to where they
// cancel or cost nothing.
//
// Problem: a Reshape, Squeeze, Unsqueeze, Flatten or Transpose separates an elementwise node from the MatMul,
// Softmax or other elementwise node together with which a runtime could execute it. Two that undo each other
// do not cancel while a node is between them.
// Method: elementwise operators compute each element by itself and deformations touch none, so they commute.
// Each kind of move (docs/hoisting.md; hoist/moves) is carried out in a draft of the graph, canonicalized
// (hoist/moves/canonicalize.h), and kept only if the cost falls (hoist/cost.h).
// Exact: past a deformation the same kernel reads the same buffer. With -O1 and --exact a Transpose moves
// only past operators whose bits do not depend on an element's position (docs/hoisting.md, "Exactness").
// Lowers: (C', F + D).
// Ends: that pair of natural numbers falls with every move.
// Left alone: unknown shapes, shapes that no constant target states, ties.
//
//   n = MatMul (x, w)                 n = MatMul (x, w)
//   r = Reshape (n, s)          =>    e = Relu (n)
//   y = Relu (r)                      y = Reshape (e, s)

#include "passes/search_pass.h"

namespace graphopt {
extern constinit const PassInfo hoist_reshape = {
    .name = "hoist-reshape",
    .summary = "move Reshapes and Transposes to where they cancel or cost nothing",
    .exact = Exact::Yes,
    .level = 1,
    .make = make_pass<SearchPass<MoveKinds{.common = true, .rebase = true}>>,
    .rounds_from = 2,
    .search = true};

}  // namespace graphopt
