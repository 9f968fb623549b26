#include "passes/branch_ranks.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "ops/attributes.h"
#include "ops/node_facts.h"
#include "support/known_names.h"

namespace graphopt {
namespace {

constexpr std::size_t kMaxLooks = 64;    // at values of one question
constexpr std::size_t kMaxSteps = 4096;  // from a node to an output
constexpr int kMaxRank = 63;

// A value on the way, and what its rank is more than that of the value in question.
struct Found {
  ValueId value;
  int more;
};

Ranks single(int rank) { return rank >= 0 && rank <= kMaxRank ? Ranks{1} << rank : 0; }

// Returns the number of axes that are surely different; nothing if some may be the same one, which ONNX
// Runtime's Squeeze removes once.
std::optional<int> count_axes(const Model& m, NodeId n) {
  const auto axes = axes_of(m, n);
  if (!axes || axes->empty() || axes->size() > kMaxRank) return std::nullopt;
  std::vector<std::int64_t> sorted(*axes);
  std::ranges::sort(sorted);
  if ((sorted.front() < 0 && sorted.back() >= 0) || std::ranges::adjacent_find(sorted) != sorted.end())
    return std::nullopt;
  return static_cast<int>(sorted.size());
}

// Returns what the rank of the node's result is more than that of operand 0; nothing for an operator whose
// result has no such rank.
std::optional<int> added_rank(const Model& m, NodeId n) {
  if (!attributes_known(m, n)) return std::nullopt;
  switch (m.kind(n)) {
    case OpKind::Identity: return 0;
    case OpKind::Unsqueeze: return count_axes(m, n);
    case OpKind::Squeeze:
      if (const auto count = count_axes(m, n)) return -*count;
      return std::nullopt;
    default:
      if (facts_of(m, n).cls == OpClass::Unary && m.input_count(n) == 1) return 0;
      return std::nullopt;
  }
}

// Returns the rank that the node's operand must have, or the node fails; nothing where it may have others.
std::optional<int> demanded_rank(const MatchContext& c, NodeId n, std::uint32_t slot) {
  const Model& m = c.model;
  switch (m.kind(n)) {
    case OpKind::RNN:
    case OpKind::GRU:
    case OpKind::LSTM: return slot == 0 ? std::optional(3) : std::nullopt;
    case OpKind::Conv:
      if (slot != 0 || !c.infer.has_rank(m.input(n, 1))) return std::nullopt;
      return static_cast<int>(c.infer.dims(m.input(n, 1)).size());
    default: return std::nullopt;
  }
}

// Returns whether an output of graph g depends on the node, which is in g: a runtime may drop the others.
// Follows one reader of each node; where that ends before the outputs, nothing is proven.
bool reaches_outputs(const Model& m, GraphId g, NodeId n) {
  for (std::size_t step = 0; step < kMaxSteps && n; ++step) {
    if (m.is_return(n)) return true;
    NodeId next;
    for (const ValueId v : m.outputs(n)) {
      if (!v || m.use_count(v) == 0) continue;
      const NodeId user = m.user(m.first_use(v));
      next = m.node(user).graph == g ? user : m.ancestor_in(g, user);
      break;
    }
    n = next;
  }
  return false;
}

}  // namespace

Ranks possible_ranks(const MatchContext& c, ValueId v) {
  const Model& m = c.model;
  Ranks ranks = 0;
  std::vector<Found> todo{{v, 0}};
  for (std::size_t looks = 0; !todo.empty(); ++looks) {
    const Found at = todo.back();
    todo.pop_back();
    if (!at.value || looks == kMaxLooks) return kAnyRank;
    if (c.infer.has_rank(at.value)) {
      const int rank = static_cast<int>(c.infer.dims(at.value).size()) - at.more;
      if (rank > kMaxRank) return kAnyRank;
      ranks |= single(rank);
      continue;
    }
    const NodeId def = m.value(at.value).def;
    if (!def) return kAnyRank;
    if (m.kind(def) == OpKind::If && attributes_known(m, def)) {
      for (const NameId name : {names::then_branch, names::else_branch}) {
        const Attr* branch = m.find_attr(def, name);
        const std::size_t slot = m.value(at.value).def_slot;
        if (branch == nullptr || branch->graphs.size() != 1) return kAnyRank;
        if (slot >= m.graph_output_count(branch->graphs[0])) return kAnyRank;
        todo.push_back({m.graph_output(branch->graphs[0], slot), at.more});
      }
      continue;
    }
    const std::optional<int> added = added_rank(m, def);
    if (!added) return kAnyRank;
    todo.push_back({m.input(def, 0), at.more - *added});
  }
  return ranks;
}

Ranks required_ranks(const MatchContext& c, ValueId v) {
  const Model& m = c.model;
  const GraphId g = m.value(v).graph;
  Ranks ranks = kAnyRank;
  std::vector<Found> todo{{v, 0}};
  std::size_t looks = 0;
  while (!todo.empty()) {
    const Found at = todo.back();
    todo.pop_back();
    for (UseId u = m.first_use(at.value); u; u = m.next_use(u)) {
      if (++looks > kMaxLooks)
        return kAnyRank;  // not what was found so far: that depends on the order of uses
      const NodeId user = m.user(u);
      if (m.node(user).graph != g || m.is_return(user)) continue;
      if (const auto rank = demanded_rank(c, user, m.slot(u))) {
        if (reaches_outputs(m, g, user)) ranks &= single(*rank - at.more);
      } else if (const auto added = m.slot(u) == 0 ? added_rank(m, user) : std::nullopt; added) {
        if (const ValueId y = m.output(user, 0)) todo.push_back({y, at.more + *added});
      }
    }
  }
  return ranks;
}

}  // namespace graphopt
