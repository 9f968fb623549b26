// Problem: exporters take every k-th element of an axis with Slices x[0::k], ..., x[k-1::k] (box corners,
// clipping by coordinate), also on two axes at once and joined again (patch merging). Each Slice strides over
// the whole tensor.
// Method: if the axis has the static extent m*k, the Slices are the columns of the axis reshaped to [m, k]:
//   - if one Concat joins all of them (also Slices of Slices): a Reshape, a Transpose that moves the columns
//     before the Concat's axis, and a Reshape;
//   - else a Reshape, a Split of the columns and a Squeeze of each. Elementwise nodes downstream take the
//     shape upstream of the Squeezes, so that these meet their inverses; the search keeps it only if there
//     are not more nodes than before.
// Exact: the same elements at the same positions. Extents along the axes are numbers; the other dims may have
// any size.
// Lowers C' by the Slices, and D where Squeezes cancel.
// Ends: it removes the Slices and adds none.
//
//   a = x[:, 0::2]  b = x[:, 1::2]                      r = Reshape (x)            [n, m, 2]
//   y = Concat <axis = 1> (a, b)              =>        t = Transpose (r)          [n, 2, m]
//                                                       y = Reshape (t)            [n, 2m]
#include <algorithm>
#include <map>

#include "draft/data_movement.h"
#include "hoist/moves/moves.h"
#include "ops/attributes.h"
#include "ops/constants.h"

namespace graphopt {
namespace {

// Which elements a Slice takes of one axis of extent rows * step: the phase-th of each `step`.
struct Stride {
  std::uint32_t axis;
  std::int64_t phase, step, rows;
};

std::optional<std::vector<std::int64_t>> numbers(const Draft& d, DNode n, std::size_t slot) {
  const DValue v = slot < d[n].real_in ? d.in(n, slot) : DValue{};
  return d.constant(v) ? int_list(d.model(), d[v].tensor) : std::nullopt;
}

// Returns, in ascending order, the axes of which the Slice takes every k-th element. Returns none, and sets
// `why`, if the Slice takes any axis in another way.
std::vector<Stride> strides_of(const Draft& d, DNode n, MoveRefusal& why) {
  std::vector<Stride> out;
  const DValue x = d.in(n, 0);
  why = MoveRefusal::ShapeUnknown;
  if (!d.shape(x) || !attributes_known(d.model(), d[n].origin)) return {};
  why = MoveRefusal::Operand;
  if (d.model().opset(d[n].origin) < 10) return {};
  const auto starts = numbers(d, n, 1), ends = numbers(d, n, 2);
  if (!starts || !ends) return {};
  std::vector<std::int64_t> every(starts->size(), 1), all;
  for (std::size_t i = 0; i < starts->size(); ++i) all.push_back(static_cast<std::int64_t>(i));
  const bool has_axes = d[n].real_in > 3 && d.in(n, 3), has_steps = d[n].real_in > 4 && d.in(n, 4);
  // Only the list holds the axes of a Slice that a boundary has passed.
  const bool axes_rewritten = d[n].axes_rewritten;
  if (axes_rewritten) all.assign(d.list(d[n].list).begin(), d.list(d[n].list).end());
  const auto axes = has_axes && !axes_rewritten ? numbers(d, n, 3) : std::optional(all);
  const auto steps = has_steps ? numbers(d, n, 4) : std::optional(every);
  const auto dims = d.shapes().dims(d.shape(x));
  if (!axes || !steps || axes->size() != starts->size() || ends->size() != starts->size() ||
      steps->size() != starts->size())
    return {};
  const auto normal = normalize_axes(*axes, dims.size());
  if (!normal) return {};
  for (std::size_t i = 0; i < normal->size(); ++i) {
    const auto axis = static_cast<std::uint32_t>((*normal)[i]);
    const auto extent = d.shapes().number(dims[axis]);
    why = MoveRefusal::ShapeUnknown;
    if (!extent) return {};
    why = MoveRefusal::AxisCut;
    const std::int64_t step = (*steps)[i], e = *extent;
    if (step < 1 || (*starts)[i] < -e) return {};
    const std::int64_t begin = (*starts)[i] < 0 ? (*starts)[i] + e : (*starts)[i];
    const std::int64_t end =
        (*ends)[i] < 0 ? std::max<std::int64_t>((*ends)[i], -e) + e : std::min((*ends)[i], e);
    // As many rows as there are of each phase: so it begins before the second row of the first phase.
    if (e % step != 0 || end <= begin || (end - begin - 1) / step + 1 != e / step) return {};
    if (step > 1) out.push_back({axis, begin, step, e / step});
  }
  std::ranges::sort(out, {}, &Stride::axis);
  why = MoveRefusal::None;
  return out;
}

// Returns the same for a chain of Slices of different axes, from `root` down to n.
std::vector<Stride> strides_from(const Draft& d, DValue root, DNode n, MoveRefusal& why) {
  std::vector<Stride> out;
  for (; is_slice(d, n); n = d.def(d.in(n, 0))) {
    const std::vector<Stride> own = strides_of(d, n, why);
    if (own.empty()) return {};
    for (const Stride& s : own) {
      why = MoveRefusal::AxisCut;
      if (std::ranges::count(out, s.axis, &Stride::axis) > 0) return {};
      out.push_back(s);
    }
    if (d.in(n, 0) == root) {
      std::ranges::sort(out, {}, &Stride::axis);
      why = MoveRefusal::None;
      return out;
    }
  }
  why = MoveRefusal::AxisCut;
  return {};
}

// Returns x reshaped so that a second axis, of the phases, follows each axis of `strides`. Returns none, and
// sets `why`, if no target can be written.
DValue by_phase(Draft& d, DValue x, std::span<const Stride> strides, DNode before, MoveRefusal& why) {
  const std::vector<DimId> dims(d.shapes().dims(d.shape(x)).begin(), d.shapes().dims(d.shape(x)).end());
  std::vector<DimId> to;
  for (std::uint32_t i = 0; i < dims.size(); ++i) {
    const auto s = std::ranges::find(strides, i, &Stride::axis);
    to.push_back(s == strides.end() ? dims[i] : d.shapes().pool().constant(s->rows));
    if (s != strides.end()) to.push_back(d.shapes().pool().constant(s->step));
  }
  return deformed(d, x, d.shapes().intern(std::span<const DimId>(to)), before, {}, why);
}

// join_strides() with x as the value that all Slices start from.
bool join_strides_of(Draft& d, DNode concat, DValue x, MoveRefusal& why) {
  const auto count = static_cast<std::int64_t>(d[concat].in_count);
  const DValue y = d.out(concat);
  const std::vector<Stride> strides = strides_from(d, x, d.def(d.in(concat, 0)), why);
  if (strides.empty()) return false;
  std::vector<std::vector<std::int64_t>> phases;  // by operand, by stride
  for (std::uint32_t i = 0; i < d[concat].in_count; ++i) {
    const std::vector<Stride> own = strides_from(d, x, d.def(d.in(concat, i)), why);
    if (own.empty()) return false;
    why = MoveRefusal::AxisCut;
    if (!std::ranges::equal(own, strides, [](const Stride& a, const Stride& b) {
          return a.axis == b.axis && a.step == b.step;
        }))
      return false;
    if (!d.single_use(d.in(concat, i))) {
      why = MoveRefusal::MultiUse;
      return false;
    }
    phases.emplace_back();
    for (const Stride& s : own) phases.back().push_back(s.phase);
  }
  if (!d.shape(y) || !type_can_move(d, d[x].dtype)) {
    why = d.shape(y) ? MoveRefusal::Type : MoveRefusal::ShapeUnknown;
    return false;
  }
  // The distance between the Concat's operands of neighbouring phases; each phase must occur once, in order.
  why = MoveRefusal::AxisCut;
  std::int64_t all = 1;
  std::vector<std::pair<std::int64_t, std::size_t>> order;  // (distance, stride)
  for (std::size_t k = 0; k < strides.size(); ++k) {
    all *= strides[k].step;
    if (all > count) return false;
    std::vector<std::int64_t> unit(strides.size(), 0);
    unit[k] = 1;
    const auto at = std::ranges::find(phases, unit);
    if (at == phases.end()) return false;
    order.emplace_back(at - phases.begin(), k);
  }
  if (all != count) return false;
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t at = 0;
    for (const auto& [distance, k] : order) at += distance * phases[static_cast<std::size_t>(i)][k];
    if (at != i) return false;
  }
  std::ranges::sort(order, std::greater{});  // the phases that change slowest come first

