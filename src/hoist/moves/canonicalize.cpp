// Problem: whether a move pays shows only after the clean-up that it makes possible. The passes of the
// pipeline work on the model, not on a draft.
// Method: a worklist of the nodes that the move touched. At each of them, these steps are tried:
//   - a deformation of a deformation reads the first one's operand, so that the first one may become dead;
//   - a deformation or Transpose that changes nothing is removed; that of a constant is computed;
//   - equal deformations, or equal Transposes, of one value become one;
//   - a Transpose of a Transpose becomes one; a Transpose that moves only dims of 1 becomes a deformation;
//   - a Concat of a Concat, and a Split of a Split, along one axis become one;
//   - a Concat and a Split that undo each other are removed, and so is a Concat of one operand;
//   - Slices that cover an axis without gap or overlap become a Split;
//   - dead nodes are removed.
// Exact: no step computes, and no step changes the position of an element in a result.
// Lowers, or keeps, the cost.
// Ends: each step removes a node, shortens a chain of deformations, or turns a Transpose into a deformation.
//
//   r = Reshape (x, s)                  y = Reshape (x, t)
//   y = Reshape (r, t)          =>
#include "hoist/moves/canonicalize.h"

#include <algorithm>

#include "draft/data_movement.h"
#include "ops/compose.h"

namespace graphopt {
namespace {

class Canonicalizer {
 public:
  explicit Canonicalizer(Draft& d) : d_(d) {}

  bool step(DNode n) {
    if (d_[n].shape_only) return false;
    if (dead(n)) {
      d_.erase(n);
      return true;
    }
    switch (d_[n].node_class) {
      case NodeClass::Deformation: return deform(n);
      case NodeClass::Transpose: return transpose(n);
      case NodeClass::Concat: return concat(n);
      case NodeClass::Split: return split(n);
      case NodeClass::Slice: return slice(n);
      default: return false;
    }
  }

 private:
  bool dead(DNode n) const {
    if (d_[n].node_class == NodeClass::Other && !d_[n].anchor) return false;  // not known to be pure
    for (const DValue v : d_.outs(n))
      if (v && (d_[v].live_out || d_[v].use_count > 0)) return false;
    return true;
  }

  bool drop(DNode n, DValue source) { return drop_node(d_, n, source); }

  // Replaces n by a deformation of `from` with the same result.
  void put_deform(DNode n, DValue from) {
    const DValue in[] = {from}, out[] = {d_.out(n)};
    d_.new_node(NodeClass::Deformation, {}, in, out, n);
    d_.erase(n);
  }

  bool deform(DNode n) {
    const DValue x = d_.in(n, 0), y = d_.out(n);
    const ShapeId s = d_.shape(x), t = d_.shape(y);
    if (!s || !t) return false;
    if (d_.constant(x) && !d_[y].live_out && d_.shapes().numbers(t)) {
      d_.replace_uses(y, reshaped_constant(d_, x, t));
      d_.erase(n);
      return true;
    }
    if (s == t) return drop(n, x);
    // Reads the root of a chain of deformations instead; those in between may become dead.
    DValue root = x;
    for (DNode q = d_.def(root); q && d_[q].node_class == NodeClass::Deformation && !d_[q].shape_only;
         q = d_.def(root)) {
      if (!d_.shape(d_.in(q, 0)) || d_.constant(d_.in(q, 0))) break;
      root = d_.in(q, 0);
      if (d_.shape(root) == t) return drop(n, root);
    }
    if (root != x && type_can_move(d_, d_[x].dtype) &&
        deform_form(d_.shapes(), d_.shape(root), t).kind != DeformForm::Kind::None) {
      put_deform(n, root);
      return true;
    }
    return merge_duplicate(n);
  }

  // Merges n with another deformation or Transpose of the same value with the same result. The earlier one
  // stays, or the one whose result is live_out.
  bool merge_duplicate(DNode n) {
    const DValue x = d_.in(n, 0), y = d_.out(n);
    std::uint32_t visited = 0;
    for (DUse u = d_.first_use(x); u; u = d_.next_use(u)) {
      if (visited++ == kSearchLimits.duplicate_uses) {
        d_.hit_limit(SearchLimit::DuplicateUses);
        break;
      }
      const DNode m = d_.user(u);
      if (m == n || d_.slot(u) != 0 || d_[m].node_class != d_[n].node_class || d_[m].shape_only ||
          d_.shape(d_.out(m)) != d_.shape(y))
        continue;
      if (d_[n].node_class == NodeClass::Transpose && d_[m].list != d_[n].list) continue;
      DNode stays = d_.before(m, n) ? m : n, goes = stays == m ? n : m;
      if (d_[d_.out(goes)].live_out) {
        std::swap(stays, goes);
        if (d_[d_.out(goes)].live_out || !operands_before(stays, goes)) continue;
        d_.move_before(stays, goes);
      }
      d_.replace_uses(d_.out(goes), d_.out(stays));
      d_.erase(goes);
      return true;
    }
    return false;
  }

