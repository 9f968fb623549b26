// Problem: every branch of a Concat ends, or every branch of a Split begins, with a deformation or with a
// Transpose: n nodes where one is enough.
// Method: let b be an axis of the deformations' source shapes such that as many elements come before b as
// before the Concat's axis. Then each branch's block stays contiguous: the Concat joins the source shapes
// along b, and one deformation follows. Branches without a deformation get the inverse; the cost decides
// whether that pays. With a Transpose of one perm on all branches, the axis of the Concat changes instead.
// The Split is the mirror.
// Exact: the same elements in the same order; a Transpose moves them, but nothing is computed.
// Lowers D by the deformations but one, or C' by the Transposes but one.
// Ends: each branch is visited once.
//
//   a = Reshape (x, {8, 3})             c = Concat <axis = 0> (x, z)       x: [4,6], z: [2,6]
//   b = Reshape (z, {4, 3})     =>      y = Reshape (c, {12, 3})
//   y = Concat <axis = 0> (a, b)
#include <algorithm>
#include <array>
#include <optional>

#include "draft/data_movement.h"
#include "hoist/moves/moves.h"
#include "support/checked.h"

namespace graphopt {
namespace {

// Returns the dims with the one at b replaced.
std::vector<DimId> with(std::span<const DimId> dims, std::size_t b, DimId by) {
  std::vector<DimId> out = copy_of(dims);
  out[b] = by;
  return out;
}

DimId product(Draft& d, std::span<const DimId> dims, std::size_t begin, std::size_t end) {
  return d.shapes().product(dims.subspan(begin, end - begin));
}

// Returns whether only the Concat reads v, for a Transpose in one slot only. (Downstream, a Transpose would
// move the bytes of every slot; a deformation moves none.)
bool feeds_only(const Draft& d, DValue v, DNode c, NodeClass what) {
  if (d.single_use(v)) return true;
  if (what != NodeClass::Deformation || d[v].live_out) return false;
  if (d[v].use_count > kSearchLimits.common_uses) {
    d.hit_limit(SearchLimit::CommonUses);
    return false;
  }
  for (DUse u = d.first_use(v); u; u = d.next_use(u))
    if (d.user(u) != c) return false;
  return true;
}

DNode deformation_of(const Draft& d, DValue v, DNode c, NodeClass what) {
  const DNode q = d.def(v);
  return d.is(q, what) && feeds_only(d, v, c, what) && d.shape(d.in(q, 0)) ? q : DNode{};
}

// Returns whether nodes of class `what` produce at least two of the values, whoever reads them.
bool several_from(const Draft& d, std::span<const DValue> values, NodeClass what) {
  std::size_t found = 0;
  for (const DValue v : values) found += d.is(d.def(v), what);
  return found >= 2;
}

// Returns whether the inverse deformation of a branch takes a node of its own. Constants are reshaped, and
// next to another deformation the two become one.
bool needs_node(const Draft& d, DValue v) {
  if (d.constant(v) || d.is(d.def(v), NodeClass::Deformation)) return false;
  std::uint32_t visited = 0;  // one value may stand in all slots
  for (DUse u = d.first_use(v); u; u = d.next_use(u)) {
    if (visited++ == kSearchLimits.common_uses) {
      d.hit_limit(SearchLimit::CommonUses);
      break;
    }
    if (d.is(d.user(u), NodeClass::Deformation)) return false;
  }
  return true;
}

// The shapes of the operands of a new Concat along axis b, and the extent of its result there.
struct JoinedShapes {
  std::vector<ShapeId> operands;
  DimId extent;
};

// Returns the shapes of the branches upstream of a new Concat along axis b: that of the deformation's source,
// or, on a branch without one, s0 (a source's dims) with its own extent along b. Returns nothing if a branch
// does not fit s0 or an extent is not known.
std::optional<JoinedShapes> join_along(Draft& d, DNode c, std::span<const DNode> each,
                                       std::span<const DimId> s0, std::size_t b) {
  JoinedShapes out;
  DimId total = d.shapes().pool().constant(0);
  std::vector<DimId> rest = copy_of(s0);
  rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(b));
  const DimId others = product(d, rest, 0, rest.size());
  const auto shape_of = [&](ShapeId given, bool source) -> ShapeId {
    if (source) {
      const auto s = copy_of(d.shapes().dims(given));
      return s.size() == s0.size() && std::ranges::equal(with(s, b, s0[b]), s0) ? given : ShapeId{};
    }
    const DimId count = d.shapes().product(given);
    const DimId extent = count ? d.shapes().divide(count, others) : DimId{};
    return extent ? d.shapes().intern(std::span<const DimId>(with(s0, b, extent))) : ShapeId{};
  };
  std::array<ShapeId, 2> given,
      made;  // of the last branch without and with a deformation, as most branches are alike
  std::optional<std::int64_t> numbers = 0;  // the sum of the extents that are numbers
  for (std::uint32_t i = 0; others && i < d[c].in_count; ++i) {
    const bool source = each[i].valid();
    const ShapeId s = d.shape(source ? d.in(each[i], 0) : d.in(c, i));
    if (given[source] != s) {
      given[source] = s;
      made[source] = shape_of(s, source);
    }
    if (!made[source]) break;
    out.operands.push_back(made[source]);
    const DimId extent = d.shapes().dims(made[source])[b];
    const auto number = d.shapes().number(extent);
    if (number) numbers = checked_add(*numbers, *number);
    else total = d.shapes().pool().add(total, extent);
    if (!total || !numbers) break;
  }
  out.extent =
      total && numbers ? d.shapes().pool().add(total, d.shapes().pool().constant(*numbers)) : DimId{};
  if (out.operands.size() != d[c].in_count || !out.extent) return std::nullopt;
  return out;
}

bool transposes_concat(Draft& d, DNode c, std::span<const DNode> each, MoveRefusal& why) {
  for (const DNode q : each)
    if (!q || d[q].list != d[each[0]].list) {
      why = q && each[0] ? MoveRefusal::Attributes : MoveRefusal::Operand;
      return false;
    }
  const auto perm = d.list(d[each[0]].list);
  std::vector<DValue> in;
  for (const DNode q : each) in.push_back(d.in(q, 0));
  const DValue y = d.out(c);
  std::vector<DimId> dims(perm.size());
  for (std::size_t k = 0; k < perm.size(); ++k)
    dims[static_cast<std::size_t>(perm[k])] = d.shapes().dims(d.shape(y))[k];
  const DValue joined[] = {d.new_value(d.shapes().intern(std::span<const DimId>(dims)), d[y].dtype)};
  const DNode concat = d.new_node(NodeClass::Concat, {}, in, joined, c);
  d.set_axis(concat, static_cast<std::uint32_t>(perm[d[c].axis]));
  const ListId list = d[each[0]].list;
  const DValue out[] = {y};
  d.erase(c);
  const DNode t = d.new_node(NodeClass::Transpose, {}, joined, out, d[concat].next);
  d.set_list(t, list);
  return true;
}

bool transposes_split(Draft& d, DNode s, std::span<const DNode> each, MoveRefusal& why) {
  for (const DNode q : each)
    if (!q || d[q].list != d[each[0]].list) {
      why = q && each[0] ? MoveRefusal::Attributes : MoveRefusal::Operand;
      return false;
    }
  const ListId list = d[each[0]].list;
  const auto perm = d.list(list);
  const DValue x = d.in(s, 0);
  std::vector<DimId> dims;
  for (const std::int64_t p : perm) dims.push_back(d.shapes().dims(d.shape(x))[static_cast<std::size_t>(p)]);
  const DValue in[] = {x},
               turned[] = {d.new_value(d.shapes().intern(std::span<const DimId>(dims)), d[x].dtype)};
  const DNode t = d.new_node(NodeClass::Transpose, {}, in, turned, s);
  d.set_list(t, list);
  std::vector<DValue> outs;
  for (const DNode q : each) outs.push_back(d.out(q));
  const auto axis = static_cast<std::uint32_t>(std::ranges::find(perm, static_cast<std::int64_t>(d[s].axis)) -
                                               perm.begin());
  for (const DNode q : each) d.erase(q);
  d.set_ins(s, turned);
  d.set_outs(s, outs);
  d.set_axis(s, axis);
  set_lengths(d, s);
  return true;
}

// Returns the reader of class `what` of each part of a Split where it is the only one, none for other parts.
// Nothing, with the reason, where not even two parts have one, or a shape is not known.
std::optional<std::vector<DNode>> single_readers(const Draft& d, DNode s, NodeClass what, MoveRefusal& why) {
  if (!d.shape(d.in(s, 0))) {
    why = MoveRefusal::ShapeUnknown;
    return std::nullopt;
  }
  const std::uint32_t a = d[s].axis;
  std::vector<DNode> each;
  std::size_t found = 0;
  for (const DValue v : d.outs(s)) {
    const DNode q = v ? d.single_user(v) : DNode{};
    const bool fits =
        q && d[q].node_class == what && !d[q].shape_only && d.slot(d.first_use(v)) == 0 && d.shape(d.out(q));
    each.push_back(fits ? q : DNode{});
    found += fits;
    if (!v || !d.shape(v) || !d.shapes().number(d.shapes().dims(d.shape(v))[a])) {
      why = MoveRefusal::ShapeUnknown;
      return std::nullopt;
    }
  }
  if (found >= 2) return each;
  std::size_t readers = 0;
  for (const DValue v : d.outs(s))
    for (DUse u = v ? d.first_use(v) : DUse{}; u; u = d.next_use(u))
      readers += d[d.user(u)].node_class == what;
  if (readers >= 2) why = MoveRefusal::MultiUse;
  return std::nullopt;
}

}  // namespace

