// Problem: a deformation between an anchor and elementwise nodes keeps them out of the anchor's region.
// Method: the whole cluster of elementwise nodes of one shape takes the shape of the other side of the
// deformation (the *boundary*). Operands of the full shape from outside the cluster get the inverse
// deformation, broadcast operands are mapped (mapped_operand), values read outside the cluster get the
// deformation. Deformations that meet their inverse cancel; only then the cost falls. With a Transpose as
// boundary the same is done with its perm; broadcast operands must be constants then.
// Exact: past a deformation the same kernel reads the same buffer. A Transpose moves elements, so operators
// whose bits depend on an element's position are refused below -O3 (docs/hoisting.md, "Exactness").
// Lowers C' where nodes become absorbed, F where they join a region, D where deformations cancel.
// Ends: each node of the cluster is changed once.
//
//   n = MatMul (x, w)                    n = MatMul (x, w)
//   r = Reshape (n, s)         =>        e = Relu (n)
//   y = Relu (r)                         y = Reshape (e, s)
#include <algorithm>
#include <unordered_map>

#include "draft/data_movement.h"
#include "hoist/moves/conditions.h"
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
  Rebase(Draft& d, std::span<const DNode> cluster, ShapeId from, ShapeId to, MoveRefusal& why)
      : d_(d), cluster_(cluster), from_(from), to_(to), why_(why) {
    d.clear_marks();
    for (const DNode n : cluster_) d.mark(n);
  }

  // The new shape's dims are the old one's in this order; empty if the boundary is a deformation.
  std::vector<std::int64_t> perm;
  // Shape operands of the model for new Reshapes: of operands, to the shape `to`; of results, to `from`.
  RuntimeTarget target_for_operands, target_for_results;

  bool run() {
    for (const DNode n : cluster_)
      if (d_[n].per_axis && !map_quantization_axis(n)) return false;
    std::vector<DValue> operands;  // of one node after the other
    for (const DNode n : cluster_) {
      const std::size_t first = operands.size();
      for (std::uint32_t k = 0; k < d_[n].in_count; ++k) {
        DValue v = d_.in(n, k);
        const bool fixed = operand_kind(d_.model(), d_[n].origin, k) == Operand::Fixed;
        if (v && fixed && in_cluster(v)) {  // a bound or scale computed in the cluster must keep its rank
          why_ = MoveRefusal::Operand;
          return false;
        }
        if (v && !fixed && !in_cluster(v)) {
          v = d_.shape(v) == from_ ? full_operand(v, n) : broadcast_operand(v, n);
          if (!v) return false;
        }
        operands.push_back(v);
      }
      if (!covers_new_shape(n, std::span(operands).subspan(first))) {
        why_ = MoveRefusal::Operand;
        return false;
      }
    }
    std::size_t next = 0;
    for (const DNode n : cluster_)
      for (std::uint32_t k = 0; k < d_[n].in_count; ++k) d_.set_in(n, k, operands[next++]);
    for (const DNode n : cluster_)
      if (!restore_outside(n)) return false;
    return true;
  }

 private:
  bool in_cluster(DValue v) const { return d_.def(v) && d_.marked(d_.def(v)); }

  DValue transposed(DValue v, std::span<const std::int64_t> p, ShapeId shape, DNode before) {
    const DValue in[] = {v}, out[] = {d_.new_value(shape, d_[v].dtype)};
    const DNode t = d_.new_node(NodeClass::Transpose, {}, in, out, before);
    d_.set_list(t, d_.intern_list({p.begin(), p.end()}));
    return out[0];
  }

  // Returns whether the operands still broadcast to the whole new shape. Where none has the full shape, rank
  // and extents of the result come from several operands.
  bool covers_new_shape(DNode n, std::span<const DValue> operands) const {
    for (std::uint32_t k = 0; k < operands.size(); ++k)
      if (operands[k] && (in_cluster(operands[k]) || d_.shape(operands[k]) == to_) &&
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

  // Maps the axis of a per-axis quantization to the new shape. Returns false if the axis is not a dim of its
  // own there: the scales must stay a vector.
  bool map_quantization_axis(DNode n) {
    const std::uint32_t axis = d_[n].axis;
    if (!perm.empty()) {
      d_.set_axis(n, static_cast<std::uint32_t>(std::ranges::find(perm, static_cast<std::int64_t>(axis)) -
                                                perm.begin()));
      return true;
    }
    const ShapeTable& shapes = d_.shapes();
    const std::vector<DimId> a(shapes.dims(from_).begin(), shapes.dims(from_).end()),
        b(shapes.dims(to_).begin(), shapes.dims(to_).end());
    why_ = MoveRefusal::AxisCut;
    for (const DimGroup& g : dim_groups(d_.shapes(), a, b)) {
      if (axis < g.a_begin || axis >= g.a_end) continue;
      for (std::uint32_t k = g.a_begin; k < g.a_end; ++k)
        if (k != axis && !shapes.is_one(a[k])) return false;
      // The axis has the group's whole product: if a dim of the other side has its extent, the rest is 1.
      for (std::uint32_t k = g.b_begin; k < g.b_end; ++k)
        if (b[k] == a[axis] && !shapes.is_one(b[k])) {
          d_.set_axis(n, k);
          return true;
        }
    }
    return false;
  }

  // The value that takes the place of an operand of full shape from outside the cluster; made once per value.
  DValue full_operand(DValue v, DNode reader) {
    if (full_.size() <= kFew) {
      const auto it = std::ranges::find(full_, v, &std::pair<DValue, DValue>::first);
      if (it != full_.end()) return it->second;
    } else if (const auto it = many_.find(v.index()); it != many_.end()) {
      return it->second;
    }
    DValue z;
    if (perm.empty()) {
      z = deformed(d_, v, to_, reader, target_for_operands, why_);
    } else if (d_.constant(v)) {
      z = transposed_constant(d_, v, perm);
      if (!z) why_ = constant_refusal(d_);
    } else if (type_can_move(d_, d_[v].dtype)) {
      z = transposed(v, perm, to_, reader);
    } else {
      why_ = MoveRefusal::Type;
    }
    full_.emplace_back(v, z);
    if (full_.size() == kFew + 1)
      for (const auto& [from, to] : full_) many_.emplace(from.index(), to);
    if (full_.size() > kFew) many_.emplace(v.index(), z);
    return z;
  }

  DValue broadcast_operand(DValue v, DNode reader) {
    if (perm.empty()) return mapped_operand(d_, v, from_, to_, may_expand(d_, reader), reader, why_);
    const ShapeId q = d_.shape(v);
    if (!q) {
      why_ = MoveRefusal::ShapeUnknown;
      return {};
    }
    if (d_.shapes().all_ones(q)) return d_.shapes().rank(q) <= perm.size() ? v : DValue{};
    why_ = MoveRefusal::Operand;
    auto dims = d_.constant(v) ? d_.shapes().numbers(q) : std::nullopt;
    if (!dims || dims->size() > perm.size()) return {};
    dims->insert(dims->begin(), perm.size() - dims->size(), 1);
    const DValue wide = reshaped_constant(d_, v, d_.shapes().intern(std::span<const std::int64_t>(*dims)));
    const DValue transposed_value = transposed_constant(d_, wide, perm);
    if (!transposed_value) {
      why_ = constant_refusal(d_);
      return {};
    }
    const auto now = *d_.shapes().numbers(d_.shape(transposed_value));
    std::size_t ones = 0;
    while (now[ones] == 1) ++ones;
    return reshaped_constant(d_, transposed_value,
                             d_.shapes().intern(std::span<const std::int64_t>(now).subspan(ones)));
  }

  // Gives readers outside the cluster the old shape of n's result again. A value whose shape changes gets a
  // new name. Returns false, and sets `why_`, if no deformation can be written.
  bool restore_outside(DNode n) {
    const DValue old = d_.out(n);
    std::vector<DUse>& outside = outside_;
    std::vector<std::pair<DNode, std::uint32_t>>& within = within_;
    outside.clear();
    within.clear();
    for (DUse u = d_.first_use(old); u; u = d_.next_use(u)) {
      if (d_.marked(d_.user(u))) within.emplace_back(d_.user(u), d_.slot(u));
      else outside.push_back(u);
    }
    // Deformations of the result read the new value directly, where their target can be written.
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
      why_ = MoveRefusal::Type;
      return false;
    }
    const DValue in[] = {fresh}, out[] = {old};
    if (!perm.empty()) {
      const DNode t = d_.new_node(NodeClass::Transpose, {}, in, out, d_[n].next);
      d_.set_list(t, d_.intern_list(inverse_of(perm)));
      return true;
    }
    const bool again = target_for_results.operand && d_.in_function;
    if (!again && from_ && to_ && deform_form(d_.shapes(), to_, from_).kind != DeformForm::Kind::None) {
      d_.new_node(NodeClass::Deformation, {}, in, out, d_[n].next);
      return true;
    }
    if (target_for_results.operand) {
      const DValue with_target[] = {fresh, target_for_results.operand};
      d_.new_node(NodeClass::Deformation, target_for_results.reshape, with_target, out, d_[n].next);
      return true;
    }
    why_ = MoveRefusal::NotWritable;
    return false;
  }

  // Returns whether the use is a deformation that can read the value in its new shape.
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
  std::vector<DUse> outside_;  // of restore_outside()
  std::vector<std::pair<DNode, std::uint32_t>> within_;
  const ShapeId from_, to_;
  MoveRefusal& why_;
  std::vector<std::pair<DValue, DValue>> full_;  // operands from outside, and what replaced them; mostly few
  static constexpr std::size_t kFew = 8;
  std::unordered_map<std::uint32_t, DValue> many_;
};

}  // namespace

