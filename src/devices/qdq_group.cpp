// See qdq_group.h.
#include "devices/qdq_group.h"

#include <fmt/format.h>

#include <algorithm>

#include "ops/facts.h"
#include "ops/node_facts.h"

namespace graphopt {
namespace {

bool converts(const Model& m, NodeId n) { return quantizes(m, n) || dequantizes(m, n); }

// A constant that is the same number for every element, of no axis.
bool is_scalar_constant(const Model& m, const Inference& inference, ValueId v) {
  return m.constant_of(v) && inference.has_rank(v) && inference.dims(v).empty();
}

// Returns why the core's operands are not all quantized; nothing when they are.
std::optional<std::string> float_operand(const Model& m, const Inference& inference, NodeId core) {
  bool quantized = false;
  for (std::size_t i = 0; i < m.input_count(core); ++i) {
    const ValueId v = m.input(core, i);
    if (!v) continue;
    const DType type = inference.dtype(v);
    if (type != DType::Undefined && !is_float(type)) continue;
    const NodeId maker = dequantizer(m, v);
    if (maker && m.node(maker).graph == m.node(core).graph) quantized = true;
    else if (!is_scalar_constant(m, inference, v))
      return fmt::format("{}input {} '{}'{} is not made by DequantizeLinear",
                         type == DType::Undefined ? "" : "float ", i, m.text(m.value(v).name),
                         type == DType::Undefined ? ", of an unknown type," : "");
  }
  if (!quantized) return "it reads no DequantizeLinear";
  return std::nullopt;
}

bool too_many(const Model& m, NodeId n) {
  std::size_t neighbours = m.input_count(n);
  for (const ValueId v : m.outputs(n))
    if (v) neighbours += m.use_count(v);
  return neighbours > kMostQdqNeighbours;
}

// The same as outside_qdq_group() of a group that ends with this node.
std::optional<std::string> outside_group_of(const Model& m, const Inference& inference, NodeId last) {
  if (!last || converts(m, last)) return "no operator is between DequantizeLinear and QuantizeLinear";
  if (too_many(m, last)) return "it has too many operands and readers to be looked at";
  if (!only_quantized(m, last)) return "its results do not all go to QuantizeLinear, and to nothing else";
  const NodeId core = qdq_core(m, last);
  if (m.node(core).graph != m.node(last).graph) return "its operand is made in another graph";
  if (too_many(m, core)) return "it has too many operands and readers to be looked at";
  return float_operand(m, inference, core);
}

// Returns the node that ends the group of an operator: its activation, if that alone reads it.
NodeId last_of(const Model& m, NodeId core) {
  if (m.output_count(core) == 0 || !m.output(core, 0)) return core;
  const NodeId user = m.single_user(m.output(core, 0));
  return user && !quantizes(m, user) && qdq_core(m, user) == core ? user : core;
}

}  // namespace

bool quantizes(const Model& m, NodeId n) {
  return m.kind(n) == OpKind::QuantizeLinear || m.kind(n) == OpKind::MsQuantizeLinear;
}
bool dequantizes(const Model& m, NodeId n) {
  return m.kind(n) == OpKind::DequantizeLinear || m.kind(n) == OpKind::MsDequantizeLinear;
}

NodeId dequantizer(const Model& m, ValueId v) {
  const NodeId maker = v ? m.value(v).def : NodeId{};
  return maker && dequantizes(m, maker) ? maker : NodeId{};
}

bool reads_dequantized(const Model& m, NodeId n) {
  for (std::size_t i = 0; i < m.input_count(n); ++i)
    if (dequantizer(m, m.input(n, i))) return true;
  return false;
}

bool only_quantized(const Model& m, NodeId n) {
  for (const ValueId v : m.outputs(n)) {
    if (!v) continue;
    bool all = m.use_count(v) > 0;
    for (UseId u = m.first_use(v); u && all; u = m.next_use(u)) all = quantizes(m, m.user(u));
    if (!all) return false;
  }
  return true;
}

NodeId qdq_core(const Model& m, NodeId last) {
  const OpClass cls = facts_of(m, last).cls;
  const bool activation = cls == OpClass::Unary || cls == OpClass::Conditional;
  if (!activation || reads_dequantized(m, last) || !m.input(last, 0)) return last;
  const NodeId before = m.value(m.input(last, 0)).def;
  return before && m.single_user(m.input(last, 0)) == last ? before : last;
}

std::optional<std::string> outside_qdq_group(const Model& m, const Inference& inference, NodeId n) {
  if (quantizes(m, n)) {
    const ValueId v = m.input(n, 0);
    return outside_group_of(m, inference, v ? m.value(v).def : NodeId{});
  }
  if (dequantizes(m, n)) {
    const ValueId v = m.output(n, 0);
    if (!v || m.use_count(v) > kMostQdqNeighbours) return "it has no readers, or too many to be looked at";
    for (UseId u = m.first_use(v); u; u = m.next_use(u)) {
      const NodeId core = m.user(u);
      if (!converts(m, core) && m.node(core).graph == m.node(n).graph &&
          !outside_group_of(m, inference, last_of(m, core)))
        return std::nullopt;
    }
    return "no operator that reads it is inside of a QDQ group";
  }
  return outside_group_of(m, inference, last_of(m, n));
}

}  // namespace graphopt
