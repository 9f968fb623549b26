#include "infer/elementwise.h"

#include <algorithm>

#include "ops/attributes.h"
#include "ops/node_facts.h"

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
  // Of operators that broadcast, no operand is optional: a node without one fails, and has no shape there.
  if (row.broadcast == Broadcast::Multi || row.broadcast == Broadcast::OneWay)
    for (std::size_t i = 1; i < m.input_count(n); ++i)
      if (!m.input(n, i)) return false;
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

}  // namespace graphopt