void cluster_of(const Draft& d, DNode member, std::vector<DNode>& out) {
  const ShapeId shape = d.shape(d.out(member));
  out.assign(1, member);
  d.clear_marks();
  d.mark(member);
  const auto note = [&](DNode n) {
    if (!d.is(n, NodeClass::Elementwise) || d.shape(d.out(n)) != shape || d[n].region != d[member].region ||
        d[n].absorbed != d[member].absorbed || !d.mark(n))
      return;
    out.push_back(n);
  };
  for (std::size_t i = 0; i < out.size(); ++i) {
    const DNode n = out[i];
    for (std::uint32_t k = 0; k < d[n].real_in; ++k)
      if (const DValue v = d.in(n, k); v && d.def(v) && d.shape(v) == shape) note(d.def(v));
    for (DUse u = d.first_use(d.out(n)); u; u = d.next_use(u)) note(d.user(u));
  }
  std::ranges::sort(out, [&](DNode a, DNode b) { return d.before(a, b); });
}

namespace {

// Estimates the best that a rebase can do to the cost, from the nodes around the cluster. The nodes of the
// cluster are marked.
class RebaseEstimate {
 public:
  RebaseEstimate(const Draft& d, ShapeId to) : d_(d), to_(to) {}

  // Returns false if the rebase adds at least as many deformations as it removes, and brings no elementwise
  // node that is in no region next to a region. (It separates the cluster from its direct neighbours, and
  // brings it next to the nodes on the other side of the deformations around it.)
  bool may_pay(std::span<const DNode> cluster) {
    free_ = !d_[cluster[0]].region;
    for (const DNode n : cluster) {
      if (d_[n].absorbed) return true;
      for (std::uint32_t k = 0; k < d_[n].real_in; ++k)
        if (const DValue v = d_.in(n, k); v && !d_.constant(v) && !in_cluster(d_.def(v)))
          operand(v, d_.shape(d_.out(n)));
      result(d_.out(n));
      if (undecided_) return true;
    }
    return removed_ > added_ || (free_ && region_);
  }

