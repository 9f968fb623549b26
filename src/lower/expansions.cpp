// The one list of expansions, by families (expansion.h).
#include "lower/expansion.h"

#include <algorithm>

namespace graphopt {

void ExpansionRule::give_result(Model& m, NodeId n, ValueId v, std::size_t slot) {
  const NodeId by = m.value(v).def;
  const std::size_t at = m.value(v).def_slot;
  const ValueId result = m.detach_output(n, slot);
  m.drop_output(by, at);
  m.attach_output(by, at, result);
}

std::vector<NodeId> written_nodes(const Model& m, std::size_t made_from, NodeId root) {
  std::vector<NodeId> out;
  for (std::size_t i = made_from; i < m.node_count(); ++i)
    if (m.alive(NodeId{i})) out.push_back(NodeId{i});
  if (m.alive(root)) out.push_back(root);
  std::ranges::sort(out, {}, [&m](NodeId n) { return m.node(n).order; });
  return out;
}

std::vector<Expansion> all_expansions() {
  std::vector<Expansion> out;
  for (const auto family : {reshape_expansions(), movement_expansions(), activation_expansions(),
                            norm_expansions(), product_expansions(), erf_expansions(), gather_expansions(),
                            reduction_expansions(), window_expansions(), call_expansions(),
                            logic_expansions(), layout_expansions(), arithmetic_expansions()})
    out.insert(out.end(), family.begin(), family.end());
  return out;
}

}  // namespace graphopt
