// Which nodes assert facts about other values, and revisits, so that such facts reach nodes before them.
//
// Problem: MatMul (a, b) fails unless two extents are equal, so they are equal in every run. A node before it
// in the file has been visited without that fact; the order of the file would decide what is known.
// Method: each node keeps the clock of the pool at its visit, each symbol the clock when something was
// learned about it. After the walk, nodes that read a symbol about which something was learned since are
// visited again, in order, until there are none. A revisit that finds a dim for which a fresh symbol was made
// before learns that both are equal. Cost: a round looks at each node once, without inferring it, and visits
// those that it found and what depends on them. A fact that leads to the next against the order of the file
// needs a round for each step, so the number of rounds is limited by the size of the graph; what is known
// after fewer rounds is true, too.
#include <algorithm>

#include "infer/context.h"
#include "ops/node_facts.h"

namespace graphopt {
namespace {

constexpr std::uint64_t kMaxRounds = 1000;
constexpr std::uint64_t kMaxLooks = 4'000'000;  // at nodes, over all rounds from the ninth on

}  // namespace

// Marks the nodes of the main graph that every run has to compute. A runtime may drop the others without
// running them, so what they require is no fact.
void Inference::State::find_live() {
  live.assign(m.node_count(), false);
  const GraphId main = m.main();
  if (m.graph(main).ret) live[m.graph(main).ret.index()] = true;
  const auto used = [&](ValueId v) {
    if (m.value(v).pinned) return true;
    for (UseId u = m.first_use(v); u; u = m.next_use(u)) {
      NodeId user = m.user(u);
      while (m.node(user).graph != main && m.graph(m.node(user).graph).owner)
        user = m.graph(m.node(user).graph).owner;
      if (live[user.index()]) return true;
    }
    return false;
  };
  for (NodeId n = m.graph(main).last; n; n = m.prev_node(n))
    live[n.index()] = std::ranges::any_of(m.outputs(n), [&](ValueId v) { return v && used(v); }) ||
                      facts_of(m, n).purity == Purity::Unknown;
}

// Not in bodies: a branch may not be taken, and a loop may have no iterations. A node that was added after
// the walk replaces one that was live.
bool Inference::State::in_every_run(NodeId n) const {
  return m.node(n).graph == m.main() && (n.index() >= live.size() || live[n.index()]);
}

// A node that only moves elements asserts nothing: its own fact would justify its removal, and then no node
// would be left that holds it.
bool Inference::State::asserts(NodeId n) const { return in_every_run(n) && !only_moves(facts_of(m, n).cls); }

void Inference::State::identify(ValueId v, TypeId t) {
  if (!m.value(v).def || !in_every_run(m.value(v).def)) return;
  const Type &old = m.types[type(v)], &now = m.types[t];
  if (old.kind != TypeKind::Tensor || now.kind != TypeKind::Tensor || !old.has_rank || !now.has_rank ||
      old.dims.size() != now.dims.size())
    return;
  for (std::size_t i = 0; i < old.dims.size(); ++i) {
    const DimId was = old.dims[i], is = now.dims[i];
    if (was && is && was != is && m.dims.is_symbol(was) && !m.dims.linked(was)) m.dims.assert_equal(was, is);
  }
}

// Returns the clock when something was last learned about a dim of the type.
std::uint32_t Inference::State::learned_at(TypeId t, std::vector<Learned>& by_type, std::uint32_t round) {
  if (by_type.size() <= t.index()) by_type.resize(m.types.size());
  if (by_type[t.index()].round == round) return by_type[t.index()].at;
  const Type& type = m.types[t];
  std::uint32_t last = type.inner ? learned_at(type.inner, by_type, round) : 0;  // types nest a few levels
  for (const DimId d : type.dims) last = std::max(last, m.dims.learned_at(d));
  by_type[t.index()] = {round, last};
  return last;
}

// Queues the nodes that were visited before something was learned about what they read; returns false if
// there are none. `round` tells the entries of `by_type` that are of this call from older ones.
bool Inference::State::queue_outdated(std::vector<Learned>& by_type, std::uint32_t round) {
  const auto outdated = [&](NodeId n, std::uint32_t visit) {
    for (std::size_t i = 0; i < m.input_count(n); ++i) {
      const ValueId v = m.input(n, i);
      if (!v) continue;
      if (learned_at(types[v.index()], by_type, round) > visit) return true;
      const SymbolicTensor* t = sym[v.index()] == kNotLooked ? nullptr : symbolic(v);
      if (!t) continue;
      if (known[sym[v.index()] - 1].learned_at > visit) return true;
      for (const DimId d : t->elements)
        if (m.dims.learned_at(d) > visit) return true;
    }
    return false;
  };
  bool any = false;
  for (std::size_t i = 0; i < m.node_count(); ++i) {
    const NodeId n{i};
    if (!m.alive(n)) continue;
    const GraphId g = m.node(n).graph;
    if (is_in_function(g)) continue;  // a call that is visited again infers the whole body again
    // What a body returns is read by its owner.
    const NodeId reader = m.is_return(n) ? m.graph(g).owner : n;
    if (!reader || visited_at[reader.index()] == m.dims.clock()) continue;
    if (!outdated(n, visited_at[reader.index()])) continue;
    queue_node(n);
    any = true;
  }
  return any;
}

void Inference::State::refresh() {
  std::vector<Learned> by_type;
  // Entries of `extents`, `zero_pairs` and `alternatives` when the undecided nodes were last queued.
  std::size_t known = 0;
  const std::uint64_t rounds = std::min(kMaxRounds, 8 + kMaxLooks / (m.node_count() + 1));
  refreshing = true;
  for (std::uint32_t round = 1; round <= rounds; ++round) {
    bool any = m.dims.clock() != first_clock && queue_outdated(by_type, round);
    if (const std::size_t now = extents.size() + zero_pairs.size() + alternatives.size(); now != known) {
      known = now;
      std::vector<NodeId> again;
      again.swap(undecided);
      any |= !again.empty();
      for (const NodeId n : again) queue_node(n);
    }
    if (!any) break;
    walk(m.main());
  }
  refreshing = false;
  undecided = {};
}

}  // namespace graphopt
