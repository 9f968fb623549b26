// aggregate-elementwise: makes one elementwise node of equal ones on all branches of a Concat or a Split.
//
// Problem: feature pipelines, detection heads, recurrent cells and exporters apply the same operator to every
// part of a tensor, or to the parts of two tensors pair by pair: n launches and n small kernels where one is
// enough.
// Method: a lockstep walk over all branches at once, through single-use deformations; constants that differ
// are joined along the axis (docs/hoisting.md, "merge", "split" and "pairs"; hoist/moves/merge_concat.cpp,
// merge_split.cpp, merge_pairs.cpp). Each candidate is carried out in a draft of the graph and kept only if
// the cost falls (hoist/cost.h).
// Exact: each element is computed by the same operator from the same operand elements. Elements change their
// position, so operators whose kernels give other bits there are refused below -O3.
// Lowers: (C', F + D).
// Ends: that pair of natural numbers falls with every move.
// Left alone: operators in the epilogue of a Conv or MatMul; Concats and Splits of which only some branches
// have the operator; two run-time operands per branch, unless they are the parts of Splits; Splits whose
// branches have no join node.
//
//   a = Sqrt (x)
//   b = Sqrt (z)                            c = Concat <axis = 0> (x, z)
//   y = Concat <axis = 0> (a, b)      =>    y = Sqrt (c)

#include "passes/search_pass.h"

namespace graphopt {
extern constinit const PassInfo aggregate_elementwise = {
    .name = "aggregate-elementwise",
    .summary = "merge equal elementwise nodes on the branches of a Concat or Split",
    .exact = Exact::Yes,
    .level = 1,
    .make = make_pass<SearchPass<MoveKinds{.merge = true}>>,
    .rounds_from = 3,
    .search = true};

}  // namespace graphopt
