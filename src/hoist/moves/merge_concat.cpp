// Problem: the same elementwise operators stand on every branch of a Concat: n launches each where one is
// enough.
// Method: a lockstep walk goes upstream from the Concat's operands over all branches at once. A step of the
// walk is a *row of values*, one per branch; single-use deformations are skipped. A row matches if equal
// operators produce all its values. Full operands lead to further rows, others must be common
// (merge_operands.h). Rows form a graph, since x * sigmoid(x) reaches x twice. A row that does not match
// is a *leaf*. A row is merged if all rows upstream of it end in one leaf row: with two, a second
// Concat would move more bytes than is saved. A leaf of all parts of one Split, in order, needs no Concat:
// the merged node reads what the Split does. Any number of these may stand beside the one other leaf, or
// alone.
//   a, b = Split <axis = 1> (x, n)
//   p = Add (a, u)
//   q = Add (b, v)                          c = Concat <axis = 1> (u, v)
//   y = Concat <axis = 1> (p, q)      =>    y = Add (x, c)
// If the one leaf row is one value n times and the branches differ in their constants, no Concat is needed:
// the value broadcasts against the constants, which are stacked along an axis of extent n before the Concat's
// axis, and a Reshape merges the two axes. This computes and writes as many elements as the branches do. If
// nothing differs, it would be the same work n times: refused.
//   a = Mul (x, k)
//   b = Mul (x, l)                          m = Mul (x, kl)
//   y = Concat <axis = 0> (a, b)      =>    y = Reshape (m, shape)
// Exact: every element is computed by the same operator from the same operand elements. Its position changes,
// so operators whose kernels depend on that are refused (docs/hoisting.md, "Exactness").
// Lowers C' by n - 1 per merged row.
// Ends: the walk expands each row once.
//
//   a = Sqrt (x)                            c = Concat <axis = 0> (x, z)
//   b = Sqrt (z)                            y = Sqrt (c)
//   y = Concat <axis = 0> (a, b)      =>
#include <algorithm>

#include "draft/data_movement.h"
#include "hoist/moves/conditions.h"
#include "hoist/moves/merge_operands.h"
#include "support/hash_chains.h"
#include "support/intern_index.h"

namespace graphopt {
namespace {

// One operand position of a row: a further row upstream, or one value for all branches.
struct Child {
  enum class Kind : std::uint8_t { Row, Value } kind = Kind::Value;
  std::size_t row = 0;
  DValue value;               // none: absent
  std::vector<DValue> parts;  // the branches' constants; `value` is these joined along the axis
};

// One step of the walk: a value per branch and the nodes that produce them.
struct ValueRow {
  std::vector<DValue> values;
  std::vector<DNode> nodes;  // none for a constant branch
  std::vector<Child> children;
  bool matches = false;  // else it is a leaf
  // Why its constants cannot be joined but only be stacked; None if they can be joined.
  MoveRefusal stack_only = MoveRefusal::None;
  // The one leaf row upstream of it that needs a Concat; a leaf is its own. kWhole: all leaves are the parts
  // of Splits.
  std::size_t leaf = 0;
  bool of_parts = false;  // one leaf at least is the parts of a Split
  DValue made;
};
constexpr std::size_t kWhole = ~std::size_t{0};

template <class T> bool all_equal(const std::vector<T>& list) {
  return std::ranges::adjacent_find(list, std::not_equal_to{}) == list.end();
}

class LockstepWalk {
 public:
  LockstepWalk(Draft& d, DNode concat, const MoveOptions& o)
      : d_(d), concat_(concat), options_(o), axis_(d[concat].axis) {
    operands_ = d.ins(concat);
    for (const DValue v : operands_) shapes_.push_back(d.shape(v));
  }

  bool run(MoveRefusal& why) {
    row_of(operands_);
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      MoveRefusal below = MoveRefusal::None;
      expand(i, i == 0 ? why : below);
    }
    order_rows();
    find_leaves();
    while (rows_[0].matches) {
      const bool stacks = rows_[0].leaf != kWhole && one_value(rows_[rows_[0].leaf]);
      why = MoveRefusal::MultiUse;
      if (!cut_at_outside_uses() && (stacks || !cut_at_stacks(why)))
        return stacks ? build_stack(rows_[rows_[0].leaf].values[0], why) : build(why);
      find_leaves();
    }
    if (why_ != MoveRefusal::None) why = why_;
    if (why == MoveRefusal::None) why = MoveRefusal::TwoOperands;
    return false;
  }

