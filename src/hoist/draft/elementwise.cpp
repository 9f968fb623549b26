#include "hoist/draft/elementwise.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ops/attributes.h"
#include "ops/node_facts.h"
#include "ops/same_attributes.h"

namespace graphopt {
namespace {

bool same_shapes(const Model& m, const Inference& infer, NodeId n) {
  const ValueId y = m.output(n, 0);
  for (std::size_t i = 0; i < m.input_count(n); ++i) {
    const ValueId v = m.input(n, i);
    if (v && !infer.same_shape(v, y)) return false;
  }
  return true;
}

bool is_scalar(const Inference& infer, ValueId v) { return infer.has_rank(v) && infer.dims(v).empty(); }

DType first_type(const Draft& d, DNode n) { return d[d.in(n, 0)].dtype; }

// Returns whether `fits` holds for all elements of a constant; false for types other than float and double,
// and for constants of too many elements.
template <class Fits> bool all_elements(const Draft& d, TensorId t, Fits fits) {
  const Model& m = d.model();
  if (m.tensor(t).elements > kSearchLimits.constant_elements) {
    d.hit_limit(SearchLimit::ConstantElements);
    return false;
  }
  const auto raw = m.raw(t);
  if (!raw) return false;
  const auto check = [&]<class T>(T x) {
    for (std::size_t i = 0; i + sizeof(T) <= raw->size(); i += sizeof(T)) {
      std::memcpy(&x, raw->data() + i, sizeof(T));
      if (!fits(x)) return false;
    }
    return true;
  };
  if (m.tensor(t).dtype == DType::Float) return check(0.0f);
  if (m.tensor(t).dtype == DType::Double) return check(0.0);
  return false;
}

bool free_of_zeros(const Draft& d, TensorId t) {
  return all_elements(d, t, [](auto x) { return x < 0 || x > 0; });
}

}  // namespace

bool is_elementwise(const Model& m, const Inference& infer, NodeId n) {
  const auto plain = [&](ValueId v) { return !v || is_plain(infer.dtype(v)); };
  for (std::size_t i = 0; i < m.input_count(n); ++i)
    if (!plain(m.input(n, i))) return false;
  return std::ranges::all_of(m.outputs(n), plain) && is_elementwise_on_plain(m, infer, n);
}

bool is_elementwise_on_plain(const Model& m, const Inference& infer, NodeId n) {
  const OpFacts& row = facts_of(m, n);
  const bool by_class =
      row.cls == OpClass::Unary || row.cls == OpClass::Nary || row.cls == OpClass::Conditional;
  if (!by_class || row.purity != Purity::Pure || row.deprecated || m.output_count(n) != 1 || !m.output(n, 0))
    return false;
  if (m.input_count(n) == 0 || !m.input(n, 0) || !attributes_known(m, n)) return false;
  switch (m.kind(n)) {
    case OpKind::BatchNormalization:  // an anchor, as it is folded into its Conv
    case OpKind::Dropout:             // in inference mode it is removed before; else random
      return false;
    case OpKind::MsBiasGelu:  // the bias has to stay a vector along the last axis
    case OpKind::MsFastGelu: return m.input_count(n) == 1 || !m.input(n, 1);
    case OpKind::QuantizeLinear:
    case OpKind::DequantizeLinear:  // per tensor, or per axis; not by blocks
      if (int_attr(m, n, names::block_size).value_or(0) != 0) return false;
      if (quantization_axis(m, infer, n)) return true;
      for (std::size_t i = 1; i < m.input_count(n); ++i)
        if (m.input(n, i) && !is_scalar(infer, m.input(n, i))) return false;
      return true;
    default: break;
  }
  if (row.broadcast == Broadcast::LegacyAxis)
    return int_attr(m, n, names::broadcast).value_or(0) == 0 && !has_attr(m, n, names::axis) &&
           same_shapes(m, infer, n);
  if (row.broadcast == Broadcast::None && m.input_count(n) > 1 && row.cls == OpClass::Nary)
    return same_shapes(m, infer, n);
  return true;
}

std::optional<std::uint32_t> quantization_axis(const Model& m, const Inference& infer, NodeId n) {
  if (m.kind(n) != OpKind::QuantizeLinear && m.kind(n) != OpKind::DequantizeLinear) return std::nullopt;
  const ValueId x = m.input(n, 0), scale = m.input(n, 1), zero = m.input(n, 2);
  if (m.opset(n) < 13 || !scale || !infer.has_rank(x) || !infer.has_rank(scale) ||
      infer.dims(scale).size() != 1)
    return std::nullopt;
  const auto axis = normalize_axis(int_attr(m, n, names::axis).value_or(1), infer.dims(x).size());
  if (!axis || (zero && !infer.same_shape(scale, zero))) return std::nullopt;
  const DimId extent = infer.dims(x)[static_cast<std::size_t>(*axis)];
  if (!extent || m.dims.equal(extent, infer.dims(scale)[0]) != Tri::Yes) return std::nullopt;
  return static_cast<std::uint32_t>(*axis);
}

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

Operand operand_kind(const Model& m, NodeId n, std::size_t slot) {
  if (slot == 0) return Operand::Broadcast;
  const OpFacts& row = facts_of(m, n);
  if (row.broadcast == Broadcast::FixedScalars || role_of(row, slot) == Role::TypeOnly ||
      row.cls == OpClass::Conditional)
    return Operand::Fixed;
  return Operand::Broadcast;
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

// Kernels that take another path by which operands are scalars or vectors: Pow rounds otherwise, Where and
// Max and Min give another sign of zero (Max and Min by the length of a vector, too, but not together with a
// constant that holds no zero).
bool layout_sensitive(const Draft& d, DNode n) {
  if (!d[n].layout_sensitive) return false;
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

bool broadcast_sensitive(const Draft& d, DNode n, DValue operand) {
  return layout_sensitive(d, n) && !d.shapes().all_ones(d.shape(operand));
}

bool may_lift(const Draft& d, DNode n) {
  const OpKind kind = d.model().kind(d[n].origin);
  if (kind == OpKind::Max || kind == OpKind::Min) return !layout_sensitive(d, n);
  return !layout_sensitive(d, n) && scalar_equals_vector(kind, d[d.in(n, d[n].in_count - 1)].dtype);
}

Refusal operation_differs(const Draft& d, DNode a, DNode b) {
  const Model& m = d.model();
  const NodeId x = d[a].origin, y = d[b].origin;
  if (m.node(x).op != m.node(y).op) return Refusal::Operand;
  if (d[a].in_count != d[b].in_count) return Refusal::Operand;
  for (std::uint32_t i = 0; i < d[a].in_count; ++i) {
    const DValue v = d.in(a, i), w = d.in(b, i);
    if (v.valid() != w.valid()) return Refusal::Operand;
    if (v && d[v].dtype != d[w].dtype) return Refusal::Type;
  }
  if (d[d.out(a)].dtype != d[d.out(b)].dtype) return Refusal::Type;
  return x == y || same_attributes(m, x, y) ? Refusal::None : Refusal::Attributes;
}

bool unchanged_by_clamp(const Draft& d, TensorId t, bool whole) {
  return all_elements(
      d, t, [whole](auto x) { return x >= 0 && !std::signbit(x) && (!whole || std::floor(x) == x); });
}

}  // namespace graphopt
