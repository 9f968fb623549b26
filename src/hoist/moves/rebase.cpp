// Problem: a deformation between an anchor and elementwise nodes keeps them apart.
// Method: the whole cluster of elementwise nodes of one shape takes the shape beyond the deformation: full
// operands from outside get the inverse, broadcast operands follow (mapped_operand), what is read outside
// gets the deformation. Borders that meet an inverse cancel; only then the cost falls. With a Transpose the
// same by a perm; broadcast operands must be constants.
// Exact: b7: with a deformation the same kernel reads the same buffer; a Transpose changes places, so
// operators whose bits depend on that are refused.
// Ends: each node of the cluster is changed once.
#include <algorithm>
#include <unordered_map>

#include "hoist/draft/elementwise.h"
#include "hoist/moves/moves.h"

namespace graphopt {
namespace {

std::vector<std::int64_t> inverse_of(std::span<const std::int64_t> perm) {
  std::vector<std::int64_t> out(perm.size());
  for (std::size_t k = 0; k < perm.size(); ++k)
    out[static_cast<std::size_t>(perm[k])] = static_cast<std::int64_t>(k);
  return out;
}

class Rebase {
 public:
  Rebase(Draft& d, std::span<const DNode> cluster, ShapeId from, ShapeId to, Refusal& why)
      : d_(d), cluster_(cluster), from_(from), to_(to), why_(why) {
    d.clear_marks();
    for (const DNode n : cluster_) d.mark(n);
  }

  // dims of the new shape = dims of the old one in this order; empty: a deformation.
  std::vector<std::int64_t> perm;
  RuntimeTarget target_in, target_out;  // say `to` from `from`, and back

  bool run() {
    for (const DNode n : cluster_)
      if (d_[d_.out(n)].live_out && d_[d_.out(n)].outer) return false;
    for (const DNode n : cluster_)
      if (d_[n].per_axis && !turn_axis(n)) return false;
    std::vector<DValue> operands;  // of one node after the other
    for (const DNode n : cluster_) {
      const std::size_t first = operands.size();
      for (std::uint32_t k = 0; k < d_[n].in_count; ++k) {
        DValue v = d_.in(n, k);
        const bool fixed = operand_kind(d_.model(), d_[n].origin, k) == Operand::Fixed;
        if (v && fixed && inner(v)) {  // a bound or a scale that the cluster computes must keep its rank
          why_ = Refusal::Operand;
          return false;
        }
        if (v && !fixed && !inner(v)) {
          v = d_.shape(v) == from_ ? converted(v, n) : followed(v, n);
          if (!v) return false;
        }
        operands.push_back(v);
      }
      if (!fills(n, std::span(operands).subspan(first))) {
        why_ = Refusal::Operand;
        return false;
      }
    }
    std::size_t next = 0;
    for (const DNode n : cluster_)
      for (std::uint32_t k = 0; k < d_[n].in_count; ++k) d_.set_in(n, k, operands[next++]);
    for (const DNode n : cluster_)
      if (!release(n)) return false;
    return true;
  }

 private:
  bool inner(DValue v) const { return d_.def(v) && d_.marked(d_.def(v)); }

  DValue transposed(DValue v, std::span<const std::int64_t> p, ShapeId shape, DNode before) {
    const DValue in[] = {v}, out[] = {d_.new_value(shape, d_[v].dtype)};
    const DNode t = d_.new_node(NodeClass::Transpose, {}, in, out, before);
    d_.set_list(t, d_.intern_list({p.begin(), p.end()}));
    return out[0];
  }

  // Do the operands still broadcast to the whole new shape? Where none is full, ranks and extents come from
  // several of them.
  bool fills(DNode n, std::span<const DValue> operands) const {
    for (std::uint32_t k = 0; k < operands.size(); ++k)
      if (operands[k] && (inner(operands[k]) || d_.shape(operands[k]) == to_) &&
          operand_kind(d_.model(), d_[n].origin, k) != Operand::Fixed)
        return true;
    const ShapeTable& shapes = d_.shapes();
    const auto whole = shapes.dims(to_);
    std::vector<bool> reached(whole.size());
    bool rank = false;
    for (std::uint32_t k = 0; k < operands.size(); ++k) {
      const DValue v = operands[k];
      if (!v || operand_kind(d_.model(), d_[n].origin, k) == Operand::Fixed) continue;
      const auto dims = shapes.dims(d_.shape(v));
      rank |= dims.size() == whole.size();
      for (std::size_t i = 0; i < dims.size(); ++i) {
        const std::size_t at = whole.size() - dims.size() + i;
        if (dims[i] == whole[at]) reached[at] = true;
      }
    }
    for (std::size_t i = 0; i < whole.size(); ++i)
      if (!reached[i] && !shapes.is_one(whole[i])) return false;
    return rank;
  }

