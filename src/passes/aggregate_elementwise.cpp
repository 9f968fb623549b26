// aggregate-elementwise: equal elementwise nodes on all branches of a Concat or a Split become one.
//
// Problem: hand-written feature pipelines, detection heads and exporters apply the same operator to every
// piece of a tensor: n launches, n small kernels, where one does.
// Method: methods/rewrites.md, b2 and b3 (src/hoist/merge_concat.cpp, merge_split.cpp): a lockstep walk over
// all branches at once, through deformations that stand at another depth on each; constants that differ are
// joined along the axis. Tried in a draft of each graph and kept only if the cost of part c falls
// (src/hoist/cost.h).
// Exact: each element is computed by the same operator from the same operands. Elements change their place,
// so operators whose kernels give other bits there take no part below -O3.
// Lowers: (C', F + D). Ends: that pair of naturals falls with every move.
// Left alone: operators that stand in the epilogue of a Conv or MatMul already, partly covered Concats and
// Splits, two run-time operands per branch, values of two levels that are read behind a Split.
//
//   a = Sqrt (x)  b = Sqrt (z)  y = Concat <axis = 0> (a, b)      =>      c = Concat <axis = 0> (x, z)  y =
//   Sqrt (c)

#include "passes/search_pass.h"

namespace graphopt {
extern constinit const PassInfo aggregate_elementwise = {
    .name = "aggregate-elementwise",
    .summary = "merge equal elementwise nodes on the branches of a Concat or Split",
    .exact = Exact::Yes,
    .level = 1,
    .make = make_pass<SearchPass<MoveKinds{.merge = true}>>,
    .search = true};

}  // namespace graphopt
