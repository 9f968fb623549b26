// Problem: the same elementwise operators stand downstream of every result of a Split: n launches each where
// one is enough.
// Method: from each result (through single-use deformations) the branch is followed downstream, in
// topological order, to its *join node*: the nearest node that every path from the result leads to, its
// post-dominator. The branch is one node where the result has one reader, or a small graph where it has
// several (x * sigmoid(x)). Then the branches are matched in lockstep, from the join nodes upstream. A
// *row of nodes* is one node per branch; it matches if the nodes have the same operator and read, at the same
// operand positions, the branch's value, nodes of one other row, or a common operand (merge_operands.h).
// The operand that reads a node decides which row it joins, so equal readers are never confused. The merged
// nodes are put upstream of the Split, which then splits their result; deformations stay on their branches.
// If values of two rows are read further downstream, no join node exists: a second Split would move more
// bytes than is saved. If the Split cannot carry the type at the join nodes, or it is a wider type, the next
// join nodes downstream are tried.
// Exact: as merge_concat. A common operand cannot depend on the Split: it would depend on a join node, which
// depends on the operand.
// Lowers C' by n - 1 per row.
// Ends: a walk visits each node once, at most SearchLimits::branch_nodes of them per branch.
//
//   a, b = Split <axis = 0> (x, n)             s = Sigmoid (x)
//   s1 = Sigmoid (a)                           y = Mul (x, s)
//   y1 = Mul (a, s1)                =>         y1, y2 = Split <axis = 0> (y, n)
//   s2 = Sigmoid (b)
//   y2 = Mul (b, s2)
#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "draft/data_movement.h"
#include "hoist/moves/conditions.h"
#include "hoist/moves/merge_operands.h"

namespace graphopt {
namespace {

// A result of the Split with its branch.
struct SplitResult {
  DValue result;
  std::vector<DNode> deformations;  // single-use ones directly downstream of the result, in order
  DValue value;                     // the result downstream of these
  std::vector<DNode> nodes;         // the branch, in topological order; the last one is the join node
};

// Adds to p.nodes those downstream of its last node (of p.value, if it has none) up to the next join node.
// Returns false, and sets `why`, if there is no join node.
bool walk_to_join_node(const Draft& d, SplitResult& p, MoveRefusal& why) {
  std::vector<std::pair<std::uint64_t, DNode>>
      open;  // a heap, the first in order on top: the readers to be visited, one per use
  const auto add_readers = [&](DValue v) {
    if (d[v].live_out || !d.first_use(v)) {
      why = d[v].live_out && (v == p.value || d.first_use(v)) ? live_out_reason(d, v) : MoveRefusal::MultiUse;
      return false;
    }
    if (open.size() + d[v].use_count > kSearchLimits.branch_nodes) {
      d.hit_limit(SearchLimit::BranchNodes);
      why = MoveRefusal::Limit;
      return false;
    }
    for (DUse u = d.first_use(v); u; u = d.next_use(u)) {
      const DNode n = d.user(u);
      if (!d.is(n, NodeClass::Elementwise)) {
        const bool one =
            d.single_user(v).valid() && !d[n].shape_only && d[n].node_class != NodeClass::Deformation;
        why = one ? not_elementwise_reason(d, n) : MoveRefusal::MultiUse;
        return false;
      }
      open.emplace_back(d[n].key, n);
      std::ranges::push_heap(open, std::greater{});
    }
    return true;
  };
  for (DValue v = p.nodes.empty() ? p.value : d.out(p.nodes.back());; v = d.out(p.nodes.back())) {
    if (!add_readers(v)) return false;
    if (p.nodes.size() == kSearchLimits.branch_nodes) {
      d.hit_limit(SearchLimit::BranchNodes);
      why = MoveRefusal::Limit;
      return false;
    }
    const DNode next = open.front().second;
    while (!open.empty() && open.front().second == next) {
      std::ranges::pop_heap(open, std::greater{});
      open.pop_back();
    }
    p.nodes.push_back(next);
    if (open.empty()) return true;
  }
}

bool follow(const Draft& d, SplitResult& p, MoveRefusal& why) {
  for (p.value = p.result; p.value && d.single_use(p.value); p.value = d.out(p.deformations.back())) {
    const DUse u = d.first_use(p.value);
    if (d[d.user(u)].node_class != NodeClass::Deformation || d[d.user(u)].shape_only || d.slot(u) != 0) break;
    p.deformations.push_back(d.user(u));
  }
  if (!p.value) {
    why = MoveRefusal::MultiUse;
    return false;
  }
  return walk_to_join_node(d, p, why);
}

// Moves the Split and the deformations in the node list to after `place`, which computes a common operand.
void move_downstream_of(Draft& d, DNode split, std::span<const SplitResult> results, DNode place) {
  if (!place || d.before(place, split)) return;
  const DNode next = d[place].next;
  d.move_before(split, next);
  for (const SplitResult& p : results)
    for (const DNode n : p.deformations)
      if (d.before(n, split)) d.move_before(n, d[split].next);
  // Chains on one branch keep their order: the loop above puts later nodes directly after the Split, before
  // earlier ones.
  for (const SplitResult& p : results)
    for (std::size_t i = 1; i < p.deformations.size(); ++i)
      if (d.before(p.deformations[i], p.deformations[i - 1]))
        d.move_before(p.deformations[i], d[p.deformations[i - 1]].next);
}

// The branches in lockstep: row k is the k-th node of the first branch and the nodes that match it on the
// others.
class SplitLockstep {
 public:
  SplitLockstep(Draft& d, DNode split, const MoveOptions& o, std::span<const SplitResult> results)
      : d_(d), split_(split), options_(o), results_(results), rows_(results[0].nodes.size()) {}

