// What ONNX Runtime has for the operators that rules raise subgraphs to.
//
// Problem: an operator of a new opset may have a kernel for float alone; for other types ONNX Runtime refuses
// the model, inserts casts, or expands the operator into the primitives of its definition, which may be more
// nodes than the exporter's. A raised subgraph would then be slower, or not run at all.
// Method: a table of the element types with which raising pays, learnt by tests/equal/raised_kernels.py from
// the installed runtime: it writes each subgraph in each type and opset, and holds graphopt to raise only
// those that ONNX Runtime runs with no more nodes than the original. HardSigmoid and HardSwish of float16 are
// missing since opset 18 expands them; Swish and GroupNormalization have no kernel in any type.

#include "passes/raise_rule.h"

#include <algorithm>

#include "ops/facts.h"
#include "ops/node_facts.h"

namespace graphopt {
namespace {

using enum DType;
constexpr DType kNarrowTypes[] = {Float16, Float}, kWideTypes[] = {Float, Double}, kFloatAlone[] = {Float};

// The types of an operator.
std::span<const DType> types_of(OpKind kind) {
  switch (kind) {
    case OpKind::DepthToSpace:
    case OpKind::SpaceToDepth: return kWideTypes;
    case OpKind::LayerNormalization:
    case OpKind::RMSNormalization: return kNarrowTypes;
    case OpKind::Gelu:
    case OpKind::HardSigmoid:
    case OpKind::HardSwish:
    case OpKind::Mish: return kFloatAlone;
    default: return {};
  }
}

}  // namespace

bool has_raised_kernel(OpKind kind, std::int64_t opset, DType type) {
  // No opset removes one of them.
  const OpFacts& row = facts(kind, static_cast<int>(opset));
  return row.kind == kind && std::ranges::count(types_of(kind), type) > 0;
}

bool RaiseRule::may_raise(const MatchContext& c, NodeId n, OpKind kind, ValueId x, ValueId y) const {
  const Model& m = c.model;
  if (facts(kind, static_cast<int>(m.opset(n))).kind != kind)
    return c.no(n, "the opset does not have the operator");
  const DType type = c.infer.dtype(x);
  if (type != c.infer.dtype(y) || !has_raised_kernel(kind, m.opset(n), type))
    return c.no(n, "the operator has no kernel for the element type");
  return c.infer.same_shape(x, y) || c.no(n, "its result may have other dims than the operand");
}

void RaiseRule::raise(Model& m, NodeId n, OpKind kind, std::span<const ValueId> operands,
                      std::span<const Attr> attributes) {
  const ValueId result[] = {m.detach_output(n, 0)};
  const NodeId made = m.add_node(m.node(n).graph, standard_op(m, kind), operands, result, n);
  for (const Attr& a : attributes) m.set_attr(made, a);
}

}  // namespace graphopt
