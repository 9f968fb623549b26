// Problem: frameworks unbind a tensor along an axis with one Gather per index.
// Method: the Gathers of all indices of an axis become a Split into results of extent 1 and a Squeeze each.
// That is more nodes unless the Squeezes cancel or merge; the search keeps it only then.
// Exact: the same elements.
// Lowers C' by the Gathers but one.
// Ends: it removes the Gathers and adds none.
//
//   a = Gather <axis = 0> (x, 0)              p, q = Split <axis = 0> (x, {1, 1})
//   b = Gather <axis = 0> (x, 1)        =>    a = Squeeze (p, {0})
//                                             b = Squeeze (q, {0})
#include <map>

#include "draft/data_movement.h"
#include "hoist/moves/moves.h"

namespace graphopt {

bool unbind(Draft& d, DNode gather, MoveRefusal& why) {
  const DValue x = d.in(gather, 0);
  const std::uint32_t axis = d[gather].axis;
  const auto dims = d.shapes().dims(d.shape(x));
  const std::int64_t extent = *d.shapes().number(dims[axis]);
  std::map<std::int64_t, std::vector<DNode>> by_index;
  DNode first = gather;
  for (DUse u = d.first_use(x); u; u = d.next_use(u)) {
    const DNode n = d.user(u);
    if (d[n].node_class != NodeClass::Gather || d[n].shape_only || d.slot(u) != 0 || d[n].axis != axis)
      continue;
    if (by_index.empty() && n != gather) return false;  // tried from the first of them only
    if (d.before(n, first)) first = n;
    by_index[d[n].begin].push_back(n);
  }
  if (extent < 2 || static_cast<std::int64_t>(by_index.size()) != extent) {
    if (by_index.size() > 1) why = MoveRefusal::AxisCut;  // some of the indices are not read
    return false;
  }
  if (!type_can_move(d, d[x].dtype)) {
    why = MoveRefusal::Type;
    return false;
  }
  std::vector<DimId> result_dims(dims.begin(), dims.end());
  result_dims[axis] = d.shapes().pool().constant(1);
  const ShapeId shape = d.shapes().intern(std::span<const DimId>(result_dims));
  std::vector<DValue> outs;
  for (std::int64_t i = 0; i < extent; ++i) outs.push_back(d.new_value(shape, d[x].dtype));
  const DValue in[] = {x};
  const DNode split = d.new_node(NodeClass::Split, {}, in, outs, first);
  d.set_axis(split, axis);
  set_lengths(d, split);
  for (const auto& [index, nodes] : by_index)
    for (const DNode n : nodes) {
      const DValue from[] = {outs[static_cast<std::size_t>(index)]}, to[] = {d.out(n)};
      d.new_node(NodeClass::Deformation, {}, from, to, n);
      d.erase(n);
    }
  return true;
}

}  // namespace graphopt
