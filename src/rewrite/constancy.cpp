#include "rewrite/constancy.h"

#include <utility>

#include "ops/node_facts.h"

namespace graphopt {
namespace {

// Up to this IR version a caller cannot override an initializer that is listed as an input.
constexpr std::int64_t kNoOverride = 3;

bool is_constant(const Model& m, const Value& v) {
  if (v.is_initializer) return !v.is_input || m.ir_version <= kNoOverride;
  return v.def && m.kind(v.def) == OpKind::Constant;
}

std::uint32_t levels_between(const Model& m, GraphId inner, GraphId outer) {
  std::uint32_t levels = 0;
  for (GraphId g = inner; g && g != outer; g = m.graph(g).parent) ++levels;
  return levels;
}

constexpr std::uint32_t kSeen = 1;  // levels up to which a node sees constants

}  // namespace

Constancy constancy_of(const Model& m, ValueId v, GraphId user) {
  if (!v) return {};
  const Value& value = m.value(v);
  const bool parameter = value.is_input && m.graph(value.graph).function;
  if (!parameter && !is_constant(m, value)) return {};
  const std::uint32_t levels = levels_between(m, user, value.graph);
  if (parameter) return {Constancy::Kind::Parameter, levels};
  return levels > kSeen ? Constancy{} : Constancy{Constancy::Kind::Constant, levels};
}

bool same_packing(Packing packing, Constancy before, Constancy after) {
  switch (packing) {
    case Packing::None: return true;
    case Packing::Weight:
      if (before.kind == Constancy::Kind::Constant && after.kind == Constancy::Kind::Constant) return true;
      break;
    case Packing::Reading: break;
  }
  return before == after && before.kind != Constancy::Kind::Parameter;
}

Packing packing_of(const Model& m, const Inference& infer, NodeId n, std::size_t slot) {
  const OpKind kind = facts_of(m, n).kind;  // Opaque for an opset that the table does not know
  if (m.is_return(n) || !packs_operands(kind)) return Packing::None;
  const ValueId v = m.input(n, slot);
  return v ? packing_of(kind, slot, infer.dtype(v)) : Packing::None;
}

bool KeepConstancy::may_read(const Model& m, UseId use, ValueId v) const {
  const NodeId n = m.user(use);
  const std::uint32_t slot = m.slot(use);
  const Packing packing = packing_of(m, infer_, n, slot);
  if (packing == Packing::None) return true;
  const GraphId g = m.node(n).graph;
  return same_packing(packing, constancy_of(m, m.input(n, slot), g), constancy_of(m, v, g));
}

bool KeepConstancy::may_become_constant(const Model& m, ValueId v) const {
  const GraphId home = m.value(v).graph;
  for (UseId u = m.first_use(v); u; u = m.next_use(u)) {
    const NodeId n = m.user(u);
    const Packing packing = packing_of(m, infer_, n, m.slot(u));
    if (packing == Packing::None) continue;
    const std::uint32_t levels = levels_between(m, m.node(n).graph, home);
    if (levels > kSeen) continue;
    const Constancy after{Constancy::Kind::Constant, levels};
    if (!same_packing(packing, constancy_of(m, v, m.node(n).graph), after)) return false;
  }
  return true;
}

void ConstancyRecord::take(const Model& m, const Inference& infer) {
  operands_.clear();
  for (std::size_t i = 0; i < m.node_count(); ++i) {
    const NodeId n{i};
    if (!m.alive(n) || m.is_return(n)) continue;
    const OpKind kind = facts_of(m, n).kind;
    if (!packs_operands(kind)) continue;
    for (std::uint32_t slot = 0; slot < m.input_count(n); ++slot) {
      const Packing packing = packing_of(m, infer, n, slot);
      if (packing == Packing::None) continue;
      operands_.push_back({n, kind, slot, constancy_of(m, m.input(n, slot), m.node(n).graph), packing});
    }
  }
}

std::optional<Error> ConstancyRecord::compare(const Model& m, const Inference& infer) {
  const std::vector<Operand> before = std::exchange(operands_, {});
  take(m, infer);
  for (const Operand& o : before) {
    if (!m.alive(o.node) || facts_of(m, o.node).kind != o.kind || !m.input(o.node, o.slot)) continue;
    const Constancy now = constancy_of(m, m.input(o.node, o.slot), m.node(o.node).graph);
    if (same_packing(o.packing, o.constancy, now) || o.constancy == now) continue;
    return Error{
        ErrorKind::Internal,
        place_of(m, o.node),
        "operand " + std::to_string(o.slot) +
            (now.kind == Constancy::Kind::Constant ? " became a constant" : " is a constant no more"),
        {}};
  }
  return std::nullopt;
}

}  // namespace graphopt