 private:
  // Returns the source of the single-use deformations that produce v, or v.
  DValue skip_deformations(DValue v) {
    while (true) {
      const DNode q = d_.def(v);
      if (!q || d_[q].node_class != NodeClass::Deformation || !d_.single_use(v) || !d_.shape(d_.in(q, 0)) ||
          d_.constant(d_.in(q, 0)))
        return v;
      skipped_.push_back(q);
      v = d_.in(q, 0);
    }
  }

  std::size_t row_of(std::vector<DValue> values) {
    for (DValue& v : values) v = skip_deformations(v);
    std::uint64_t hash = 0;
    for (const DValue v : values) hash = mix_hash(hash, v.index());
    const auto add = [&] {
      rows_.emplace_back();
      rows_.back().values = std::move(values);
      return static_cast<std::uint32_t>(rows_.size() - 1);
    };
    return index_.find_or_add(hash, [&](std::uint32_t id) { return rows_[id].values == values; }, add);
  }

  bool match(ValueRow& row, MoveRefusal& why) {
    std::vector<DNode> real;
    for (const DValue v : row.values) {
      const DNode n = d_.constant(v) ? DNode{} : d_.def(v);
      row.nodes.push_back(n);
      if (!d_.constant(v) && (!n || d_[n].node_class != NodeClass::Elementwise || d_[v].live_out)) {
        why = n && d_[n].node_class == NodeClass::Elementwise ? live_out_reason(d_, v)
                                                              : not_elementwise_reason(d_, n);
        return false;
      }
      if (n) real.push_back(n);
      else if (real.empty() && row.nodes.size() > 1) {  // the first two branches are constants
        why = MoveRefusal::Operand;
        return false;
      }
    }
    if (real.size() >= 2 && d_[real[0]].per_axis)
      for (std::size_t i = 0; i < row.values.size(); ++i)
        if (!row.nodes[i] || d_.shape(row.values[i]) != shapes_[i] || d_[row.nodes[i]].axis == axis_) {
          why = MoveRefusal::AxisCut;
          return false;
        }
    if (real.size() < 2 || !same_elementwise(d_, real, d_.shape(d_.out(concat_)), options_, why))
      return false;
    // A constant branch takes part if the operator returns its elements unchanged.
    if (real.size() < row.values.size())
      for (std::size_t i = 0; i < row.values.size(); ++i)
        if (!row.nodes[i] && !returns_unchanged(d_, d_[real[0]].origin, d_[row.values[i]].tensor)) {
          why = MoveRefusal::Operand;
          return false;
        }
    return true;
  }

  void expand(std::size_t at, MoveRefusal& why) {
    ValueRow row = std::move(rows_[at]);
    row.matches = match(row, why);
    const DNode first =
        row.matches ? *std::ranges::find_if(row.nodes, [](DNode n) { return n.valid(); }) : DNode{};
    for (std::uint32_t k = 0; row.matches && k < d_[first].in_count; ++k) {
      Child c;
      std::vector<DValue> operands;
      bool full = true, all_constant = true, all_nodes = true;
      for (std::size_t i = 0; i < row.values.size(); ++i) {
        const DNode n = row.nodes[i];
        all_nodes &= n.valid();
        operands.push_back(n ? paired_operand(d_, first, n, k) : row.values[i]);
        if (!operands.back()) continue;
        full &= d_.shape(operands.back()) && d_.shape(operands.back()) == d_.shape(row.values[i]);
        all_constant &= d_.constant(operands.back());
      }
      if (!operands[0]) {
        row.children.push_back(c);
        continue;
      }
      // A fixed operand has the full shape if the branches are scalars, but must not become a row.
      if (full && !all_constant && operand_kind(d_.model(), d_[first].origin, k) != Operand::Fixed) {
        c.kind = Child::Kind::Row;
        rows_[at].values = row.values;  // so that row_of() finds this row again
        c.row = row_of(std::move(operands));
      } else {
        if (all_nodes) {
          std::vector<Branch> branches;
          for (std::size_t i = 0; i < operands.size(); ++i)
            branches.push_back({row.nodes[i], operands[i], d_.shape(row.values[i]), shapes_[i]});
          const bool shapes_known =
              std::ranges::all_of(branches, [](const Branch& b) { return b.from && b.to; });
          if (shapes_known) c.value = common_operand(d_, branches, k, axis_, concat_, why, &c.parts);
          else why = MoveRefusal::ShapeUnknown;
        }
        if (!c.value && can_stack(c.parts)) row.stack_only = why;
        else if (!c.value) row.matches = false;
      }
      row.children.push_back(c);
    }
    rows_[at] = std::move(row);
  }

