// hoist-reshape: moves deformations and transpositions out from between elementwise nodes and anchors.
//
// Problem: a Reshape, Squeeze, Unsqueeze, Flatten or Transpose between an elementwise node and the MatMul, Softmax or other
// elementwise node that it could be executed with keeps them apart, and two that undo each other keep their distance.
// Method: methods/rewrites.md, b4 and b5 (src/hoist/common_moves.cpp, rebase.cpp): elementwise operators do not see shapes,
// deformations do not touch elements, so they commute. Tried in a draft of each graph, with the clean-up of b6
// (tidy.cpp), and kept only if the cost of part c falls (cost.h).
// Exact: b7: with a deformation the same kernel reads the same buffer; a Transpose is moved only past operators whose bits
// do not depend on places (below -O3).
// Lowers: (C', F + D). Ends: that pair of naturals falls with every move.
// Left alone: unknown shapes, targets that no constant can say, ties.
//
//   n = MatMul (x, w)  r = Reshape (n, s)  y = Relu (r)      =>      n = MatMul (x, w)  e = Relu (n)  y = Reshape (e, s)

#include <array>

#include "hoist/search.h"
#include "passes/pass.h"

namespace graphopt {
namespace {

class HoistReshape final : public Pass {
 public:
  bool run(PassContext& c) override {
    const SearchResult r = search_moves(c, {.common = true, .rebase = true});
    counters_[0].value += r.kept;
    counters_[1].value = r.refused;
    return r.kept > 0;
  }
  std::span<const Counter> counters() const override { return counters_; }

 private:
  std::array<Counter, 2> counters_{{{"kept", "moves kept"}, {"refused", "candidates refused, in the last sweep"}}};
};

}  // namespace

extern constinit const PassInfo hoist_reshape = {
    .name = "hoist-reshape", .summary = "move Reshapes and Transposes to where they cancel or stand in no way",
    .exact = Exact::Yes, .level = 1, .make = make_pass<HoistReshape>, .search = true};

}  // namespace graphopt