  bool match(MoveRefusal& why) {
    for (const SplitResult& p : results_)
      if (p.nodes.size() != rows_.size()) {
        why = MoveRefusal::MultiUse;  // a value of one branch has a reader that the others do not have
        return false;
      }
    for (std::uint32_t i = 0; i < results_.size(); ++i)
      for (std::uint32_t k = 0; k < rows_.size(); ++k) positions_.push_back({results_[i].nodes[k], i, k});
    std::ranges::sort(positions_, {}, &Position::node);
    if (std::ranges::adjacent_find(positions_, {}, &Position::node) != positions_.end()) {
      why = MoveRefusal::MultiUse;  // two branches meet
      return false;
    }
    for (NodeRow& row : rows_) row.nodes.resize(results_.size());
    assigned_.resize(positions_.size());
    for (std::uint32_t i = 0; i < results_.size(); ++i)
      assign(i, static_cast<std::uint32_t>(rows_.size() - 1), results_[i].nodes.back());
    for (std::size_t k = rows_.size(); k-- > 0;)
      if (!match_row(rows_[k], why)) return false;
    return true;
  }

  // Finds the common operands of each row, and the last node (latest()) that computes one. Returns false,
  // and sets `why`, if an operand is not common.
  bool find_operands(MoveRefusal& why) {
    for (NodeRow& row : rows_)
      for (std::uint32_t slot = 0; slot < row.in.size(); ++slot) {
        Operands& in = row.in[slot];
        if (in.from != From::Outside) continue;
        std::vector<Branch> branches;
        for (std::size_t i = 0; i < results_.size(); ++i) {
          const DNode n = row.nodes[i];
          branches.push_back({n, paired_operand(d_, row.nodes[0], n, slot), d_.shape(d_.out(n)),
                              d_.shape(results_[i].result)});
        }
        in.value = common_operand(d_, branches, slot, d_[split_].axis, split_, why);
        if (!in.value) return false;
        if (const DNode q = d_.def(in.value);
            q && !d_.constant(in.value) && (!latest_ || d_.before(latest_, q)))
          latest_ = q;
      }
    return true;
  }
  DNode latest() const { return latest_; }

  // Creates one node per row, directly before the Split, with `x` for the branches' values. Returns the
  // result of the last one.
  DValue build(DValue x) {
    const ShapeId whole = d_.shape(x);
    for (NodeRow& row : rows_) {
      std::vector<DValue> in;
      for (const Operands& o : row.in)
        in.push_back(o.from == From::SplitResult ? x : o.from == From::Row ? rows_[o.row].made : o.value);
      row.made = d_.new_value(whole, d_[d_.out(row.nodes[0])].dtype);
      d_.new_elementwise(row.nodes[0], in, row.made, split_);
    }
    return rows_.back().made;
  }

 private:
  enum class From : std::uint8_t { Absent, SplitResult, Row, Outside };
  struct Operands {
    From from = From::Absent;
    std::uint32_t row = 0;
    DValue value;
  };
  struct NodeRow {
    std::vector<DNode> nodes;  // one per branch; none until a reader is matched
    std::vector<Operands> in;
    DValue made;
  };
  struct Position {
    DNode node;
    std::uint32_t branch, index;
  };

  // Returns the position of n on the branches, as an index into positions_; nothing if n is on none.
  std::optional<std::size_t> position_of(DNode n) const {
    if (!n) return std::nullopt;
    const auto it = std::ranges::lower_bound(positions_, n, {}, &Position::node);
    if (it == positions_.end() || it->node != n) return std::nullopt;
    return static_cast<std::size_t>(it - positions_.begin());
  }

  // Makes n branch i's node of the row. Returns false if n is on another branch, or n or the row's slot
  // is assigned to another one.
  bool assign(std::uint32_t i, std::uint32_t row, DNode n) {
    const std::size_t at = *position_of(n);
    if (positions_[at].branch != i) return false;
    if (rows_[row].nodes[i] == n) return true;
    if (rows_[row].nodes[i] || assigned_[at]) return false;
    rows_[row].nodes[i] = n;
    assigned_[at] = true;
    return true;
  }

