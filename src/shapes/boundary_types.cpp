#include "shapes/boundary_types.h"

#include <algorithm>

#include "shapes/map_dims.h"

namespace graphopt {
namespace {

// Calls `visit` for each input that is none of the model's, then for each output.
template <class Visit> void for_each_port(const Model& m, const ModelPart& part, Visit visit) {
  for (const ValueId v : part.inputs)
    if (!m.value(v).is_input) visit(v, true);
  for (const ValueId v : part.outputs)
    if (!m.value(v).is_input) visit(v, false);
}

bool can_declare(const Type& type) {
  if (type.kind == TypeKind::Tensor || type.kind == TypeKind::SparseTensor)
    return type.elem != DType::Undefined && type.has_rank;
  return type.kind != TypeKind::Unknown;
}

}  // namespace

BoundaryTypes::BoundaryTypes(Model& m, const Inference& inference) : m_(m), inference_(inference) {
  for (const FalseClaim& claim : inference.false_claims()) refuted_.push_back(claim.value);
  std::ranges::sort(refuted_);
  returned_.resize(m.value_count());
  for (std::size_t i = 0; i < m.graph_output_count(m.main()); ++i)
    if (const ValueId v = m.graph_output(m.main(), i)) returned_[v.index()] = true;
}

bool BoundaryTypes::is_read(ValueId v) const {
  for (UseId u = m_.first_use(v); u; u = m_.next_use(u))
    if (m_.user(u) != m_.graph(m_.main()).ret) return true;
  return false;
}

std::vector<TypeOverride> BoundaryTypes::of(const ModelPart& part) {
  std::vector<TypeOverride> out;
  for_each_port(m_, part, [&](ValueId v, bool) {
    if (inference_.type_of(v).kind == TypeKind::Unknown) return;
    // What the model states of its output, both sides of a border say. One that no node reads is no border.
    if (returned_[v.index()] && (can_declare(m_.types[m_.value(v).declared]) || !is_read(v))) return;
    const bool keeps_dims = !std::ranges::binary_search(refuted_, v);
    out.push_back({v, without_made_names(m_, inference_.type(v)), keeps_dims});
  });
  return out;
}

std::vector<TypeOverride> boundary_types(Model& m, const Inference& inference, const ModelPart& part) {
  return BoundaryTypes(m, inference).of(part);
}

ValueId boundary_without_type(const Model& m, const Inference& inference, const ModelPart& part) {
  ValueId found;
  for_each_port(m, part, [&](ValueId v, bool is_input) {
    if (found || can_declare(inference.type_of(v))) return;
    if (is_input || !m.is_graph_output(v)) found = v;
  });
  return found;
}

}  // namespace graphopt
