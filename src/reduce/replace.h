// One value in the place of another.
#pragma once

#include <cstddef>
#include <optional>

#include "ir/model.h"

namespace graphopt {

// The same kind of value; extents that both know are equal, unless `any_extents`.
inline bool alike(const Model& m, const Type& a, const Type& b, bool any_extents) {
  if (a.kind != b.kind || a.elem != b.elem || a.inner != b.inner || a.has_rank != b.has_rank) return false;
  if (a.kind == TypeKind::Unknown || a.dims.size() != b.dims.size()) return false;
  for (std::size_t i = 0; i < a.dims.size() && !any_extents; ++i) {
    const auto x = a.dims[i] ? m.dims.value(a.dims[i]) : std::nullopt;
    const auto y = b.dims[i] ? m.dims.value(b.dims[i]) : std::nullopt;
    if (x && y && x != y) return false;
  }
  return true;
}

inline void replace_uses(Model& m, ValueId from, ValueId to) {
  while (const UseId u = m.first_use(from)) m.set_operand(m.user(u), m.slot(u), to);
}

}  // namespace graphopt
