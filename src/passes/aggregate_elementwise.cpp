// aggregate-elementwise: equal elementwise nodes on all branches of a Concat or a Split become one.
//
// Problem: hand-written feature pipelines, detection heads and exporters apply the same operator to every piece of a tensor: n
// launches, n small kernels, where one does.
// Method: methods/rewrites.md, b2 and b3 (src/hoist/merge_concat.cpp, merge_split.cpp): a lockstep walk over all branches at once,
// through deformations that stand at another depth on each; constants that differ are joined along the axis. Tried in
// a draft of each graph and kept only if the cost of part c falls (src/hoist/cost.h).
// Exact: each element is computed by the same operator from the same operands. Elements change their place, so operators whose
// kernels give other bits there take no part below -O3.
// Lowers: (C', F + D). Ends: that pair of naturals falls with every move.
// Left alone: operators that stand in the epilogue of a Conv or MatMul already, partly covered Concats, two run-time
// operands per branch.
//
//   a = Sqrt (x)  b = Sqrt (z)  y = Concat <axis = 0> (a, b)      =>      c = Concat <axis = 0> (x, z)  y = Sqrt (c)

#include <array>

#include "hoist/search.h"
#include "passes/pass.h"

namespace graphopt {
namespace {

class AggregateElementwise final : public Pass {
 public:
  bool run(PassContext& c) override {
    const SearchResult r = search_moves(c, {.merge = true});
    counters_[0].value += r.kept;
    counters_[1].value = r.refused;
    return r.kept > 0;
  }
  std::span<const Counter> counters() const override { return counters_; }

 private:
  std::array<Counter, 2> counters_{{{"kept", "moves kept"}, {"refused", "candidates refused, in the last sweep"}}};
};

}  // namespace

extern constinit const PassInfo aggregate_elementwise = {
    .name = "aggregate-elementwise", .summary = "merge equal elementwise nodes on the branches of a Concat or Split",
    .exact = Exact::Yes, .level = 1, .make = make_pass<AggregateElementwise>, .search = true};

}  // namespace graphopt