  const DValue split = by_phase(d, x, strides, concat, why);
  if (!split) return false;
  const std::size_t rank = d.shapes().rank(d.shape(x));
  std::vector<std::int64_t> axis_at(rank),
      perm;  // axis_at: each axis of x in the Reshape's result; its phases follow
  for (std::size_t i = 0, at = 0; i < rank; ++i) {
    axis_at[i] = static_cast<std::int64_t>(at);
    at += std::ranges::count(strides, static_cast<std::uint32_t>(i), &Stride::axis) > 0 ? 2 : 1;
  }
  for (std::size_t i = 0; i < rank; ++i) {
    if (i == d[concat].axis)
      for (const auto& [distance, k] : order) perm.push_back(axis_at[strides[k].axis] + 1);
    perm.push_back(axis_at[i]);
  }
  std::vector<DimId> dims;
  for (const std::int64_t p : perm)
    dims.push_back(d.shapes().dims(d.shape(split))[static_cast<std::size_t>(p)]);
  const ShapeId turned = d.shapes().intern(std::span<const DimId>(dims));
  if (deform_form(d.shapes(), turned, d.shape(y)).kind == DeformForm::Kind::None) {
    why = MoveRefusal::NotWritable;
    return false;
  }
  const DValue in[] = {split}, out[] = {d.new_value(turned, d[x].dtype)}, last[] = {y};
  const DNode t = d.new_node(NodeClass::Transpose, {}, in, out, concat);
  d.set_list(t, d.intern_list(std::move(perm)));
  std::vector<DNode> slices;
  for (std::uint32_t i = 0; i < d[concat].in_count; ++i) slices.push_back(d.def(d.in(concat, i)));
  d.erase(concat);
  for (const DNode n : slices) d.erase(n);
  d.new_node(NodeClass::Deformation, {}, out, last, d[t].next);
  return true;
}

}  // namespace