  // The axis of scales in the new shape: a group of its own there, since they must stay a vector.
  bool turn_axis(DNode n) {
    const std::uint32_t axis = d_[n].axis;
    if (!perm.empty()) {
      d_.set_axis(n, static_cast<std::uint32_t>(std::ranges::find(perm, static_cast<std::int64_t>(axis)) -
                                                perm.begin()));
      return true;
    }
    const ShapeTable& shapes = d_.shapes();
    const std::vector<DimId> a(shapes.dims(from_).begin(), shapes.dims(from_).end()),
        b(shapes.dims(to_).begin(), shapes.dims(to_).end());
    why_ = Refusal::AxisCut;
    for (const DimGroup& g : dim_groups(d_.shapes(), a, b)) {
      if (axis < g.a_begin || axis >= g.a_end) continue;
      for (std::uint32_t k = g.a_begin; k < g.a_end; ++k)
        if (k != axis && !shapes.is_one(a[k])) return false;
      // The product of the group is the dim: where it stands on the other side, the rest there is 1.
      for (std::uint32_t k = g.b_begin; k < g.b_end; ++k)
        if (b[k] == a[axis] && !shapes.is_one(b[k])) {
          d_.set_axis(n, k);
          return true;
        }
    }
    return false;
  }

  // A full operand from outside, once per value.
  DValue converted(DValue v, DNode reader) {
    if (full_.size() <= kFew) {
      const auto it = std::ranges::find(full_, v, &std::pair<DValue, DValue>::first);
      if (it != full_.end()) return it->second;
    } else if (const auto it = many_.find(v.index()); it != many_.end()) {
      return it->second;
    }
    DValue z;
    if (perm.empty()) {
      z = deformed(d_, v, to_, reader, target_in, why_);
    } else if (d_.constant(v)) {
      z = transposed_constant(d_, v, perm);
      if (!z) why_ = Refusal::Limit;
    } else if (type_can_move(d_, d_[v].dtype)) {
      z = transposed(v, perm, to_, reader);
    } else {
      why_ = Refusal::Type;
    }
    full_.emplace_back(v, z);
    if (full_.size() == kFew + 1)
      for (const auto& [from, to] : full_) many_.emplace(from.index(), to);
    if (full_.size() > kFew) many_.emplace(v.index(), z);
    return z;
  }

  DValue followed(DValue v, DNode reader) {
    if (perm.empty()) return mapped_operand(d_, v, from_, to_, may_lift(d_, reader), reader, why_);
    const ShapeId q = d_.shape(v);
    if (!q) {
      why_ = Refusal::ShapeUnknown;
      return {};
    }
    if (d_.shapes().all_ones(q)) return d_.shapes().rank(q) <= perm.size() ? v : DValue{};
    why_ = Refusal::Operand;
    auto dims = d_.constant(v) ? d_.shapes().numbers(q) : std::nullopt;
    if (!dims || dims->size() > perm.size()) return {};
    dims->insert(dims->begin(), perm.size() - dims->size(), 1);
    const DValue wide = reshaped_constant(d_, v, d_.shapes().intern(std::span<const std::int64_t>(*dims)));
    const DValue turned = transposed_constant(d_, wide, perm);
    if (!turned) {
      why_ = Refusal::Limit;
      return {};
    }
    const auto now = *d_.shapes().numbers(d_.shape(turned));
    std::size_t ones = 0;
    while (ones < now.size() && now[ones] == 1) ++ones;
    return reshaped_constant(d_, turned,
                             d_.shapes().intern(std::span<const std::int64_t>(now).subspan(ones)));
  }

