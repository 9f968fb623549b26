// Problem: the same elementwise operators stand behind every result of a Split: n launches each where one
// would do.
// Method: from each result (through deformations that nothing else reads) forward, in topological order, to
// the nearest node that every reader of the result leads to and no value goes past: its *end*. What lies
// between is the branch: one node where the result has one reader, a small graph where it is read again (x *
// sigmoid(x)). Then backward from the ends, all branches in lockstep: a *level* is a node per branch, the
// same operator with the result, values of further levels, or common operands
// (merge_operands.h) at the same places. The operand that reads a node says which one it pairs with, so equal
// readers are never confused. The levels go in front of the Split once; it takes the values of the ends apart
// instead, the deformations stay on their branches. Chains follow one end at a time. With two ends (values of
// two levels are read below) a second Split would move more bytes than is saved: there is no end then. Where
// the Split cannot carry the values of an end, or they are of a wider type, the next end is looked for.
// Exact: as merge_concat. A shared operand cannot depend on the Split: it would depend on an end, and that on
// the operand.
// Lowers: C', by n - 1 for each tuple. Ends: each node is looked at once per walk, at most
// SearchLimits::branch_nodes of them on a branch.
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

#include "hoist/draft/elementwise.h"
#include "hoist/moves/merge_operands.h"

