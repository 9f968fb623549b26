#include "rewrite/cost.h"

#include <algorithm>

#include "infer/elementwise.h"
#include "ops/deformation.h"
#include "ops/node_facts.h"
#include "support/checked.h"

namespace graphopt {
namespace {

// Walks upstream along the chain; it ends, as a graph has no cycle.
bool is_absorbed(const Model& m, const Inference& infer, NodeId n) {
  const ModelView view(m, infer);
  for (;;) {
    const ValueId v = epilogue_operand(view, n);
    if (!v || !m.value(v).def || m.value(v).graph != m.node(n).graph) return false;
    n = m.value(v).def;
    if (is_heavy(m, n)) return m.value(v).def_slot == 0;
  }
}

}  // namespace

std::optional<std::uint64_t> value_bytes(const Model& m, const Inference& infer, ValueId v) {
  const Type& t = infer.type_of(v);
  if (t.kind != TypeKind::Tensor || !t.has_rank || bits_of(t.elem) == 0) return std::nullopt;
  std::optional<std::int64_t> count = 1;
  for (const DimId d : t.dims) {
    const auto extent = d ? m.dims.value(d) : std::nullopt;
    if (!extent) return std::nullopt;
    count = checked_mul(count, *extent);
  }
  return count && *count >= 0 ? raw_size(t.elem, static_cast<std::uint64_t>(*count)) : std::nullopt;
}

std::uint64_t least_value_bytes(const Model& m, const Inference& infer, ValueId v) {
  const Type& t = infer.type_of(v);
  if (t.kind != TypeKind::Tensor || !t.has_rank || bits_of(t.elem) == 0) return 0;
  std::optional<std::int64_t> count = 1;
  for (const DimId d : t.dims)
    count = checked_mul(count, d ? std::max<std::int64_t>(0, m.dims.range(d).low) : 0);
  return count ? raw_size(t.elem, static_cast<std::uint64_t>(*count)).value_or(0) : 0;
}

bool is_heavy(const Model& m, NodeId n) {
  const OpFacts& row = facts_of(m, n);
  return row.purity == Purity::Pure && !row.deprecated &&
         (row.cls == OpClass::Heavy || row.kind == OpKind::BatchNormalization);
}

bool ModelView::elementwise(NodeId n) const {
  return !m_.is_return(n) && is_elementwise(m_, infer_, n) && m_.output(n, 0);
}

bool ModelView::shaped_like_result(ValueId v, NodeId n) const {
  return infer_.same_shape(v, m_.output(n, 0));
}

NodeId epilogue_of(const Model& m, const Inference& infer, ValueId v) {
  const NodeId n = v ? m.single_user(v) : NodeId{};
  return n && epilogue_operand(ModelView(m, infer), n) == v ? n : NodeId{};
}

NodeCost cost_of(const Model& m, const Inference& infer, NodeId n) {
  NodeCost cost;
  cost.bytes = 0;
  for (const ValueId v : m.outputs(n)) {
    if (!v) continue;
    const auto bytes = value_bytes(m, infer, v);
    if (!bytes || !cost.bytes || __builtin_add_overflow(*cost.bytes, *bytes, &*cost.bytes)) {
      cost.bytes = std::nullopt;
      break;
    }
  }
  cost.absorbed = is_absorbed(m, infer, n);
  cost.launches = !cost.absorbed && !is_deformation(m.kind(n)) && m.kind(n) != OpKind::Constant;
  return cost;
}

}  // namespace graphopt