  // Gives what is read outside the old shape again. A value whose shape changes gets a new name.
  bool release(DNode n) {
    const DValue old = d_.out(n);
    std::vector<DUse>& outside = outside_;
    std::vector<std::pair<DNode, std::uint32_t>>& within = within_;
    outside.clear();
    within.clear();
    for (DUse u = d_.first_use(old); u; u = d_.next_use(u)) {
      if (d_.marked(d_.user(u))) within.emplace_back(d_.user(u), d_.slot(u));
      else outside.push_back(u);
    }
    // Deformations of it read the new value themselves, where that can be said.
    if (!d_[old].live_out && std::ranges::all_of(outside, [&](DUse u) { return reads_directly(u); })) {
      d_.retype(old, to_);
      for (const DUse u : outside) read_directly(d_.user(u), old);
      return true;
    }
    const DValue fresh = d_.new_value(to_, d_[old].dtype, d_[old].origin ? d_[old].origin : d_[old].like);
    d_.set_outs(n, std::span(&fresh, 1));
    for (const auto& [user, slot] : within) d_.set_in(user, slot, fresh);
    for (const DUse u : outside)
      if (reads_directly(u)) read_directly(d_.user(u), fresh);
    if (!type_can_move(d_, d_[old].dtype)) {
      why_ = Refusal::Type;
      return false;
    }
    const DValue in[] = {fresh}, out[] = {old};
    if (!perm.empty()) {
      const DNode t = d_.new_node(NodeClass::Transpose, {}, in, out, d_[n].next);
      d_.set_list(t, d_.intern_list(inverse_of(perm)));
      return true;
    }
    const bool again = target_out.operand && d_.in_function;
    if (!again && from_ && to_ && deform_form(d_.shapes(), to_, from_).kind != DeformForm::Kind::None) {
      d_.new_node(NodeClass::Deformation, {}, in, out, d_[n].next);
      return true;
    }
    if (target_out.operand) {
      const DValue with_target[] = {fresh, target_out.operand};
      d_.new_node(NodeClass::Deformation, target_out.reshape, with_target, out, d_[n].next);
      return true;
    }
    why_ = Refusal::NotWritable;
    return false;
  }

  // Can a deformation that reads a released value read it in its new shape?
  bool reads_directly(DUse u) const {
    const DNode m = d_.user(u);
    if (!perm.empty() || !d_.is(m, NodeClass::Deformation) || d_.slot(u) != 0 || !to_) return false;
    const DValue y = d_.out(m);
    if (!d_.shape(y)) return false;
    if (d_.shape(y) == to_) return !d_[y].live_out;
    return deform_form(d_.shapes(), to_, d_.shape(y)).kind != DeformForm::Kind::None &&
           type_can_move(d_, d_[y].dtype);
  }

  void read_directly(DNode deform, DValue fresh) {
    const DValue y = d_.out(deform);
    if (d_.shape(y) == to_) {
      d_.replace_uses(y, fresh);
    } else {
      const DValue in[] = {fresh}, out[] = {y};
      d_.new_node(NodeClass::Deformation, {}, in, out, deform);
    }
    d_.erase(deform);
  }

  Draft& d_;
  std::span<const DNode> cluster_;
  std::vector<DUse> outside_;  // of release()
  std::vector<std::pair<DNode, std::uint32_t>> within_;
  const ShapeId from_, to_;
  Refusal& why_;
  std::vector<std::pair<DValue, DValue>> full_;  // operands from outside, and what they became; few mostly
  static constexpr std::size_t kFew = 8;
  std::unordered_map<std::uint32_t, DValue> many_;
};

}  // namespace

void cluster_of(const Draft& d, DNode member, std::vector<DNode>& out) {
  const ShapeId shape = d.shape(d.out(member));
  out.assign(1, member);
  d.clear_marks();
  d.mark(member);
  const auto see = [&](DNode n) {
    if (!d.is(n, NodeClass::Elementwise) || d.shape(d.out(n)) != shape || d[n].region != d[member].region ||
        d[n].absorbed != d[member].absorbed || !d.mark(n))
      return;
    out.push_back(n);
  };
  for (std::size_t i = 0; i < out.size(); ++i) {
    const DNode n = out[i];
    for (std::uint32_t k = 0; k < d[n].real_in; ++k)
      if (const DValue v = d.in(n, k); v && d.def(v) && d.shape(v) == shape) see(d.def(v));
    for (DUse u = d.first_use(d.out(n)); u; u = d.next_use(u)) see(d.user(u));
  }
  std::ranges::sort(out, [&](DNode a, DNode b) { return d.before(a, b); });
}

namespace {

// What a rebase could do to the cost at best, from a look at the borders of the cluster, whose nodes are
// marked.
class Prospect {
 public:
  Prospect(const Draft& d, ShapeId to) : d_(d), to_(to) {}

  // False where as many deformations come as go and no elementwise node comes to stand beside a region. What
  // the cluster touches directly it is parted from; beside it comes what stands beyond the deformations at
  // its borders.
  bool good(std::span<const DNode> cluster) {
    free_ = !d_[cluster[0]].region;
    for (const DNode n : cluster) {
      if (d_[n].absorbed) return true;
      for (std::uint32_t k = 0; k < d_[n].real_in; ++k)
        if (const DValue v = d_.in(n, k); v && !d_.constant(v) && !inner(d_.def(v)))
          operand(v, d_.shape(d_.out(n)));
      result(d_.out(n));
      if (open_) return true;
    }
    return removed_ > added_ || (free_ && region_);
  }