namespace graphopt {
namespace {

struct SplitResult {
  DValue result;               // of the Split
  std::vector<DNode> between;  // deformations, in order
  DValue value;                // behind them
  std::vector<DNode> nodes;    // the branch, in topological order; the last is the end
};

// Adds the nodes behind the last one (the value, at first) up to the next end.
bool walk_to_end(const Draft& d, SplitResult& p, Refusal& why) {
  std::vector<std::pair<std::uint64_t, DNode>>
      open;  // a heap, the first in order on top: a reader per use that is still to be met
  const auto add_readers = [&](DValue v) {
    if (d[v].live_out || !d.first_use(v)) {
      why = d[v].live_out && (v == p.value || d.first_use(v)) ? held_because(d, v) : Refusal::MultiUse;
      return false;
    }
    if (open.size() + d[v].use_count > kSearchLimits.branch_nodes) {
      d.hit_limit(SearchLimit::BranchNodes);
      why = Refusal::Limit;
      return false;
    }
    for (DUse u = d.first_use(v); u; u = d.next_use(u)) {
      const DNode n = d.user(u);
      if (!d.is(n, NodeClass::Elementwise)) {
        const bool one =
            d.single_user(v).valid() && !d[n].shape_only && d[n].node_class != NodeClass::Deformation;
        why = one ? not_elementwise(d, n) : Refusal::MultiUse;
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
      why = Refusal::Limit;
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

bool follow(const Draft& d, SplitResult& p, Refusal& why) {
  for (p.value = p.result; p.value && d.single_use(p.value); p.value = d.out(p.between.back())) {
    const DUse u = d.first_use(p.value);
    if (d[d.user(u)].node_class != NodeClass::Deformation || d[d.user(u)].shape_only || d.slot(u) != 0) break;
    p.between.push_back(d.user(u));
  }
  if (!p.value) {
    why = Refusal::MultiUse;
    return false;
  }
  return walk_to_end(d, p, why);
}

// Brings the Split and the deformations behind `place`, where the shared operands are computed.
void move_behind(Draft& d, DNode split, std::span<const SplitResult> pieces, DNode place) {
  if (!place || d.before(place, split)) return;
  const DNode next = d[place].next;
  d.move_before(split, next);
  for (const SplitResult& p : pieces)
    for (const DNode n : p.between)
      if (d.before(n, split)) d.move_before(n, d[split].next);
  // Chains on one branch keep their order: later ones were put right behind the Split, in front of earlier
  // ones.
  for (const SplitResult& p : pieces)
    for (std::size_t i = 1; i < p.between.size(); ++i)
      if (d.before(p.between[i], p.between[i - 1])) d.move_before(p.between[i], d[p.between[i - 1]].next);
}

// The branches in lockstep: level k is the k-th node of the first branch and what stands at its place on the
// others.
class SplitLockstep {
 public:
  SplitLockstep(Draft& d, DNode split, const MoveOptions& o, std::span<const SplitResult> pieces)
      : d_(d), split_(split), options_(o), results_(pieces), tuples_(pieces[0].nodes.size()) {}

  bool match(Refusal& why) {
    for (const SplitResult& p : results_)
      if (p.nodes.size() != tuples_.size()) {
        why =
            Refusal::MultiUse;  // something reads a value of one branch that is read by nothing on the others
        return false;
      }
    for (std::uint32_t i = 0; i < results_.size(); ++i)
      for (std::uint32_t k = 0; k < tuples_.size(); ++k) homes_.push_back({results_[i].nodes[k], i, k});
    std::ranges::sort(homes_, {}, &Home::node);
    if (std::ranges::adjacent_find(homes_, {}, &Home::node) != homes_.end()) {
      why = Refusal::MultiUse;  // two branches meet
      return false;
    }
    for (Tuple& tuple : tuples_) tuple.nodes.resize(results_.size());
    taken_.resize(homes_.size());
    for (std::uint32_t i = 0; i < results_.size(); ++i)
      take(i, static_cast<std::uint32_t>(tuples_.size() - 1), results_[i].nodes.back());
    for (std::size_t k = tuples_.size(); k-- > 0;)
      if (!match_tuple(tuples_[k], why)) return false;
    return true;
  }

  // Operands of each level; the last definition of those that are computed.
  bool find_operands(Refusal& why) {
    for (Tuple& tuple : tuples_)
      for (std::uint32_t slot = 0; slot < tuple.in.size(); ++slot) {
        Operands& in = tuple.in[slot];
        if (in.from != From::Outside) continue;
        std::vector<Branch> branches;
        for (std::size_t i = 0; i < results_.size(); ++i) {
          const DNode n = tuple.nodes[i];
          branches.push_back({n, paired_operand(d_, tuple.nodes[0], n, slot), d_.shape(d_.out(n)),
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

  // One node per tuple, right before the Split, on `x`. What the last one gives.
  DValue build(DValue x) {
    const ShapeId whole = d_.shape(x);
    for (Tuple& tuple : tuples_) {
      std::vector<DValue> in;
      for (const Operands& o : tuple.in)
        in.push_back(o.from == From::SplitResult ? x
                     : o.from == From::Tuple     ? tuples_[o.tuple].made
                                                 : o.value);
      tuple.made = d_.new_value(whole, d_[d_.out(tuple.nodes[0])].dtype);
      d_.new_elementwise(tuple.nodes[0], in, tuple.made, split_);
    }
    return tuples_.back().made;
  }

 private:
  enum class From : std::uint8_t { Absent, SplitResult, Tuple, Outside };
  struct Operands {
    From from = From::Absent;
    std::uint32_t tuple = 0;
    DValue value;
  };
  struct Tuple {
    std::vector<DNode> nodes;  // one per branch; none until a reader was matched
    std::vector<Operands> in;
    DValue made;
  };
  struct Home {
    DNode node;
    std::uint32_t branch, place;
  };

  // Where n stands on the branches, as an index into homes_.
  std::optional<std::size_t> home(DNode n) const {
    if (!n) return std::nullopt;
    const auto it = std::ranges::lower_bound(homes_, n, {}, &Home::node);
    if (it == homes_.end() || it->node != n) return std::nullopt;
    return static_cast<std::size_t>(it - homes_.begin());
  }

  // n becomes branch i's node of the tuple, if both are free or are each other's already.
  bool take(std::uint32_t i, std::uint32_t tuple, DNode n) {
    const std::size_t at = *home(n);
    if (homes_[at].branch != i) return false;
    if (tuples_[tuple].nodes[i] == n) return true;
    if (tuples_[tuple].nodes[i] || taken_[at]) return false;
    tuples_[tuple].nodes[i] = n;
    taken_[at] = true;
    return true;
  }

  bool match_tuple(Tuple& tuple, Refusal& why) {
    if (!same_elementwise(d_, tuple.nodes, d_.shape(d_.in(split_, 0)), options_, why)) return false;
    const DNode first = tuple.nodes[0];
    for (std::size_t i = 0; i < results_.size(); ++i) {
      const SplitResult& p = results_[i];
      if (d_.shape(d_.out(tuple.nodes[i])) != d_.shape(p.value)) {
        why = Refusal::ShapeUnknown;
        return false;
      }
      if (d_[tuple.nodes[i]].per_axis &&
          (d_.shape(p.value) != d_.shape(p.result) || d_[tuple.nodes[i]].axis == d_[split_].axis)) {
        why = Refusal::AxisCut;
        return false;
      }
    }
    for (std::uint32_t slot = 0; slot < d_[first].in_count; ++slot) {
      tuple.in.emplace_back();
      if (d_.in(first, slot) && !match_operand(tuple, slot, tuple.in.back())) {
        why = Refusal::Operand;
        return false;
      }
    }
    return true;
  }

  bool match_operand(const Tuple& tuple, std::uint32_t slot, Operands& in) {
    const DValue w = d_.in(tuple.nodes[0], slot);
    const auto inner = home(d_.def(w));
    in.from = w == results_[0].value ? From::SplitResult : inner ? From::Tuple : From::Outside;
    if (inner) in.tuple = homes_[*inner].place;
    // A scalar by definition cannot become the whole of the Split's operand, even where the pieces are
    // scalars behind deformations.
    if (in.from != From::Outside &&
        operand_kind(d_.model(), d_[tuple.nodes[0]].origin, slot) == Operand::Fixed)
      return false;
    for (std::uint32_t i = 0; i < results_.size(); ++i) {
      const DValue v = paired_operand(d_, tuple.nodes[0], tuple.nodes[i], slot);
      const DNode q = d_.def(v);
      switch (in.from) {
        case From::SplitResult:
          if (v != results_[i].value) return false;
          break;
        case From::Tuple:
          if (!home(q) || !take(i, in.tuple, q)) return false;
          break;
        default:  // find_operands takes one value for all, or constants: none of another branch
          break;
      }
    }
    return true;
  }

  Draft& d_;
  const DNode split_;
  const MoveOptions& options_;
  const std::span<const SplitResult> results_;
  std::vector<Tuple> tuples_;
  std::vector<Home> homes_;  // of all branches' nodes, sorted
  std::vector<bool> taken_;  // by index into homes_: has a level
  DNode latest_;
};

}  // namespace

bool merge_split(Draft& d, DNode split, const MoveOptions& o, Refusal& why) {
  const DValue x = d.in(split, 0);
  if (d[split].out_count < 2) return false;
  if (!d.shape(x)) {
    why = Refusal::ShapeUnknown;
    return false;
  }
  std::vector<SplitResult> pieces;
  for (const DValue v : d.outs(split)) {
    SplitResult p;
    p.result = v;
    if (!follow(d, p, why)) return false;
    if (!d.shape(v) || !d.shape(p.value)) {
      why = Refusal::ShapeUnknown;
      return false;
    }
    pieces.push_back(std::move(p));
  }
  // What the Split would have to take apart. Another end may do where this one does not.
  const auto cannot_carry = [&] {
    const DType type = d[d.out(pieces[0].nodes.back())].dtype;
    return !type_can_move(d, type)               ? Refusal::Type
           : bits_of(type) > bits_of(d[x].dtype) ? Refusal::Bytes
                                                 : Refusal::None;
  };
  for (Refusal not_here; (not_here = cannot_carry()) != Refusal::None;)
    for (SplitResult& p : pieces)
      if (Refusal further = Refusal::None; !walk_to_end(d, p, further)) {
        why = not_here;
        return false;
      }
  SplitLockstep lockstep(d, split, o, pieces);
  if (!lockstep.match(why) || !lockstep.find_operands(why)) return false;

  move_behind(d, split, pieces, lockstep.latest());
  const DValue moved = lockstep.build(x);
  const DType type = d[moved].dtype;
  std::vector<DValue> outs;
  for (const SplitResult& p : pieces) {
    // Names stay where their value stays: at the end of the branch.
    const DValue last = d.out(p.nodes.back());
    for (std::size_t k = p.nodes.size(); k-- > 0;) d.erase(p.nodes[k]);
    DValue v = p.between.empty() ? last : d.new_value(d.shape(p.result), type);
    outs.push_back(v);
    for (std::size_t i = 0; i < p.between.size(); ++i) {
      d.set_in(p.between[i], 0, v);
      v = i + 1 == p.between.size() ? last : d.new_value(d.shape(d.out(p.between[i])), type);
      d.set_outs(p.between[i], std::span(&v, 1));
    }
  }
  d.set_outs(split, outs);
  d.set_in(split, 0, moved);
  return true;
}

}  // namespace graphopt