  // Sorts the rows so that children come before parents.
  void order_rows() {
    std::vector<std::uint8_t> state(rows_.size());
    std::vector<std::pair<std::size_t, std::size_t>> stack{{0, 0}};
    state[0] = 1;
    while (!stack.empty()) {
      auto& [at, next] = stack.back();
      if (next < rows_[at].children.size()) {
        const Child& c = rows_[at].children[next++];
        if (c.kind == Child::Kind::Row && state[c.row] == 0) {
          state[c.row] = 1;
          stack.emplace_back(c.row, 0);
        }
        continue;
      }
      order_.push_back(at);
      stack.pop_back();
    }
  }

  // Sets the leaf of every row. A row with several leaves becomes a leaf itself, and so does one whose
  // leaf is of a wider type than the Concat's operands, since the Concat would move more bytes.
  void find_leaves() {
    const int most = bits_of(d_[rows_[0].values[0]].dtype);
    for (const std::size_t at : order_) {
      ValueRow& row = rows_[at];
      if (!row.matches) {
        row.of_parts = split_of(row).valid();
        row.leaf = row.of_parts ? kWhole : at;
        continue;
      }
      std::size_t one = kWhole;
      bool any = false, several = false;
      row.of_parts = false;
      for (const Child& c : row.children)
        if (c.kind == Child::Kind::Row) {
          const ValueRow& child = rows_[c.row];
          any = true;
          row.of_parts |= child.of_parts;
          if (child.leaf == kWhole) continue;
          several |= one != kWhole && one != child.leaf;
          one = child.leaf;
        }
      // A stack would be no operand beside the whole of a Split.
      several |= row.of_parts && one != kWhole && all_equal(rows_[one].values);
      const bool wide = one != kWhole && bits_of(d_[rows_[one].values[0]].dtype) > most;
      if (wide && at == 0) why_ = MoveRefusal::Bytes;
      if (several && at == 0) why_ = MoveRefusal::TwoOperands;
      if (several || wide || !any) row.matches = false;
      row.leaf = row.matches ? one : at;
      row.of_parts &= row.matches;
    }
  }

  // Returns the Split whose results the row's values are, all of them and in order, if it cuts a value of the
  // Concat's shape into the Concat's operands; else none.
  DNode split_of(const ValueRow& row) const {
    const DNode q = d_.def(row.values[0]);
    if (!d_.is(q, NodeClass::Split) || d_[q].axis != axis_ ||
        d_.shape(d_.in(q, 0)) != d_.shape(d_.out(concat_)))
      return {};
    for (std::uint32_t i = 0; i < row.values.size(); ++i)
      if (d_.out(q, i) != row.values[i] || d_.shape(row.values[i]) != shapes_[i]) return {};
    return q;
  }

  std::vector<std::size_t> merged() const {  // those reachable from the root, parents first
    std::vector<std::size_t> out{0};
    std::vector<bool> seen(rows_.size());
    seen[0] = true;
    for (std::size_t i = 0; i < out.size(); ++i)
      for (const Child& c : rows_[out[i]].children)
        if (c.kind == Child::Kind::Row && rows_[c.row].matches && !seen[c.row]) {
          seen[c.row] = true;
          out.push_back(c.row);
        }
    return out;
  }

  // Ends the pattern at each row with a value that a node outside the pattern reads: the row becomes a leaf.
  // Returns whether there was one.
  bool cut_at_outside_uses() {
    std::vector<DNode> pattern{concat_};
    pattern.insert(pattern.end(), skipped_.begin(), skipped_.end());
    const auto rows = merged();
    for (const std::size_t at : rows)
      for (const DNode n : rows_[at].nodes)
        if (n) pattern.push_back(n);
    std::ranges::sort(pattern);
    bool found = false;
    for (const std::size_t at : rows)
      for (std::size_t i = 0; i < rows_[at].values.size() && rows_[at].matches; ++i) {
        if (!rows_[at].nodes[i]) continue;
        const DValue v = rows_[at].values[i];
        for (DUse u = d_.first_use(v); u; u = d_.next_use(u))
          if (!std::ranges::binary_search(pattern, d_.user(u))) {
            rows_[at].matches = false;
            found = true;
            break;
          }
      }
    return found;
  }