 private:
  bool inner(DNode n) const { return n && d_.marked(n); }
  void see(DNode n) {
    if (!n) return;
    free_ |= d_.is(n, NodeClass::Elementwise) && !d_[n].region && !d_[n].absorbed;
    region_ |= d_[n].anchor || d_[n].region.valid();
  }
  // Calls for each user; gives up when there are many.
  template <class Look> void users(DValue v, Look look) {
    std::size_t seen = 0;
    for (DUse u = d_.first_use(v); u && !open_; u = d_.next_use(u)) {
      look(u);
      open_ |= ++seen > kSearchLimits.estimate_uses;
    }
  }
  bool deforms(DUse u) const {
    const DNode m = d_.user(u);
    return d_.is(m, NodeClass::Deformation) && d_.slot(u) == 0;
  }

  void operand(DValue v, ShapeId shape) {
    if (std::ranges::find(known_, v) != known_.end()) return;
    known_.push_back(v);
    open_ |= known_.size() > kSearchLimits.estimate_uses;
    const DNode q = d_.def(v);
    if (d_.is(q, NodeClass::Deformation)) {
      // It goes when the source has the shape asked for; a broadcast operand's may; else another comes for
      // it.
      const DValue source = d_.in(q, 0);
      removed_ += d_.shape(source) == to_ || d_.shape(v) != shape;
      const DNode p = d_.def(source);
      // Nodes could come to stand in an epilogue; of two deformations in a row both could go.
      open_ |= p && (d_[p].heavy || d_[p].absorbed || d_[p].node_class == NodeClass::Deformation);
      see(p);
      users(source, [&](DUse u) {
        open_ |= deforms(u) && d_.user(u) != q;  // could be read instead
        see(d_.user(u));
      });
    } else if (d_.shape(v) == shape) {
      bool other = false;
      users(v, [&](DUse u) { other |= deforms(u); });
      added_ += !other;
    }
  }

  void result(DValue y) {
    bool needed = d_[y].live_out;
    users(y, [&](DUse u) {
      const DNode m = d_.user(u);
      if (inner(m)) return;
      if (!deforms(u)) {
        needed = true;
        return;
      }
      removed_ += d_.shape(d_.out(m)) == to_;
      users(d_.out(m), [&](DUse w) { see(d_.user(w)); });
    });
    added_ += needed;
  }

  const Draft& d_;
  const ShapeId to_;
  std::vector<DValue> known_;
  std::size_t removed_ = 0, added_ = 0;  // at most, at least
  bool free_ = false, region_ = false;   // of what will stand together
  bool open_ = false;                    // cannot be said
};

}  // namespace

bool rebase_may_pay(const Draft& d, DNode border, std::span<const DNode> cluster, Direction direction) {
  const ShapeId to = d.shape(direction == Direction::Down ? d.in(border, 0) : d.out(border));
  if (d[border].node_class != NodeClass::Deformation || !to) return true;
  d.clear_marks();
  for (const DNode n : cluster) d.mark(n);
  return Prospect(d, to).good(cluster);
}

// Has the deformation an operand that says its target? (The second operand of a Squeeze says other things.)
static bool says_target(const Draft& d, DNode border) {
  if (d[border].real_in != 2) return false;
  return d[border].made || d.model().kind(d[border].origin) == OpKind::Reshape;
}

bool rebase(Draft& d, DNode border, std::span<const DNode> cluster, Direction direction, const MoveOptions& o,
            Refusal& why) {
  const ShapeId in_front = d.shape(d.in(border, 0)), behind = d.shape(d.out(border));
  if (!in_front || !behind) {
    why = Refusal::ShapeUnknown;
    return false;
  }
  const bool down = direction == Direction::Down;
  const bool turn = d[border].node_class == NodeClass::Transpose;
  for (const DNode n : cluster)
    if (!o.relaxed &&
        (!may_reshape(d, n, down ? in_front : behind, turn) || (turn && !position_free(d, n)))) {
      why = Refusal::Position;
      return false;
    }
  const DNode first = cluster.front();
  Rebase work(d, cluster, down ? behind : in_front, down ? in_front : behind, why);
  if (turn) {
    const auto perm = d.list(d[border].list);
    work.perm = down ? inverse_of(perm) : std::vector<std::int64_t>(perm.begin(), perm.end());
  } else if (says_target(d, border)) {
    // The shape operand of the border says the same again (form 6): behind the cluster, or in front of it
    // where it is computed before.
    const RuntimeTarget target{d.in(border, 1), d[border].origin};
    const DNode by = d.def(target.operand);
    if (down) work.target_out = target;
    else if (!by || d.before(by, first)) work.target_in = target;
  }
  return work.run();
}

}  // namespace graphopt
