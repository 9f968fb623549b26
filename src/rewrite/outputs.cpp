#include "rewrite/outputs.h"

#include <algorithm>

namespace graphopt {

std::uint32_t output_slot(const Model& m, ValueId v) {
  if (!v) return kNoOutput;
  const NodeId ret = m.graph(m.value(v).graph).ret;
  std::uint32_t slot = kNoOutput;
  for (UseId u = m.first_use(v); u; u = m.next_use(u))
    if (m.user(u) == ret) slot = std::min(slot, m.slot(u));
  return slot;
}

}  // namespace graphopt
