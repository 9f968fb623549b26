#include "driver/part_types.h"

namespace graphopt {
namespace {

// Opens the dims that mean nothing to a reader of the file: symbols that inference made.
TypeId for_readers(Model& m, TypeId id) {
  const Type type = m.types[id];  // a copy: the pool grows below
  if (type.inner) {
    const TypeId inner = for_readers(m, type.inner);  // types nest as deep as the reader allows
    if (inner == type.inner) return id;
    if (type.kind == TypeKind::Sequence) return m.types.sequence(inner);
    return type.kind == TypeKind::Optional ? m.types.optional(inner) : m.types.map(type.elem, inner);
  }
  if (type.kind != TypeKind::Tensor || !type.has_rank) return id;
  std::vector<DimId> dims(type.dims.begin(), type.dims.end());
  for (DimId& d : dims)
    if (d && !m.dims.linked(d)) d = {};
  return m.types.tensor(type.elem, dims);
}

}  // namespace

std::vector<TypeOverride> border_types(Model& m, const Inference& inference, const ModelPart& part) {
  std::vector<TypeOverride> out;
  const auto add = [&](ValueId v) {
    const Value& value = m.value(v);
    if (value.is_input || m.types[inference.type(v)].kind == TypeKind::Unknown) return;
    out.push_back({v, for_readers(m, inference.type(v)), true});
  };
  for (const ValueId v : part.inputs) add(v);
  for (const ValueId v : part.outputs)
    if (!m.is_graph_output(v)) add(v);
  return out;
}

}  // namespace graphopt
