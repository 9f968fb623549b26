// Reductions, ArgMax, TopK, CumSum.
#include <algorithm>

#include "infer/rules.h"
#include "infer/values.h"

namespace graphopt::rules {
namespace {

// The axes are an operand from this opset on.
int axes_operand_since(OpKind kind) { return kind == OpKind::ReduceSum ? 13 : 18; }

std::optional<SymbolicTensor> reduced_value(NodeContext& c, const std::vector<bool>& drop, bool keep) {
  if (c.kind != OpKind::ReduceProd && c.kind != OpKind::ReduceSum && c.kind != OpKind::ReduceMin &&
      c.kind != OpKind::ReduceMax)
    return std::nullopt;
  const SymbolicTensor* t = c.sym(0);
  if (!t || !has_values(t->dtype) || t->dtype == DType::Bool || t->dims.size() != drop.size())
    return std::nullopt;
  SymbolicTensor r{t->dtype, {}, {}};
  Ints full;  // dims of the result with 1 on dropped axes
  for (std::size_t k = 0; k < drop.size(); ++k) {
    full.push_back(drop[k] ? 1 : t->dims[k]);
    if (!drop[k] || keep) r.dims.push_back(full.back());
  }
  const auto n = count_of(full);
  if (!n || static_cast<std::uint64_t>(*n) > c.s.options.max_elements) return std::nullopt;
  std::vector<Dims> parts(static_cast<std::size_t>(*n));
  const auto to = broadcast_index(t->dims, full);
  for (std::size_t i = 0; i < t->elements.size(); ++i) parts[to[i]].push_back(t->elements[i]);
  for (const Dims& part : parts) r.elements.push_back(reduced(c.dims, c.kind, t->dtype, part));
  return r;
}

// Returns whether reduced axes are kept; nothing for a number on which ONNX Runtime and the standard's
// reference implementation may differ.
std::optional<bool> keeps_dims(const NodeContext& c) {
  const std::int64_t given = c.attr_int(names::keepdims, 1);
  return given == 0 || given == 1 ? std::optional(given == 1) : std::nullopt;
}

}  // namespace

void reduce(NodeContext& c) {
  const DType elem = c.elem(0);
  const bool by_operand = c.opset() >= axes_operand_since(c.kind);
  const auto keeps = keeps_dims(c);
  const std::int64_t noop = by_operand ? c.attr_int(names::noop_with_empty_axes, 0) : 0;
  if (!keeps || noop < 0 || noop > 1) {
    if (elem != DType::Undefined) c.tensor(0, elem);
    return;
  }
  const bool keep = *keeps;
  const bool absent = by_operand ? !c.has(1) : !c.attr(names::axes);
  std::optional<Ints> axes;
  if (absent) axes = Ints{};
  else axes = by_operand ? c.ints(1) : c.attr_ints(names::axes);
  if (!c.ranked(0)) {
    if (absent && !keep && elem != DType::Undefined && noop == 0) return c.tensor(0, elem, {});
    if (elem != DType::Undefined) c.tensor(0, elem);
    return;
  }
  const auto all = c.shape(0);
  if (!axes) {
    if (keep) return c.tensor(0, elem, Dims(all.size()));
    return c.tensor(0, elem);  // axes may stand there twice
  }
  std::vector<bool> drop(all.size(), axes->empty());
  if (axes->empty() && noop == 1) return c.set(0, c.type_id(0));
  for (const std::int64_t a : *axes) {
    const auto k = NodeContext::axis(a, c.rank(0));
    if (!k) return c.tensor(0, elem);
    drop[*k] = true;
  }
  Dims d;
  for (std::size_t k = 0; k < all.size(); ++k)
    if (!drop[k]) d.push_back(all[k]);
    else if (keep) d.push_back(c.constant(1));
  auto value = reduced_value(c, drop, keep);
  c.tensor(0, elem, d, value ? &*value : nullptr);
}

void arg_extreme(NodeContext& c) {
  const auto axis = NodeContext::axis(c.attr_int(names::axis, 0), c.rank(0));
  if (!axis) return c.tensor(0, DType::Int64);
  Dims d(c.shape(0).begin(), c.shape(0).end());
  const auto keeps = keeps_dims(c);
  if (!keeps) return c.tensor(0, DType::Int64);
  if (*keeps) d[*axis] = c.constant(1);
  else d.erase(d.begin() + static_cast<std::ptrdiff_t>(*axis));
  c.tensor(0, DType::Int64, d);
}

void top_k(NodeContext& c) {
  if (!c.ranked(0)) {
    if (c.elem(0) != DType::Undefined) c.tensor(0, c.elem(0));
    return c.tensor(1, DType::Int64);
  }
  const auto axis = NodeContext::axis(c.attr_int(names::axis, -1), c.rank(0));
  if (!axis) return;
  DimId k;
  if (c.opset() < 10) {
    if (const auto given = c.maybe_int(names::k)) k = c.constant(*given);
  } else if (const SymbolicTensor* t = c.sym(1); t && t->elements.size() == 1) {
    k = t->elements[0];
  }
  Dims d(c.shape(0).begin(), c.shape(0).end());
  if (!k) k = c.fresh(0, 1000);  // both results have the same extent
  d[*axis] = k;
  c.tensor(0, c.elem(0), d);
  c.tensor(1, DType::Int64, d);
}

void cum_sum(NodeContext& c) { c.set(0, c.type_id(0)); }

}  // namespace graphopt::rules
