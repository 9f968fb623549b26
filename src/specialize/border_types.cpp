#include "specialize/border_types.h"

#include <algorithm>

#include "specialize/map_dims.h"

namespace graphopt {
namespace {

// Calls `visit` for each border, inputs first.
template <class Visit> void for_each_border(const Model& m, const ModelPart& part, Visit visit) {
  for (const ValueId v : part.inputs)
    if (!m.value(v).is_input) visit(v);
  for (const ValueId v : part.outputs)
    if (!m.value(v).is_input && !m.is_graph_output(v)) visit(v);
}

bool can_declare(const Type& type) {
  if (type.kind == TypeKind::Tensor || type.kind == TypeKind::SparseTensor)
    return type.elem != DType::Undefined && type.has_rank;
  return type.kind != TypeKind::Unknown;
}

}  // namespace

BorderTypes::BorderTypes(Model& m, const Inference& inference) : m_(m), inference_(inference) {
  for (const FalseClaim& claim : inference.false_claims()) refuted_.push_back(claim.value);
  std::ranges::sort(refuted_);
}

std::vector<TypeOverride> BorderTypes::of(const ModelPart& part) {
  std::vector<TypeOverride> out;
  for_each_border(m_, part, [&](ValueId v) {
    if (inference_.type_of(v).kind == TypeKind::Unknown) return;
    if (m_.is_graph_output(v) && can_declare(m_.types[m_.value(v).declared])) return;  // both sides say it
    const bool keeps_dims = !std::ranges::binary_search(refuted_, v);
    out.push_back({v, without_made_names(m_, inference_.type(v)), keeps_dims});
  });
  return out;
}

std::vector<TypeOverride> border_types(Model& m, const Inference& inference, const ModelPart& part) {
  return BorderTypes(m, inference).of(part);
}

ValueId border_without_type(const Model& m, const Inference& inference, const ModelPart& part) {
  ValueId found;
  for_each_border(m, part, [&](ValueId v) {
    if (!found && !can_declare(inference.type_of(v))) found = v;
  });
  return found;
}

}  // namespace graphopt