bool common_concat(Draft& d, DNode c, NodeClass what, MoveRefusal& why) {
  const ShapeId result = d.shape(d.out(c));
  if (!result) {
    why = MoveRefusal::ShapeUnknown;
    return false;
  }
  std::vector<DNode> each;
  std::size_t found = 0;
  DNode first;
  for (std::uint32_t i = 0; i < d[c].in_count; ++i) {
    each.push_back(deformation_of(d, d.in(c, i), c, what));
    found += each.back().valid();
    if (each.back() && !first) first = each.back();
    if (!d.shape(d.in(c, i))) return false;
  }
  if (found < 2 ||
      std::ranges::all_of(each, [&](DNode q) { return !q || q == first; })) {  // one node in several slots
    if (several_from(d, d.ins(c), what)) why = MoveRefusal::MultiUse;
    return false;
  }
  if (!type_can_move(d, d[d.out(c)].dtype)) {
    why = MoveRefusal::Barrier;
    return false;
  }
  if (what == NodeClass::Transpose) return transposes_concat(d, c, each, why);
  // With few branches the move is tried and priced. With many, most must have a deformation, since 10^5 nodes
  // that are made and undone take as long as the rest of a search.
  if (d[c].in_count > kSearchLimits.common_operands) {
    std::size_t inverses = 0;
    for (std::uint32_t i = 0; i < d[c].in_count; ++i) inverses += !each[i] && needs_node(d, d.in(c, i));
    if (inverses + 1 >= found) {
      d.hit_limit(SearchLimit::CommonOperands);
      why = MoveRefusal::NoGain;
      return false;
    }
  }

  const auto r = copy_of(d.shapes().dims(result));
  const auto s0 = copy_of(d.shapes().dims(d.shape(d.in(first, 0))));
  const DimId outer = product(d, r, 0, d[c].axis);
  why = MoveRefusal::AxisCut;
  for (std::size_t b = 0; outer && b < s0.size(); ++b) {
    if (product(d, s0, 0, b) != outer) continue;
    const auto joined_shapes = join_along(d, c, each, s0, b);
    if (!joined_shapes) continue;
    std::vector<DValue> in;
    for (std::uint32_t i = 0; i < d[c].in_count; ++i) {
      in.push_back(each[i] ? d.in(each[i], 0)
                           : deformed(d, d.in(c, i), joined_shapes->operands[i], c, {}, why));
      if (!in.back()) return false;
    }
    const DValue y = d.out(c);
    const ShapeId joined = d.shapes().intern(std::span<const DimId>(with(s0, b, joined_shapes->extent)));
    if (!joined ||
        (joined != result && deform_form(d.shapes(), joined, result).kind == DeformForm::Kind::None)) {
      why = MoveRefusal::NotWritable;
      return false;
    }
    const DValue whole[] = {joined == result ? y : d.new_value(joined, d[y].dtype)}, out[] = {y};
    const DNode concat = d.new_node(NodeClass::Concat, {}, in, whole, c);
    d.set_axis(concat, static_cast<std::uint32_t>(b));
    d.erase(c);
    if (joined != result) d.new_node(NodeClass::Deformation, {}, whole, out, d[concat].next);
    return true;
  }
  return false;
}

