#include "rewrite/dead.h"

#include "ops/node_facts.h"

namespace graphopt {
namespace {

bool unused(const Model& m, NodeId n) {
  for (const ValueId v : m.outputs(n))
    if (v && (m.use_count(v) > 0 || m.value(v).pinned)) return false;
  return true;
}

}  // namespace

bool removable(const Model& m, NodeId root) {
  return all_that_run_in(m, root, [&](NodeId n) { return facts_of(m, n).purity != Purity::Unknown; });
}

void DeadSweeper::uses_changed(ValueId v) {
  const Value& value = m_.value(v);
  if (value.use_count == 0 && value.def) candidates_.push_back(value.def);
}

// A result that became a constant is detached from its node, which may have no other result.
void DeadSweeper::node_changed(NodeId n) {
  if (!m_.is_return(n) && unused(m_, n)) candidates_.push_back(n);
}

std::uint64_t DeadSweeper::sweep() {
  std::uint64_t erased = 0;
  while (!candidates_.empty()) {
    const NodeId n = candidates_.back();
    candidates_.pop_back();
    if (!m_.alive(n) || m_.is_return(n) || !unused(m_, n) || !removable(m_, n)) continue;
    m_.erase(n);
    ++erased;
  }
  return erased;
}

}  // namespace graphopt
