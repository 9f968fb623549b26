#include "infer/onnx_operands.h"

#include <algorithm>

#include "ops/attributes.h"
#include "ops/node_facts.h"

namespace graphopt::onnx_functions {

namespace {

std::optional<std::int64_t> rank_of(const Model& m, const SeenOperand& o) {
  if (o.constant) return std::ssize(o.dims);
  if (o.proto != nullptr) {
    if (!o.proto->has_tensor_type() || !o.proto->tensor_type().has_shape()) return std::nullopt;
    return o.proto->tensor_type().shape().dim_size();
  }
  if (!o.type || m.types[o.type].kind != TypeKind::Tensor || !m.types[o.type].has_rank) return std::nullopt;
  return std::ssize(m.types[o.type].dims);
}

}  // namespace

bool may_be_asked(const Model& m, NodeId n) {
  if (m.is_return(n) || m.kind(n) == OpKind::FunctionCall || !has_narrow_numbers(m, n)) return false;
  return facts_of(m, n).purity != Purity::ControlFlow &&
         std::ranges::none_of(m.attrs(n), [](const Attr& a) { return a.ref.valid() && a.ref != NameId{}; });
}

const SchemaFunctions::Function* function_of(SchemaFunctions& functions, const Model& m, NodeId n) {
  const SchemaFunctions::Function& f = functions.find(m.node(n).op, static_cast<int>(m.opset(n)));
  bool complete = f.schema != nullptr && f.infer;
  for (std::size_t i = 0; i < f.required.size(); ++i) complete &= !f.required[i] || m.input(n, i);
  return complete ? &f : nullptr;
}

bool all_known(const Model& m, std::span<const SeenOperand> operands) {
  return std::ranges::all_of(operands, [&m](const SeenOperand& o) {
    return o.constant || o.proto != nullptr || !o.type || m.types[o.type].kind != TypeKind::Unknown;
  });
}

bool refuses_axis(const Model& m, NodeId n, std::span<const SeenOperand> operands) {
  if (!facts_of(m, n).runtime_refuses_axis) return false;
  const auto axes = axes_of(m, n);
  const std::optional<std::int64_t> rank = operands.empty() ? std::nullopt : rank_of(m, operands[0]);
  return axes && rank && !axes->empty() && (axes->front() >= *rank || axes->front() < -*rank);
}

bool has_payload(const Model& m, TensorId t, SeenOperand& out) {
  const Tensor& tensor = m.tensor(t);
  const auto raw = tensor.elements <= kMaxConstant ? m.raw(t) : std::optional<Bytes>();
  if (!raw) return false;
  out = {out.type, true, tensor.dtype, tensor.dims, *raw, nullptr};
  return true;
}

bool in_body(const Model& m, NodeId n) { return m.node(n).graph != m.main(); }

bool has_zero(const Model& m, const Type& t) {
  return t.kind == TypeKind::Tensor && t.has_rank &&
         std::ranges::any_of(t.dims, [&m](DimId d) { return m.dims.is_constant(d, 0); });
}

bool has_empty_operand(const Model& m, const Inference& infer, NodeId n) {
  for (std::size_t i = 0; i < m.input_count(n); ++i)
    if (const ValueId v = m.input(n, i); v && has_zero(m, infer.type_of(v))) return true;
  return false;
}

}  // namespace graphopt::onnx_functions
