#include "hoist/moves/reshaping.h"

#include <algorithm>

#include "draft/data_movement.h"

namespace graphopt {

DValue deformed(Draft& d, DValue v, ShapeId to, DNode before, const RuntimeTarget& runtime_target,
                MoveRefusal& why) {
  const auto made = [&](std::span<const DValue> in, NodeId like) {
    const DValue out[] = {d.new_value(to, d[v].dtype)};
    d.new_node(NodeClass::Deformation, like, in, out, before);
    return out[0];
  };
  const DValue with_target[] = {v, runtime_target.operand};
  if (!to || !d.shape(v)) {
    if (runtime_target.operand && type_can_move(d, d[v].dtype))
      return made(with_target, runtime_target.reshape);
    why = MoveRefusal::ShapeUnknown;
    return {};
  }
  if (d.shape(v) == to) return v;
  if (!d.shapes().same_count(d.shape(v), to)) {
    why = MoveRefusal::ShapeUnknown;
    return {};
  }
  if (d.constant(v)) {
    for (const DimId x : d.shapes().dims(to))
      if (!d.shapes().number(x)) {
        why = MoveRefusal::NotWritable;
        return {};
      }
    return reshaped_constant(d, v, to);
  }
  if (!type_can_move(d, d[v].dtype)) {
    why = MoveRefusal::Type;
    return {};
  }
  // The source of a chain of deformations may have the shape already, or allow a constant target.
  DValue root = v;
  for (DNode p = d.def(root); p && d[p].node_class == NodeClass::Deformation && !d[p].shape_only;
       p = d.def(root)) {
    root = d.in(p, 0);
    if (d.shape(root) == to) return root;
    if (!d.shape(root) || d.constant(root)) break;
  }
  for (const DValue from : {v, root})
    if (d.shape(from) && deform_form(d.shapes(), d.shape(from), to).kind != DeformForm::Kind::None)
      return made(std::span(&from, 1), {});
  if (runtime_target.operand) return made(with_target, runtime_target.reshape);
  why = MoveRefusal::NotWritable;
  return {};
}

MoveRefusal constant_refusal(const Draft& d) {
  return d.limit_hits().last == SearchLimit::ConstantElements ? MoveRefusal::Limit : MoveRefusal::Operand;
}

DValue mapped_operand(Draft& d, DValue w, ShapeId t, ShapeId s, bool may_expand, DNode before,
                      MoveRefusal& why) {
  ShapeTable& shapes = d.shapes();
  const ShapeId q = d.shape(w);
  why = MoveRefusal::ShapeUnknown;
  if (!q || !t || !s) return {};
  why = MoveRefusal::Operand;
  if (shapes.rank(q) > shapes.rank(t)) return {};
  if (shapes.all_ones(q)) {
    if (shapes.rank(q) <= shapes.rank(s)) return w;
    const ShapeId scalar = shapes.intern(std::span<const std::int64_t>{});
    return d.constant(w) ? reshaped_constant(d, w, scalar) : deformed(d, w, scalar, before, {}, why);
  }
  const std::vector<DimId> td(shapes.dims(t).begin(), shapes.dims(t).end()),
      sd(shapes.dims(s).begin(), shapes.dims(s).end());
  for (const DimId x : td)
    if (shapes.pool().is_constant(x, 0)) return {};  // products of 0 do not identify groups
  auto groups = dim_groups(shapes, td, sd);
  if (groups.empty() && shapes.same_count(t, s)) groups = common_end(shapes, td, sd);
  if (groups.empty()) return {};
  const DimId one = shapes.pool().constant(1);
  std::vector<DimId> qt(td.size() - shapes.rank(q), one), full, qs(sd.size(), one);
  for (const DimId x : shapes.dims(q)) qt.push_back(x);
  full = qt;
  bool grow = false;
  for (const DimGroup& g : groups) {
    bool ones = true, all = true;
    for (std::uint32_t k = g.a_begin; k < g.a_end; ++k) {
      if (shapes.is_one(td[k])) continue;
      ones &= shapes.is_one(qt[k]);
      all &= qt[k] == td[k];
    }
    if (ones) continue;
    if (!all) {
      if (!d.constant(w) || !may_expand) return {};
      for (std::uint32_t k = g.a_begin; k < g.a_end; ++k) {
        if (!shapes.number(td[k])) return {};
        full[k] = td[k];
      }
      grow = true;
    }
    for (std::uint32_t k = g.b_begin; k < g.b_end; ++k) qs[k] = sd[k];
  }
  std::size_t lead = 0;
  // All may be ones: the counts of groups are proven equal, not their products (common_end).
  while (lead < qs.size() && shapes.is_one(qs[lead])) ++lead;
  const ShapeId to = shapes.intern(std::span<const DimId>(qs).subspan(lead));
  if (grow) {
    if (!shapes.numbers(to)) return {};
    const auto dims = *shapes.numbers(shapes.intern(std::span<const DimId>(full)));
    const DValue expanded = expanded_constant(d, w, dims);
    if (!expanded) {
      why = constant_refusal(d);
      return {};
    }
    return reshaped_constant(d, expanded, to);
  }
  std::size_t ones = 0;
  while (shapes.is_one(shapes.dims(q)[ones])) ++ones;
  if (shapes.rank(q) <= sd.size() &&
      to == shapes.intern(std::vector<DimId>(shapes.dims(q).begin() + static_cast<std::ptrdiff_t>(ones),
                                             shapes.dims(q).end())))
    return w;  // equal but for leading ones
  if (d.constant(w)) return shapes.numbers(to) ? reshaped_constant(d, w, to) : DValue{};
  return deformed(d, w, to, before, {}, why);
}

}  // namespace graphopt