  bool match_row(NodeRow& row, MoveRefusal& why) {
    if (!same_elementwise(d_, row.nodes, d_.shape(d_.in(split_, 0)), options_, why)) return false;
    const DNode first = row.nodes[0];
    for (std::size_t i = 0; i < results_.size(); ++i) {
      const SplitResult& p = results_[i];
      if (d_.shape(d_.out(row.nodes[i])) != d_.shape(p.value)) {
        why = MoveRefusal::ShapeUnknown;
        return false;
      }
      if (d_[row.nodes[i]].per_axis &&
          (d_.shape(p.value) != d_.shape(p.result) || d_[row.nodes[i]].axis == d_[split_].axis)) {
        why = MoveRefusal::AxisCut;
        return false;
      }
    }
    for (std::uint32_t slot = 0; slot < d_[first].in_count; ++slot) {
      row.in.emplace_back();
      if (d_.in(first, slot) && !match_operand(row, slot, row.in.back())) {
        why = MoveRefusal::Operand;
        return false;
      }
    }
    return true;
  }

  bool match_operand(const NodeRow& row, std::uint32_t slot, Operands& in) {
    const DValue w = d_.in(row.nodes[0], slot);
    const auto inner = position_of(d_.def(w));
    in.from = w == results_[0].value ? From::SplitResult : inner ? From::Row : From::Outside;
    if (inner) in.row = positions_[*inner].index;
    // A fixed operand cannot become the Split's whole operand, even if the results are reshaped to scalars.
    if (in.from != From::Outside && operand_kind(d_.model(), d_[row.nodes[0]].origin, slot) == Operand::Fixed)
      return false;
    for (std::uint32_t i = 0; i < results_.size(); ++i) {
      const DValue v = paired_operand(d_, row.nodes[0], row.nodes[i], slot);
      const DNode q = d_.def(v);
      switch (in.from) {
        case From::SplitResult:
          if (v != results_[i].value) return false;
          break;
        case From::Row:
          if (!position_of(q) || !assign(i, in.row, q)) return false;
          break;
        default:  // find_operands() requires one value for all branches, or constants
          break;
      }
    }
    return true;
  }

  Draft& d_;
  const DNode split_;
  const MoveOptions& options_;
  const std::span<const SplitResult> results_;
  std::vector<NodeRow> rows_;
  std::vector<Position> positions_;  // of all branches' nodes, sorted
  std::vector<bool> assigned_;       // by index into positions_: has a row
  DNode latest_;
};

}  // namespace

bool merge_split(Draft& d, DNode split, const MoveOptions& o, MoveRefusal& why) {
  const DValue x = d.in(split, 0);
  if (d[split].out_count < 2) return false;
  if (!d.shape(x)) {
    why = MoveRefusal::ShapeUnknown;
    return false;
  }
  std::vector<SplitResult> results;
  for (const DValue v : d.outs(split)) {
    SplitResult p;
    p.result = v;
    if (!follow(d, p, why)) return false;
    if (!d.shape(v) || !d.shape(p.value)) {
      why = MoveRefusal::ShapeUnknown;
      return false;
    }
    results.push_back(std::move(p));
  }
  // Returns why the Split cannot carry the values at the join nodes, if so; the next join nodes may do.
  const auto carry_refusal = [&] {
    const DType type = d[d.out(results[0].nodes.back())].dtype;
    return !type_can_move(d, type)               ? MoveRefusal::Type
           : bits_of(type) > bits_of(d[x].dtype) ? MoveRefusal::Bytes
                                                 : MoveRefusal::None;
  };
  for (MoveRefusal not_here; (not_here = carry_refusal()) != MoveRefusal::None;)
    for (SplitResult& p : results)
      if (MoveRefusal further = MoveRefusal::None; !walk_to_join_node(d, p, further)) {
        why = not_here;
        return false;
      }
  SplitLockstep lockstep(d, split, o, results);
  if (!lockstep.match(why) || !lockstep.find_operands(why)) return false;

  move_downstream_of(d, split, results, lockstep.latest());
  const DValue moved = lockstep.build(x);
  const DType type = d[moved].dtype;
  std::vector<DValue> outs;
  for (const SplitResult& p : results) {
    // The join node's value keeps its name.
    const DValue last = d.out(p.nodes.back());
    for (std::size_t k = p.nodes.size(); k-- > 0;) d.erase(p.nodes[k]);
    DValue v = p.deformations.empty() ? last : d.new_value(d.shape(p.result), type);
    outs.push_back(v);
    for (std::size_t i = 0; i < p.deformations.size(); ++i) {
      d.set_in(p.deformations[i], 0, v);
      v = i + 1 == p.deformations.size() ? last : d.new_value(d.shape(d.out(p.deformations[i])), type);
      d.set_outs(p.deformations[i], std::span(&v, 1));
    }
  }
  d.set_outs(split, outs);
  d.set_in(split, 0, moved);
  return true;
}

}  // namespace graphopt
