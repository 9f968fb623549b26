// Types with some of their dims replaced or left open.
#pragma once

#include <vector>

#include "ir/model.h"

namespace graphopt {

// Returns the type with each of its dims replaced by `to(dim)`, through sequences, optionals and maps. A dim
// that is open already stays so.
template <class To> TypeId map_dims(Model& m, TypeId id, To to) {
  const Type type = m.types[id];  // a copy: the pool grows below
  if (type.inner) {               // types nest as deep as the reader allows, a hundred levels
    const TypeId inner = map_dims(m, type.inner, to);
    if (inner == type.inner) return id;
    return type.kind == TypeKind::Sequence   ? m.types.sequence(inner)
           : type.kind == TypeKind::Optional ? m.types.optional(inner)
                                             : m.types.map(type.elem, inner);
  }
  if (!type.has_rank || (type.kind != TypeKind::Tensor && type.kind != TypeKind::SparseTensor)) return id;
  std::vector<DimId> dims(type.dims.begin(), type.dims.end());
  bool changed = false;
  for (DimId& d : dims) {
    if (!d) continue;
    const DimId before = d;
    d = to(before);
    changed = changed || d != before;
  }
  if (!changed) return id;
  return type.kind == TypeKind::Tensor ? m.types.tensor(type.elem, dims)
                                       : m.types.sparse(type.elem, true, dims);
}

// Opens the dims that mean nothing to a reader of the file: those with symbols that inference made.
inline TypeId without_made_names(Model& m, TypeId id) {
  return map_dims(m, id, [&m](DimId d) { return m.dims.linked(d) ? d : DimId{}; });
}

// Opens all dims but numbers.
inline TypeId without_names(Model& m, TypeId id) {
  return map_dims(m, id, [&m](DimId d) { return m.dims.value(d) ? d : DimId{}; });
}

}  // namespace graphopt
