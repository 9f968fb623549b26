#include <algorithm>

#include "buckets/repair/rules.h"

namespace graphopt {
namespace {

// A node's new values are named after its first result.
std::string base_of(const Model& m, NodeId n) {
  for (const ValueId v : m.outputs(n))
    if (v) return std::string(m.text(m.value(v).name));
  return "bucket";
}

}  // namespace

RepairContext::RepairContext(Model& m, const Inference& facts, ExtentValues& e, Masks& k,
                             PaddingAnalysis& analysis, const Contamination& why)
    : model(m),
      inference(facts),
      extents(e),
      masks(k),
      refusal(why),
      n(why.node),
      c(analysis, why.node),
      here(Emitter::before(m, why.node, base_of(m, why.node))) {}

ValueId RepairContext::true_extent(DimId extent, DType type, Emitter& at) const {
  const ValueId v = extents.value(extent, ExtentOf::TrueRun);
  return type == DType::Int64 ? v : at.cast(v, type, "true_extent");
}

void RepairContext::replace(OpKind kind, std::span<const ValueId> operands,
                            std::span<const IntAttr> attributes) {
  const std::string name(model.text(model.node(n).name));
  const ValueId result[] = {model.detach_output(n, 0)};
  add_operator({.model = model, .graph = model.node(n).graph, .before = n, .results = result, .name = name},
               kind, operands, attributes);
  model.erase(n);
}

DType RepairContext::sum_type() const {
  const DType type = c.in(0).type;
  if (type == DType::Float || type == DType::Double) return type;
  return type == DType::Float16 || type == DType::BFloat16 ? DType::Float : DType::Undefined;
}

ValueId RepairContext::as_sum_type(ValueId v, std::string_view what) {
  return sum_type() == c.in(0).type ? v : here.cast(v, sum_type(), what);
}

DimId RepairContext::count_of(std::span<const std::size_t> axes) const {
  std::vector<DimId> extents_of_axes;
  for (const std::size_t a : axes) extents_of_axes.push_back(c.extent(0, a));
  return model.dims.product(extents_of_axes);
}

}  // namespace graphopt
