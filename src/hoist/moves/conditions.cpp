#include "hoist/moves/conditions.h"

#include <algorithm>
#include <cmath>

#include "ops/constants.h"
#include "ops/facts_kernels.h"
#include "ops/node_facts.h"
#include "ops/same_attributes.h"

namespace graphopt {
namespace {

DType first_type(const Draft& d, DNode n) { return d[d.in(n, 0)].dtype; }

// Returns whether `fits` holds for all elements of a constant; false for types other than float and double,
// and for constants of too many elements.
template <class Fits> bool all_elements(const Draft& d, TensorId t, Fits fits) {
  const Model& m = d.model();
  if (m.tensor(t).elements > kSearchLimits.constant_elements) {
    d.hit_limit(SearchLimit::ConstantElements);
    return false;
  }
  const DType type = m.tensor(t).dtype;
  if (type != DType::Float && type != DType::Double) return false;
  const auto elements = real_list(m, t, kSearchLimits.constant_elements);
  return elements && std::ranges::all_of(*elements, fits);
}

bool free_of_zeros(const Draft& d, TensorId t) {
  return all_elements(d, t, [](double x) { return x < 0 || x > 0; });
}

}  // namespace

bool broadcasts(const Model& m, NodeId n) {
  const Broadcast b = facts_of(m, n).broadcast;
  return b != Broadcast::None && b != Broadcast::LegacyAxis;
}

bool broadcasts_one_way(const Model& m, NodeId n) { return facts_of(m, n).broadcast == Broadcast::OneWay; }

bool reads_in_full(const Draft& d, DNode e, DValue v) {
  if (!d.shape(v) || d.shape(d.out(e)) != d.shape(v)) return false;
  for (std::uint32_t k = 0; k < d[e].real_in; ++k)
    if (d.in(e, k) == v && operand_kind(d.model(), d[e].origin, k) != Operand::Fixed) return true;
  return false;
}

bool consumes_in_full(const Draft& d, DNode m, DNode n) {
  return d.is(m, NodeClass::Elementwise) && reads_in_full(d, m, d.out(n));
}

Operand operand_kind(const Model& m, NodeId n, std::size_t slot) {
  if (slot == 0) return Operand::Shaped;
  const OpFacts& row = facts_of(m, n);
  if (row.broadcast == Broadcast::FixedScalars || role_of(row, slot) == Role::TypeOnly ||
      row.cls == OpClass::Conditional)
    return Operand::Fixed;
  return Operand::Shaped;
}

namespace {

// Returns whether Max or Min never compares a zero with a zero: one of two operands is a constant without.
bool beside_no_zero(const Draft& d, DNode n) {
  if (d[n].in_count == 1) return true;
  if (d[n].in_count != 2) return false;
  for (std::size_t i = 0; i < 2; ++i)
    if (const TensorId t = d[d.in(n, i)].tensor; t && free_of_zeros(d, t)) return true;
  return false;
}

// Returns whether the bits of n depend on which of its operands are scalars and which are vectors, since the
// kernel has a loop of its own for each case. The loops of Pow round differently; those of Where, Max and Min
// differ in the sign of a zero. In Max and Min that sign also depends on the length of a vector, but never if
// one of two operands is a constant without zeros.
bool layout_sensitive(const Draft& d, DNode n) {
  if (!d[n].chooses_by_layout) return false;
  const OpKind kind = d.model().kind(d[n].origin);
  if (kind == OpKind::Pow) return true;
  if (!is_float(d[d.out(n)].dtype)) return false;
  return kind == OpKind::Where || ((kind == OpKind::Max || kind == OpKind::Min) && !beside_no_zero(d, n));
}

}  // namespace

bool position_free(const Draft& d, DNode n) {
  const Model& m = d.model();
  const NodeId origin = d[n].origin;
  const OpKind kind = m.kind(origin);
  const DType type = first_type(d, n), result = d[d.out(n)].dtype;
  if (layout_sensitive(d, n)) return true;  // may_reshape decides
  if (kind == OpKind::Cast || kind == OpKind::CastLike) return !cast_position_dependent(type, result);
  if (relu_is_max(kind, type, m.opset(origin))) return false;
  return !position_dependent(kind, type) || kind == OpKind::Max || kind == OpKind::Min;
}

bool may_reshape(const Draft& d, DNode n, ShapeId to, bool moved) {
  if (!layout_sensitive(d, n)) return true;
  const ShapeId from = d.shape(d.out(n));
  if (!from || !to) return false;
  bool full = true;
  for (std::uint32_t k = 0; k < d[n].in_count; ++k) {
    const ShapeId s = d.shape(d.in(n, k));
    full &= s == from;
    if (!s || (s != from && !d.shapes().all_ones(s))) return false;
  }
  if (full && !moved) return true;
  const OpKind kind = d.model().kind(d[n].origin);
  if (kind == OpKind::Max || kind == OpKind::Min) return false;
  const auto wide = [&](ShapeId s) {
    return d.shapes().rank(s) > 0 && d.shapes().pool().range(d.shapes().dims(s).back()).low > 1;
  };
  return wide(from) && wide(to);
}

bool may_move(const Draft& d, DNode n, ShapeId to, bool moved, Strictness s) {
  if (s == Strictness::Assuming) return true;
  if (may_reshape(d, n, to, moved) && (!moved || position_free(d, n))) return true;
  return !keeps_bits(s) && is_float(d[d.out(n)].dtype);
}

bool broadcast_sensitive(const Draft& d, DNode n, DValue operand) {
  return layout_sensitive(d, n) && !d.shapes().all_ones(d.shape(operand));
}

bool may_expand(const Draft& d, DNode n) {
  const OpKind kind = d.model().kind(d[n].origin);
  if (kind == OpKind::Max || kind == OpKind::Min) return !layout_sensitive(d, n);
  return !layout_sensitive(d, n) && scalar_equals_vector(kind, d[d.in(n, d[n].in_count - 1)].dtype);
}

MoveRefusal operation_differs(const Draft& d, DNode a, DNode b) {
  const Model& m = d.model();
  const NodeId x = d[a].origin, y = d[b].origin;
  if (m.node(x).op != m.node(y).op) return MoveRefusal::Operand;
  if (d[a].in_count != d[b].in_count) return MoveRefusal::Operand;
  for (std::uint32_t i = 0; i < d[a].in_count; ++i) {
    const DValue v = d.in(a, i), w = d.in(b, i);
    if (v.valid() != w.valid()) return MoveRefusal::Operand;
    if (v && d[v].dtype != d[w].dtype) return MoveRefusal::Type;
  }
  if (d[d.out(a)].dtype != d[d.out(b)].dtype) return MoveRefusal::Type;
  return x == y || same_attributes(m, x, y) ? MoveRefusal::None : MoveRefusal::Attributes;
}

bool unchanged_by_clamp(const Draft& d, TensorId t, bool whole) {
  return all_elements(
      d, t, [whole](double x) { return x >= 0 && !std::signbit(x) && (!whole || std::floor(x) == x); });
}

}  // namespace graphopt