 private:
  bool in_cluster(DNode n) const { return n && d_.marked(n); }
  void note(DNode n) {
    if (!n) return;
    free_ |= d_.is(n, NodeClass::Elementwise) && !d_[n].region && !d_[n].absorbed;
    region_ |= d_[n].anchor || d_[n].region.valid();
  }
  // Calls `visit` for each use; stops, undecided, after SearchLimits::estimate_uses of them.
  template <class Visit> void users(DValue v, Visit visit) {
    std::size_t seen = 0;
    for (DUse u = d_.first_use(v); u && !undecided_; u = d_.next_use(u)) {
      visit(u);
      undecided_ |= ++seen > kSearchLimits.estimate_uses;
    }
  }
  bool is_deformation_use(DUse u) const {
    const DNode m = d_.user(u);
    return d_.is(m, NodeClass::Deformation) && d_.slot(u) == 0;
  }

  void operand(DValue v, ShapeId shape) {
    if (std::ranges::find(known_, v) != known_.end()) return;
    known_.push_back(v);
    undecided_ |= known_.size() > kSearchLimits.estimate_uses;
    const DNode q = d_.def(v);
    if (d_.is(q, NodeClass::Deformation)) {
      // The deformation goes if its source has the new shape; one of a broadcast operand may go; any other is
      // replaced by another one.
      const DValue source = d_.in(q, 0);
      removed_ += d_.shape(source) == to_ || d_.shape(v) != shape;
      const DNode p = d_.def(source);
      // Nodes may become absorbed in an epilogue; of two deformations in a row both may go.
      undecided_ |= p && (d_[p].heavy || d_[p].absorbed || d_[p].node_class == NodeClass::Deformation);
      note(p);
      users(source, [&](DUse u) {
        undecided_ |= is_deformation_use(u) && d_.user(u) != q;  // may have the new shape already
        note(d_.user(u));
      });
    } else if (d_.shape(v) == shape) {
      bool other = false;
      users(v, [&](DUse u) { other |= is_deformation_use(u); });
      added_ += !other;
    }
  }

