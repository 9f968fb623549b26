// For which element types raising pays.
//
// Problem: an operator of a new opset may have a kernel for float alone; for other types ONNX Runtime refuses
// the model, inserts casts, or expands the operator into the primitives of its definition, which may be more
// nodes than the exporter's. A raised subgraph would then be slower, or not run at all.
// Method: raising pays where the operator has a kernel for the type (ops/facts_kernels.h), and for float also
// where its body is expanded, which then has no more nodes than the primitives. In float16 Casts come on top
// of them. tests/equal/raised_kernels.py writes each subgraph in each type and opset, and holds graphopt to
// raise only those that ONNX Runtime runs with no more nodes than the original. Swish and GroupNormalization
// have no kernel in any type.

#include "passes/raise_rule.h"

#include "ops/facts.h"
#include "ops/facts_kernels.h"
#include "rewrite/build.h"

namespace graphopt {
bool has_raised_kernel(OpKind kind, std::int64_t opset, DType type) {
  const Computed way = computed_by(kind, opset, type);
  return way == Computed::ByKernel || (way == Computed::ByBody && type == DType::Float);
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
  const NodeId made = add_operator({m, m.node(n).graph, n, {}, result}, kind, operands);
  for (const Attr& a : attributes) m.set_attr(made, a);
}

}  // namespace graphopt
