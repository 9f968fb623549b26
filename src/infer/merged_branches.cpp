#include "infer/merged_branches.h"

#include <optional>
#include <vector>

#include "ops/node_facts.h"

namespace graphopt {
namespace {

// The shape of a branch's result as a runtime may come to see it.
struct Seen {
  bool is_tensor = false, has_rank = false;
  bool stays = false;       // what is not known of it stays unknown
  std::vector<DimId> dims;  // none: never known
};

std::optional<std::int64_t> number(const Model& m, DimId d) { return d ? m.dims.value(d) : std::nullopt; }

// Where what is declared is wrong, a runtime drops what it knows: all dims if the ranks differ, or the dim.
Seen merged(const Model& m, TypeId own_type, TypeId declared_type, bool stays) {
  const Type &own = m.types[own_type], &declared = m.types[declared_type];
  Seen out{own.kind == TypeKind::Tensor, own.has_rank, stays, {}};
  if (!out.is_tensor || !out.has_rank) return out;
  out.dims.assign(own.dims.begin(), own.dims.end());
  if (declared.kind != TypeKind::Tensor || !declared.has_rank) return out;
  if (declared.dims.size() != out.dims.size()) return {true, false, true, {}};
  for (std::size_t i = 0; i < out.dims.size(); ++i) {
    const auto x = number(m, out.dims[i]), y = number(m, declared.dims[i]);
    if (x && y && *x != *y) out.dims[i] = {};
    else if (!x && y) out.dims[i] = declared.dims[i];
  }
  return out;
}

// Returns whether a runtime that comes to know more of the two, where that does not stay, refuses to merge
// them.
bool contradict(const Model& m, const Seen& x, const Seen& y) {
  if (!x.is_tensor || !y.is_tensor) return false;
  if (!x.has_rank || !y.has_rank) return !(x.has_rank || x.stays) || !(y.has_rank || y.stays);
  if (x.dims.size() != y.dims.size()) return true;
  for (std::size_t i = 0; i < x.dims.size(); ++i) {
    const DimId d = x.dims[i], e = y.dims[i];
    if (!d || !e || m.dims.canonical(d) == m.dims.canonical(e)) continue;
    if ((number(m, d) || !x.stays) && (number(m, e) || !y.stays)) return true;
  }
  return false;
}

class Branches {
 public:
  Branches(const Model& m, const Inference& infer)
      : m_(m), infer_(infer), folds_(m.value_count(), false), opens_(m.value_count(), false) {
    for (std::size_t i = 0; i < m.value_count(); ++i) {
      const ValueId v{i};
      if (m.alive(v) && !m.value(v).def) start(v);
    }
    for (std::size_t g = 0; g < m.graph_count(); ++g) {  // outer graphs have smaller numbers
      if (!m.graph(GraphId{g}).alive) continue;
      for (NodeId n = m.first_node(GraphId{g}); n; n = m.next_node(n)) visit(n);
    }
  }

  bool may_disagree(NodeId n) const {
    bool found = false;
    each_merged(m_, n, [&](ValueId a, ValueId b) { found = found || contradict(m_, seen(a), seen(b)); });
    return found;
  }

 private:
  // Parameters of functions and bodies get what a rewrite makes known outside.
  void start(ValueId v) {
    const bool constant = m_.constant_of(v).valid();
    const bool parameter = !constant && m_.value(v).graph != m_.main();
    folds_[v.index()] = constant || parameter;
    opens_[v.index()] = parameter;
  }

  void visit(NodeId n) {
    const bool bodies = facts_of(m_, n).purity == Purity::ControlFlow || m_.kind(n) == OpKind::FunctionCall;
    bool all_fold = true, opens = bodies;
    for (std::size_t i = 0; i < m_.input_count(n); ++i) {
      const ValueId v = m_.input(n, i);
      if (!v) continue;
      all_fold = all_fold && folds_[v.index()];
      opens = opens || opens_[v.index()] || (folds_[v.index()] && !m_.constant_of(v));
    }
    const OpKind kind = m_.kind(n);
    const bool folds = all_fold || bodies || kind == OpKind::Shape || kind == OpKind::Size;
    for (const ValueId v : m_.outputs(n)) {
      if (!v) continue;
      folds_[v.index()] = folds;
      opens_[v.index()] = opens || all_fold;
    }
  }

  // A branch's result keeps what the file declares of it.
  Seen seen(ValueId v) const {
    return merged(m_, infer_.type(v), m_.value(v).info_stale ? TypeId{} : m_.value(v).declared,
                  !opens_[v.index()]);
  }

  const Model& m_;
  const Inference& infer_;
  std::vector<bool> folds_;  // by value: it may become a constant
  std::vector<bool> opens_;  // by value: more of its shape may become known
};

}  // namespace

bool merges_branches(const Model& m, NodeId n) { return m.kind(n) == OpKind::If && m.opset(n) < 11; }

bool has_merged_branches(const Model& m) {
  for (std::size_t i = 0; i < m.node_count(); ++i)
    if (m.alive(NodeId{i}) && merges_branches(m, NodeId{i})) return true;
  return false;
}

bool branches_may_disagree(const Model& m, const Inference& infer) {
  std::optional<Branches> branches;
  for (std::size_t i = 0; i < m.node_count(); ++i) {
    const NodeId n{i};
    if (!m.alive(n) || !merges_branches(m, n)) continue;
    if (!branches) branches.emplace(m, infer);
    if (branches->may_disagree(n)) return true;
  }
  return false;
}

bool are_merged(const Model& m, NodeId n, std::span<const TypeId> types, std::span<const TypeId> declared) {
  bool all = true;
  each_merged(m, n, [&](ValueId a, ValueId b) {
    const Seen x = merged(m, types[a.index()], declared[a.index()], true);
    const Seen y = merged(m, types[b.index()], declared[b.index()], true);
    all = all && !contradict(m, x, y);
  });
  return all;
}

}  // namespace graphopt
