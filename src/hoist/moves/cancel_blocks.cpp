// Problem: elementwise nodes separate a DepthToSpace from the SpaceToDepth that undoes it.
// Method: from the lower one the search goes up a chain of elementwise nodes with one reader each, whose
// other operands are single elements, to one of the other operator with the same block size. The chain then
// works on the upper one's operand, and both go.
// Exact: DepthToSpace of mode DCR moves channel (i*b + j)*c' + k of a pixel to position (i, j) of its block,
// in channel k; SpaceToDepth reads positions in that order. Other modes are refused. Elements change their
// position in the buffer, so below -O3 elementwise nodes whose bits depend on it are refused.
// Lowers C' by two.
// Ends: it removes two nodes and adds none.
//
//   d = DepthToSpace <blocksize = 2> (x)      =>      y = Relu (x)
//   r = Relu (d)
//   y = SpaceToDepth <blocksize = 2> (r)
#include <algorithm>

#include "hoist/moves/canonicalize.h"
#include "hoist/moves/conditions.h"
#include "hoist/moves/moves.h"

namespace graphopt {
namespace {

// Returns the one operand that is not a single element, if it has the shape of the result; else none.
DValue main_operand(const Draft& d, DNode e) {
  DValue found;
  for (std::uint32_t k = 0; k < d[e].in_count; ++k) {
    const DValue v = d.in(e, k);
    if (!v || operand_kind(d.model(), d[e].origin, k) == Operand::Fixed) continue;
    const ShapeId s = d.shape(v);
    if (s && s != d.shape(d.out(e)) && d.shapes().all_ones(s)) continue;
    if ((found && found != v) || !s || s != d.shape(d.out(e)) || k >= d[e].real_in) return {};
    found = v;
  }
  return found;
}

}  // namespace

bool cancel_blocks(Draft& d, DNode lower, const MoveOptions& o, MoveRefusal& why) {
  std::vector<DNode> chain;  // in upstream order
  DValue v = d.in(lower, 0);
  DNode upper;
  for (;;) {
    if (chain.size() == kSearchLimits.block_chain) {
      d.hit_limit(SearchLimit::BlockChain);
      return false;
    }
    upper = d.def(v);
    if (!d.is(upper, NodeClass::Elementwise) || d[upper].per_axis) break;
    chain.push_back(upper);
    v = main_operand(d, upper);
    if (!v) return false;
  }
  if (!upper || d[upper].work != AxisWork::Blocks || d[upper].begin != -d[lower].begin) return false;
  const DValue x = d.in(upper, 0), y = d.out(lower);
  const ShapeId shape = d.shape(x);
  if (!shape || d.shape(y) != shape) {
    why = MoveRefusal::ShapeUnknown;
    return false;
  }
  for (const DNode e : chain) {
    if (!d.single_use(d.out(e))) {
      why = d[d.out(e)].live_out ? MoveRefusal::GraphOutput : MoveRefusal::MultiUse;
      return false;
    }
    if (!may_move(d, e, shape, true, o.strictness)) {
      why = MoveRefusal::Position;
      return false;
    }
  }
  if (chain.empty()) return drop_node(d, lower, x);
  d.erase(lower);
  for (std::size_t i = chain.size(); i-- > 0;) {
    const DNode e = chain[i];
    const DValue main = main_operand(d, e);
    const DValue result = i == 0 ? y : d.new_value(shape, d[d.out(e)].dtype);
    const DValue source = i + 1 == chain.size() ? x : d.out(chain[i + 1]);
    for (std::uint32_t k = 0; k < d[e].in_count; ++k)
      if (d.in(e, k) == main) d.set_in(e, k, source);
    d.set_outs(e, std::span(&result, 1));
  }
  return true;
}

}  // namespace graphopt