  bool operands_before(DNode n, DNode position) const {
    for (std::uint32_t k = 0; k < d_[n].in_count; ++k)
      if (const DNode p = d_.in(n, k) ? d_.def(d_.in(n, k)) : DNode{}; p && !d_.before(p, position))
        return false;
    return true;
  }

  bool transpose(DNode n) {
    const DValue x = d_.in(n, 0), y = d_.out(n);
    const ShapeId s = d_.shape(x), t = d_.shape(y);
    const std::vector<std::int64_t> perm(d_.list(d_[n].list).begin(), d_.list(d_[n].list).end());
    if (d_.constant(x) && !d_[y].live_out) {
      if (const DValue c = transposed_constant(d_, x, perm)) {
        d_.replace_uses(y, c);
        d_.erase(n);
        return true;
      }
    }
    if (std::ranges::is_sorted(perm)) return drop(n, x);
    const auto is_one = [&](std::int64_t axis) {
      return d_.shapes().is_one(d_.shapes().dims(s)[static_cast<std::size_t>(axis)]);
    };
    if (keeps_order(perm, is_one) && type_can_move(d_, d_[x].dtype)) {
      if (s == t) return drop(n, x);
      if (deform_form(d_.shapes(), s, t).kind != DeformForm::Kind::None) {
        put_deform(n, x);
        return true;
      }
    }
    const DNode q = d_.def(x);
    if (q && d_[q].node_class == NodeClass::Transpose && !d_[q].shape_only && d_.single_use(x)) {
      const ListId list = d_.intern_list(composed_perm(d_.list(d_[q].list), perm));
      d_.set_in(n, 0, d_.in(q, 0));
      d_.set_list(n, list);
      d_.erase(q);
      return true;
    }
    return merge_duplicate(n);
  }

  bool joins(DNode n, DNode q, NodeClass node_class) const {
    return q && d_[q].node_class == node_class && !d_[q].shape_only && d_[q].axis == d_[n].axis;
  }

  bool concat(DNode n) {
    if (d_[n].in_count == 1) return drop(n, d_.in(n, 0));
    if (d_[n].in_count <= kSearchLimits.spliced_operands && splice_operands(n)) return true;
    // A long Concat is not searched each time that one of its operands changes: the inner Concat finds the
    // outermost one, which splices all operands.
    DNode outer;
    for (DNode m = n, user;
         (user = d_.single_user(d_.out(m))) && joins(m, user, NodeClass::Concat) && d_[user].in_count > 1;
         m = user)
      outer = user;
    if (outer) return splice_operands(outer);
    // A Concat of all results of a Split, in order.
    const DNode q = d_.def(d_.in(n, 0));
    if (!joins(n, q, NodeClass::Split) || d_[q].out_count != d_[n].in_count) return false;
    for (std::uint32_t k = 0; k < d_[n].in_count; ++k)
      if (d_.in(n, k) != d_.out(q, k) || !d_.single_use(d_.out(q, k))) return false;
    const DValue source = d_.in(q, 0);
    return drop(n, source);
  }

  bool splice_operands(DNode n) {
    std::vector<DValue> flat, inner;
    std::vector<DNode> gone;
    const auto operands = [&](DValue v) -> std::span<const DValue> {
      const DNode q = d_.def(v);
      if (!d_.single_use(v) || !joins(n, q, NodeClass::Concat)) return {};
      gone.push_back(q);
      inner = d_.ins(q);
      return inner;
    };
    if (!splice(std::span<const DValue>(d_.ins(n)), operands, flat)) return false;
    d_.set_ins(n, flat);
    for (const DNode q : gone) d_.erase(q);
    return true;
  }

  std::optional<std::int64_t> extent(DValue v, std::uint32_t axis) const {
    const ShapeId s = v ? d_.shape(v) : ShapeId{};
    return s ? d_.shapes().number(d_.shapes().dims(s)[axis]) : std::nullopt;
  }
  bool static_results(DNode n) const {
    return std::ranges::all_of(d_.outs(n), [&](DValue v) { return extent(v, d_[n].axis).has_value(); });
  }