bool is_slice(const Draft& d, DNode n) {
  return (d.is(n, NodeClass::Slice) || d.is(n, NodeClass::Other)) && d[n].origin && !d[n].made &&
         d.model().kind(d[n].origin) == OpKind::Slice && d.in(n, 0) && d.out(n) &&
         d[n].out_count == 1;  // else the model is invalid
}

bool join_strides(Draft& d, DNode concat, MoveRefusal& why) {
  const auto count = static_cast<std::int64_t>(d[concat].in_count);
  const DNode first = count < 2 ? DNode{} : d.def(d.in(concat, 0));
  if (!is_slice(d, first) || !is_slice(d, d.def(d.in(concat, 1)))) return false;
  if (count > kSearchLimits.strided_slices) {
    d.hit_limit(SearchLimit::StridedSlices);
    return false;
  }
  DNode n = first;
  for (std::uint32_t depth = 0; is_slice(d, n); ++depth, n = d.def(d.in(n, 0))) {
    if (depth == kSearchLimits.slice_chain) {
      d.hit_limit(SearchLimit::SliceChain);
      return false;
    }
    if (join_strides_of(d, concat, d.in(n, 0), why)) return true;
    if (!d.unchanged() || why != MoveRefusal::AxisCut) return false;
  }
  return false;
}

bool split_strides(Draft& d, DNode slice, const MoveOptions& o, MoveRefusal& why) {
  const DValue x = d.in(slice, 0);
  std::vector<DNode> slices;
  DNode first = slice;
  std::uint32_t visited = 0;
  for (DUse u = d.first_use(x); u; u = d.next_use(u)) {
    if (++visited > kSearchLimits.strided_readers) {
      d.hit_limit(SearchLimit::StridedReaders);
      return false;
    }
    const DNode n = d.user(u);
    if (!is_slice(d, n) || d.slot(u) != 0) continue;
    if (slices.empty() && n != slice) return false;  // tried from the first of them only
    if (static_cast<std::int64_t>(slices.size()) >= kSearchLimits.strided_slices) {
      d.hit_limit(SearchLimit::StridedSlices);
      return false;
    }
    if (d.before(n, first)) first = n;
    slices.push_back(n);
  }
  if (slices.size() < 2) return false;
  const std::vector<Stride> stride = strides_of(d, slice, why);
  if (why != MoveRefusal::None) return false;
  why = MoveRefusal::AxisCut;
  if (stride.size() != 1 || stride[0].step != static_cast<std::int64_t>(slices.size())) return false;
  std::map<std::int64_t, DNode> by_phase_of;
  for (const DNode n : slices) {
    const std::vector<Stride> own = strides_of(d, n, why);
    if (why != MoveRefusal::None) return false;
    why = MoveRefusal::AxisCut;
    if (own.size() != 1 || own[0].axis != stride[0].axis || own[0].step != stride[0].step ||
        !by_phase_of.emplace(own[0].phase, n).second)
      return false;
  }
  if (!type_can_move(d, d[x].dtype)) {
    why = MoveRefusal::Type;
    return false;
  }
  const DValue columns = by_phase(d, x, stride, first, why);
  if (!columns) return false;
  const std::uint32_t axis = stride[0].axis + 1;
  std::vector<DimId> column_dims(d.shapes().dims(d.shape(columns)).begin(),
                                 d.shapes().dims(d.shape(columns)).end());
  column_dims[axis] = d.shapes().pool().constant(1);
  const ShapeId shape = d.shapes().intern(std::span<const DimId>(column_dims));
  std::vector<DValue> outs;
  for (std::size_t i = 0; i < slices.size(); ++i) outs.push_back(d.new_value(shape, d[x].dtype));
  const DValue in[] = {columns};
  const DNode split = d.new_node(NodeClass::Split, {}, in, outs, first);
  d.set_axis(split, axis);
  set_lengths(d, split);
  std::vector<DNode> squeezes;
  for (const auto& [phase, n] : by_phase_of) {
    const DValue from[] = {outs[static_cast<std::size_t>(phase)]}, to[] = {d.out(n)};
    squeezes.push_back(d.new_node(NodeClass::Deformation, {}, from, to, n));
    d.erase(n);
  }
  // A Squeeze whose only reader is elementwise moves downstream: the cluster takes the shape upstream of it,
  // and of the other Squeezes that it reads.
  std::vector<DNode> cluster;
  for (const DNode n : squeezes) {
    const DNode reader = d.single_user(d.out(n));
    if (!d.is(reader, NodeClass::Elementwise)) continue;
    if (d.shape(d.out(reader)) != d.shape(d.out(n))) continue;
    cluster_of(d, reader, cluster);
    if (!rebase(d, n, cluster, Direction::Down, o, why)) return false;
  }
  return true;
}

}  // namespace graphopt
