#include "rewrite/outputs.h"

#include <algorithm>

#include "ops/same_attributes.h"

namespace graphopt {

std::uint32_t output_slot(const Model& m, ValueId v) {
  const NodeId ret = m.graph(m.value(v).graph).ret;
  std::uint32_t slot = kNoOutput;
  for (UseId u = m.first_use(v); u; u = m.next_use(u))
    if (m.user(u) == ret) slot = std::min(slot, m.slot(u));
  return slot;
}

bool gives_first_output(const Model& m, NodeId n) {
  constexpr std::uint32_t kMostReaders = 64;
  const ValueId x = m.input(n, 0), y = m.output(n, 0);
  const std::uint32_t slot = x && y ? output_slot(m, y) : kNoOutput;
  if (slot == kNoOutput || m.use_count(x) > kMostReaders) return true;
  const auto equal = [&](NodeId other) {
    if (m.node(other).graph != m.node(n).graph || m.node(other).op != m.node(n).op || m.input_count(other) != m.input_count(n) ||
        m.output_count(other) != m.output_count(n))
      return false;
    for (std::size_t k = 0; k < m.input_count(n); ++k)
      if (m.input(other, k) != m.input(n, k)) return false;
    return same_attributes(m, other, n);
  };
  for (UseId u = m.first_use(x); u; u = m.next_use(u)) {
    const NodeId other = m.user(u);
    if (other == n || m.is_return(other) || !m.output(other, 0)) continue;
    if (output_slot(m, m.output(other, 0)) < slot && equal(other) && m.can_replace(m.output(other, 0), x)) return false;
  }
  return true;
}

}  // namespace graphopt