  bool split(DNode n) {
    const DValue x = d_.in(n, 0);
    const DNode q = d_.def(x);
    if (d_[n].out_count == 1 && d_.shape(x) == d_.shape(d_.out(n))) return drop(n, x);
    if (joins(n, q, NodeClass::Concat) && d_.single_use(x) && d_[q].in_count == d_[n].out_count) {
      bool same = true;
      for (std::uint32_t k = 0; k < d_[n].out_count && same; ++k) {
        const DValue result = d_.out(n, k), operand = d_.in(q, k);
        same = result && !d_[result].live_out && d_.shape(result) && d_.shape(result) == d_.shape(operand);
      }
      if (same) {
        for (std::uint32_t k = 0; k < d_[n].out_count; ++k) d_.replace_uses(d_.out(n, k), d_.in(q, k));
        d_.erase(n);
        return true;
      }
    }
    if (q && joins(n, q, NodeClass::Split) && d_.single_use(x) && static_results(q) && static_results(n))
      return false;  // the outer Split splices all
    if (!static_results(n) || !type_can_move(d_, d_[x].dtype)) return false;
    std::vector<DValue> flat;
    std::vector<DNode> gone;
    const auto results = [&](DValue v) -> std::span<const DValue> {
      const DNode m = d_.single_user(v);
      if (!joins(n, m, NodeClass::Split) || !static_results(m)) return {};
      gone.push_back(m);
      return d_.outs(m);
    };
    if (!splice(d_.outs(n), results, flat)) return false;
    d_.set_outs(n, flat);
    const DValue in[] = {x};
    d_.set_ins(n, in);
    set_lengths(d_, n);
    for (const DNode m : gone) d_.erase(m);
    return true;
  }

  // Slices of one value that cover an axis without gap or overlap become a Split.
  bool slice(DNode n) {
    const DValue x = d_.in(n, 0);
    const std::uint32_t axis = d_[n].axis;
    if (!type_can_move(d_, d_[x].dtype)) return false;
    Slices<DNode> slices;
    for (DUse u = d_.first_use(x); u; u = d_.next_use(u)) {
      const DNode m = d_.user(u);
      if (d_[m].node_class != NodeClass::Slice || d_[m].shape_only || d_[m].axis != axis) continue;
      if (slices.empty() && m != n) return false;  // the step is taken at the first of the Slices
      const std::int64_t length = *extent(d_.out(m), axis);
      if (length < 1) continue;
      slices[{d_[m].begin, d_[m].begin + length}].push_back(m);
    }
    if (!tiles(slices, *extent(x, axis))) return false;
    for (const auto& [bounds, nodes] : slices)
      for (const DNode m : nodes)
        if (m != nodes[0] && d_[d_.out(m)].live_out) return false;
    std::vector<DValue> outs;
    std::vector<DNode> all;
    DNode first = n;
    for (const auto& [bounds, nodes] : slices) {
      outs.push_back(d_.out(nodes[0]));
      for (const DNode m : nodes) {
        if (m != nodes[0]) d_.replace_uses(d_.out(m), outs.back());
        if (d_.before(m, first)) first = m;
        all.push_back(m);
      }
    }
    const DValue in[] = {x};
    const DNode made = d_.new_node(NodeClass::Split, {}, in, outs, first);
    d_.set_axis(made, axis);
    set_lengths(d_, made);
    for (const DNode m : all) d_.erase(m);
    return true;
  }

  Draft& d_;
};

}  // namespace

bool drop_node(Draft& d, DNode n, DValue source) {
  const DValue y = d.out(n);
  if (!d[y].live_out) {
    d.replace_uses(y, source);
    d.erase(n);
    return true;
  }
  // The result's name belongs to the interface, so the producer of `source` has to define the result instead.
  const DNode p = d.def(source);
  if (!p || d[source].live_out || d.constant(source)) return false;  // a Constant node has a producer, too
  std::vector<DValue> outs(d.outs(p).begin(), d.outs(p).end());
  outs[d[source].slot] = y;
  d.erase(n);
  d.replace_uses(source, y);
  d.set_outs(p, outs);
  return true;
}

// Each step touches the nodes that it changes and their neighbours; these are tried in turn. A step may also
// depend on nodes further away, so finally all touched nodes are tried again, until no step fits.
void canonicalize(Draft& d) {
  Canonicalizer work(d);
  const auto settle = [&](DNode n) {
    bool changed = false;
    while (d[n].alive && work.step(n)) changed = true;
    return changed;
  };
  for (bool changed = true; changed;) {
    changed = false;
    while (const DNode n = d.next_pending()) settle(n);
    for (std::size_t i = 0; i < d.touched().size(); ++i)
      if (settle(d.touched()[i])) {
        changed = true;
        while (const DNode n = d.next_pending()) settle(n);
      }
  }
}

}  // namespace graphopt