  bool build(MoveRefusal& why) {
    std::vector<DValue> operands;
    const std::size_t leaf = rows_[0].leaf;
    if (leaf != kWhole)
      for (std::size_t i = 0; i < shapes_.size(); ++i) {
        operands.push_back(deformed(d_, rows_[leaf].values[i], shapes_[i], concat_, {}, why));
        if (!operands.back()) return false;
      }
    if (leaf != kWhole && !type_can_move(d_, d_[operands[0]].dtype)) {
      why = MoveRefusal::Type;
      return false;
    }
    if (leaf != kWhole && !rows_[0].of_parts && all_equal(operands)) return build_stack(operands[0], why);
    const DValue y = d_.out(concat_);
    const ShapeId result = d_.shape(y);
    if (leaf != kWhole) {
      rows_[leaf].made = d_.new_value(result, d_[operands[0]].dtype);
      const DNode made =
          d_.new_node(NodeClass::Concat, {}, operands, std::span(&rows_[leaf].made, 1), concat_);
      d_.set_axis(made, axis_);
    }
    std::vector<bool> wanted(rows_.size());
    for (const std::size_t at : merged()) wanted[at] = true;
    for (const std::size_t at : order_) {
      ValueRow& row = rows_[at];
      if (!row.matches && row.of_parts) row.made = d_.in(split_of(row), 0);
      if (!row.matches || !wanted[at]) continue;
      const DNode first = *std::ranges::find_if(row.nodes, [](DNode n) { return n.valid(); });
      std::vector<DValue> in;
      for (const Child& c : row.children)
        in.push_back(c.kind == Child::Kind::Row ? rows_[c.row].made : c.value);
      row.made = at == 0 ? y : d_.new_value(result, d_[d_.out(first)].dtype);
      d_.new_elementwise(first, in, row.made, concat_);
    }
    d_.erase(concat_);
    return true;
  }

  // Ends the pattern at each row whose constants can only be stacked: the row becomes a leaf. Returns whether
  // there was one.
  bool cut_at_stacks(MoveRefusal& why) {
    bool found = false;
    for (const std::size_t at : merged())
      if (rows_[at].matches && rows_[at].stack_only != MoveRefusal::None) {
        rows_[at].matches = false;
        why = rows_[at].stack_only;
        found = true;
      }
    return found;
  }

  // Returns the shape of the branches stacked along a new axis before the Concat's axis; the Concat's shape
  // if that axis has extent 1. Returns none if a dim before the axis is not 1: the constants of the branches
  // would alternate in runs shorter than a branch.
  ShapeId stack_shape() {
    ShapeTable& shapes = d_.shapes();
    const auto s = shapes.dims(shapes_[0]);
    if (shapes.is_one(s[axis_])) return d_.shape(d_.out(concat_));
    if (!std::ranges::all_of(s.first(axis_), [&](DimId e) { return shapes.is_one(e); })) return {};
    std::vector<DimId> dims(s.begin(), s.end());
    const DimId branches = shapes.pool().constant(static_cast<std::int64_t>(shapes_.size()));
    if (axis_ == 0) dims.insert(dims.begin(), branches);  // the stacked constants have this rank, too
    else dims[axis_ - 1] = branches;                      // was 1: the rank stays
    return shapes.intern(std::span<const DimId>(dims));
  }

  bool can_stack(std::span<const DValue> parts) {
    return !parts.empty() && all_equal(shapes_) && stacked_constants(d_, parts, shapes_[0], axis_);
  }

  // Returns whether the leaf is one value on all branches and the stack's shape can be reshaped to the
  // Concat's.
  bool one_value(const ValueRow& leaf) {
    if (!all_equal(leaf.values) || !all_equal(shapes_)) return false;
    const ShapeId each = stack_shape();
    return each && deform_form(d_.shapes(), each, d_.shape(d_.out(concat_))).kind != DeformForm::Kind::None;
  }

  // Returns for each merged row whether it depends on constants that differ by branch; the other merged rows
  // compute the same on all branches. The leaf is one value for all branches. It never matched, which takes a
  // node of its own on two branches at least, so it has no children.
  std::vector<bool> by_branch() const {
    std::vector<bool> out(rows_.size());
    for (const std::size_t at : order_)
      for (const Child& c : rows_[at].children)
        if (!c.parts.empty() || (c.kind == Child::Kind::Row && out[c.row])) out[at] = true;
    return out;
  }