  void result(DValue y) {
    bool needed = d_[y].live_out;
    users(y, [&](DUse u) {
      const DNode m = d_.user(u);
      if (in_cluster(m)) return;
      if (!is_deformation_use(u)) {
        needed = true;
        return;
      }
      removed_ += d_.shape(d_.out(m)) == to_;
      users(d_.out(m), [&](DUse w) { note(d_.user(w)); });
    });
    added_ += needed;
  }

  const Draft& d_;
  const ShapeId to_;
  std::vector<DValue> known_;
  std::size_t removed_ = 0, added_ = 0;  // deformations; at most, at least
  bool free_ = false, region_ = false;  // the nodes that become neighbours: one in no region, one in a region
  bool undecided_ = false;              // the nodes that were visited do not tell: try the move
};

}  // namespace

bool rebase_may_pay(const Draft& d, DNode boundary, std::span<const DNode> cluster, Direction direction) {
  const ShapeId to = d.shape(direction == Direction::Down ? d.in(boundary, 0) : d.out(boundary));
  if (d[boundary].node_class != NodeClass::Deformation || !to) return true;
  d.clear_marks();
  for (const DNode n : cluster) d.mark(n);
  return RebaseEstimate(d, to).may_pay(cluster);
}

// Returns whether the deformation has a shape operand, which states its whole target. (The second operand of
// a Squeeze holds axes.)
static bool has_target_operand(const Draft& d, DNode boundary) {
  if (d[boundary].real_in != 2) return false;
  return d[boundary].made || d.model().kind(d[boundary].origin) == OpKind::Reshape;
}

bool rebase(Draft& d, DNode boundary, std::span<const DNode> cluster, Direction direction,
            const MoveOptions& o, MoveRefusal& why) {
  const ShapeId upstream = d.shape(d.in(boundary, 0)), downstream = d.shape(d.out(boundary));
  if (!upstream || !downstream) {
    why = MoveRefusal::ShapeUnknown;
    return false;
  }
  const bool down = direction == Direction::Down;
  const bool is_transpose = d[boundary].node_class == NodeClass::Transpose;
  for (const DNode n : cluster)
    if (!may_move(d, n, down ? upstream : downstream, is_transpose, o.strictness)) {
      why = MoveRefusal::Position;
      return false;
    }
  const DNode first = cluster.front();
  Rebase work(d, cluster, down ? downstream : upstream, down ? upstream : downstream, why);
  if (is_transpose) {
    const auto perm = d.list(d[boundary].list);
    work.perm = down ? inverse_of(perm) : std::vector<std::int64_t>(perm.begin(), perm.end());
  } else if (has_target_operand(d, boundary)) {
    // The shape operand of the boundary can serve again: downstream of the cluster, or upstream of it if it
    // is computed before the cluster (docs/hoisting.md, "New deformations").
    const RuntimeTarget target{d.in(boundary, 1), d[boundary].origin};
    const DNode by = d.def(target.operand);
    if (down) work.target_for_results = target;
    else if (!by || d.before(by, first)) work.target_for_operands = target;
  }
  return work.run();
}

}  // namespace graphopt