bool common_split(Draft& d, DNode s, NodeClass what, MoveRefusal& why) {
  const DValue x = d.in(s, 0);
  const std::optional<std::vector<DNode>> found = single_readers(d, s, what, why);
  if (!found) return false;
  const std::vector<DNode>& each = *found;
  const DNode first = *std::ranges::find_if(each, [](DNode n) { return bool(n); });
  if (!type_can_move(d, d[x].dtype)) {
    why = MoveRefusal::Barrier;
    return false;
  }
  if (what == NodeClass::Transpose) return transposes_split(d, s, each, why);

  const auto xs = copy_of(d.shapes().dims(d.shape(x)));
  const std::uint32_t a = d[s].axis;
  const auto t0 = copy_of(d.shapes().dims(d.shape(d.out(first))));
  const DimId outer = product(d, xs, 0, a), inner = product(d, xs, a + 1, xs.size());
  why = MoveRefusal::AxisCut;
  for (std::size_t b = 0; outer && inner && b < t0.size(); ++b) {
    if (product(d, t0, 0, b) != outer) continue;
    const DimId new_inner = product(d, t0, b + 1, t0.size());
    DimId total = d.shapes().pool().constant(0);
    std::vector<ShapeId> shapes;
    for (std::uint32_t i = 0; new_inner && i < d[s].out_count; ++i) {
      const DimId length = d.shapes().dims(d.shape(d.out(s, i)))[a];
      const DimId block = d.shapes().pool().mul(length, inner);
      const DimId extent = block ? d.shapes().divide(d.shapes().pool().canonical(block), new_inner) : DimId{};
      if (!extent || !d.shapes().number(extent)) break;
      const ShapeId t = d.shapes().intern(std::span<const DimId>(with(t0, b, extent)));
      if (each[i] && d.shape(d.out(each[i])) != t) break;
      total = d.shapes().pool().add(total, extent);
      shapes.push_back(t);
    }
    if (shapes.size() != d[s].out_count) continue;
    const DValue whole =
        deformed(d, x, d.shapes().intern(std::span<const DimId>(with(t0, b, total))), s, {}, why);
    if (!whole) continue;
    std::vector<DValue> outs;
    for (std::uint32_t i = 0; i < d[s].out_count; ++i) {
      const DValue v = d.out(s, i);
      if (each[i]) {
        outs.push_back(d.out(each[i]));
        d.erase(each[i]);
        continue;
      }
      if (deform_form(d.shapes(), shapes[i], d.shape(v)).kind == DeformForm::Kind::None) {
        why = MoveRefusal::NotWritable;
        return false;
      }
      const DValue from[] = {d.new_value(shapes[i], d[v].dtype)}, out[] = {v};
      d.new_node(NodeClass::Deformation, {}, from, out, d[s].next);
      outs.push_back(from[0]);
    }
    const DValue in[] = {whole};
    d.set_ins(s, in);
    d.set_outs(s, outs);
    d.set_axis(s, static_cast<std::uint32_t>(b));
    set_lengths(d, s);
    return true;
  }
  return false;
}

}  // namespace graphopt