  bool may_stack(const ValueRow& row, bool each, ShapeId to, const std::vector<bool>& wide) const {
    const bool mixed = each && std::ranges::any_of(row.children, [&](const Child& c) {
                         return !c.parts.empty() || (c.kind == Child::Kind::Row && !wide[c.row]);
                       });
    // PRelu's result has the shape of its first operand, so a stacked slope needs a stacked first operand.
    const bool narrow = each && (row.children[0].kind != Child::Kind::Row || !wide[row.children[0].row]);
    return std::ranges::all_of(row.nodes, [&](DNode n) {
      return n && !d_[n].per_axis && !(narrow && broadcasts_one_way(d_.model(), d_[n].origin)) &&
             (mixed ? may_expand(d_, n) : may_move(d_, n, each ? to : shapes_[0], true, options_.merging()));
    });
  }

  // Builds the merged nodes where every branch has the leaf x. Returns false, and sets `why`, if a stack is
  // not possible.
  bool build_stack(DValue x, MoveRefusal& why) {
    const std::vector<bool> wide = by_branch();
    const DValue y = d_.out(concat_);
    const ShapeId each = stack_shape();
    why = MoveRefusal::MultiUse;
    if (!wide[0] || !each) return false;  // the same work n times
    why = MoveRefusal::Position;
    for (const std::size_t at : merged())
      if (rows_[at].matches && !may_stack(rows_[at], wide[at], each, wide)) return false;
    why = MoveRefusal::NotWritable;
    if (deform_form(d_.shapes(), each, d_.shape(y)).kind == DeformForm::Kind::None) return false;
    rows_[rows_[0].leaf].made = deformed(d_, x, shapes_[0], concat_, {}, why);  // none: no row is reached
    for (const std::size_t at : order_) {
      ValueRow& row = rows_[at];
      if (!row.matches) continue;
      std::vector<DValue> in;
      bool reached = true;
      for (const Child& c : row.children) {
        if (c.kind == Child::Kind::Row) in.push_back(rows_[c.row].made);
        else if (c.parts.empty() || each == d_.shape(y)) in.push_back(c.value);
        else in.push_back(stacked_constants(d_, c.parts, shapes_[0], axis_));
        reached &= in.back() || (c.kind == Child::Kind::Value && c.parts.empty());
      }
      if (!reached && at == 0) return false;
      if (!reached) continue;  // upstream of a row that became a leaf
      row.made = at == 0 && each == d_.shape(y)
                     ? y
                     : d_.new_value(wide[at] ? each : shapes_[0], d_[row.values[0]].dtype);
      d_.new_elementwise(row.nodes[0], in, row.made, concat_);
    }
    const DValue whole[] = {rows_[0].made}, out[] = {y};
    if (each != d_.shape(y)) d_.new_node(NodeClass::Deformation, {}, whole, out, concat_);
    d_.erase(concat_);
    return true;
  }

  // Returns whether n's operator (Relu, Abs, Floor, Ceil) returns these elements unchanged; false for
  // constants with NaN or -0.
  static bool returns_unchanged(const Draft& d, NodeId n, TensorId t);

  Draft& d_;
  const DNode concat_;
  const MoveOptions& options_;
  const std::uint32_t axis_;
  std::vector<DValue> operands_;
  std::vector<ShapeId> shapes_;
  std::vector<ValueRow> rows_;
  InternIndex index_;
  std::vector<std::size_t> order_;
  std::vector<DNode> skipped_;
  MoveRefusal why_ = MoveRefusal::None;  // of the root row, when it matched
};

bool LockstepWalk::returns_unchanged(const Draft& d, NodeId n, TensorId t) {
  const OpKind kind = d.model().kind(n);
  if (kind != OpKind::Relu && kind != OpKind::Abs && kind != OpKind::Floor && kind != OpKind::Ceil)
    return false;
  return unchanged_by_clamp(d, t, kind == OpKind::Floor || kind == OpKind::Ceil);
}

}  // namespace

bool merge_concat(Draft& d, DNode concat, const MoveOptions& o, MoveRefusal& why) {
  if (d[concat].in_count < 2) return false;
  for (std::uint32_t i = 0; i < d[concat].in_count; ++i)
    if (!d.shape(d.in(concat, i))) {
      why = MoveRefusal::ShapeUnknown;
      return false;
    }
  return LockstepWalk(d, concat, o).run(why);
}

}  // namespace graphopt
