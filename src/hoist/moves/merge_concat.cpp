// Problem: the same elementwise operators stand on every branch in front of a Concat: n launches each where
// one would do.
// Method: a lockstep walk from the Concat's operands over all branches at once. A *level* is a tuple of
// values, one per branch (deformations between are looked through); it matches when all of them come from the
// same operator. Operands in full shape lead to further levels, others must be common (merge_operands.h).
// Levels form a graph (x * sigmoid(x) meets itself again at x). A level is merged when all levels below it
// end in one and the same leaf tuple: with two, a second Concat would move more bytes than is saved. When the
// one leaf tuple is one value n times and the branches differ by their constants, no Concat is needed: the
// value broadcasts against the stacked constants along an axis of extent n in front of the Concat's, and a
// Reshape makes one of both. The elements computed and written are those of the branches. Where nothing
// differs it is the same work n times, and refused.
//   a = Mul (x, k)  b = Mul (x, l)  y = Concat <axis = 0> (a, b)      =>      m = Mul (x, kl)  y = Reshape
//   (m, shape)
// Exact: every element is computed by the same operator from the same operands; its place changes, so
// operators whose kernels depend on that are refused (b7).
// Ends: the walk makes each tuple a level once.
#include <algorithm>

#include "hoist/draft/elementwise.h"
#include "hoist/moves/merge_operands.h"
#include "support/hash_chains.h"
#include "support/intern_index.h"

namespace graphopt {
namespace {

struct Child {
  enum class Kind : std::uint8_t { Tuple, Value } kind = Kind::Value;
  std::size_t tuple = 0;
  DValue value;               // none: absent
  std::vector<DValue> parts;  // the branches' constants, which `value` is one behind the other along the axis
};

struct Tuple {
  std::vector<DValue> values;
  std::vector<DNode> nodes;  // none for a constant branch
  std::vector<Child> children;
  bool op = false;  // matches; else a leaf
  Refusal stack_only =
      Refusal::None;     // why its constants cannot be joined, only stand along an axis of their own
  std::size_t leaf = 0;  // the one leaf level below it; itself when it is one
  DValue made;
};

class LockstepWalk {
 public:
  LockstepWalk(Draft& d, DNode concat, const MoveOptions& o)
      : d_(d), concat_(concat), options_(o), axis_(d[concat].axis) {
    shares_ = d.ins(concat);
    for (const DValue v : shares_) shapes_.push_back(d.shape(v));
  }

  bool run(Refusal& why) {
    tuple_of(shares_);
    for (std::size_t i = 0; i < tuples_.size(); ++i) {
      Refusal below = Refusal::None;
      expand(i, i == 0 ? why : below);
    }
    order_tuples();
    find_leaves();
    while (tuples_[0].leaf != 0) {
      const bool stacks = one_value(tuples_[tuples_[0].leaf]);
      why = Refusal::MultiUse;
      if (!close_open_uses() && (stacks || !close_stacks(why)))
        return stacks ? build_stack(tuples_[tuples_[0].leaf].values[0], why) : build(why);
      find_leaves();
    }
    if (why_ != Refusal::None) why = why_;
    if (why == Refusal::None) why = Refusal::TwoOperands;
    return false;
  }

 private:
  // Looks through deformations that only this branch reads.
  DValue peel(DValue v) {
    while (true) {
      const DNode q = d_.def(v);
      if (!q || d_[q].node_class != NodeClass::Deformation || d_[q].shape_only || !d_.single_use(v) ||
          !d_.shape(d_.in(q, 0)) || d_.constant(d_.in(q, 0)))
        return v;
      peeled_.push_back(q);
      v = d_.in(q, 0);
    }
  }

  std::size_t tuple_of(std::vector<DValue> values) {
    for (DValue& v : values) v = peel(v);
    std::uint64_t hash = 0;
    for (const DValue v : values) hash = mix_hash(hash, v.index());
    const auto add = [&] {
      tuples_.emplace_back();
      tuples_.back().values = std::move(values);
      return static_cast<std::uint32_t>(tuples_.size() - 1);
    };
    return index_.find_or_add(hash, [&](std::uint32_t id) { return tuples_[id].values == values; }, add);
  }

  bool match(Tuple& tuple, Refusal& why) {
    std::vector<DNode> real;
    for (const DValue v : tuple.values) {
      const DNode n = d_.constant(v) ? DNode{} : d_.def(v);
      tuple.nodes.push_back(n);
      if (!d_.constant(v) && (!n || d_[n].node_class != NodeClass::Elementwise || d_[v].live_out)) {
        why = n && d_[n].node_class == NodeClass::Elementwise ? held_because(d_, v) : not_elementwise(d_, n);
        return false;
      }
      if (n) real.push_back(n);
      else if (real.empty() && tuple.nodes.size() > 1) return false;  // constants only, so far
    }
    if (real.size() >= 2 && d_[real[0]].per_axis)
      for (std::size_t i = 0; i < tuple.values.size(); ++i)
        if (!tuple.nodes[i] || d_.shape(tuple.values[i]) != shapes_[i] || d_[tuple.nodes[i]].axis == axis_) {
          why = Refusal::AxisCut;
          return false;
        }
    if (real.size() < 2 || !same_elementwise(d_, real, d_.shape(d_.out(concat_)), options_, why))
      return false;
    // A constant branch that the operator leaves bit for bit as it is.
    if (real.size() < tuple.values.size())
      for (std::size_t i = 0; i < tuple.values.size(); ++i)
        if (!tuple.nodes[i] && !leaves_alone(d_, d_[real[0]].origin, d_[tuple.values[i]].tensor)) {
          why = Refusal::Operand;
          return false;
        }
    return true;
  }

  void expand(std::size_t at, Refusal& why) {
    Tuple tuple = std::move(tuples_[at]);
    tuple.op = match(tuple, why);
    const DNode first =
        tuple.op ? *std::ranges::find_if(tuple.nodes, [](DNode n) { return n.valid(); }) : DNode{};
    for (std::uint32_t k = 0; tuple.op && k < d_[first].in_count; ++k) {
      Child c;
      std::vector<DValue> operands;
      bool full = true, all_constant = true, all_nodes = true;
      for (std::size_t i = 0; i < tuple.values.size(); ++i) {
        const DNode n = tuple.nodes[i];
        all_nodes &= n.valid();
        operands.push_back(n ? paired_operand(d_, first, n, k) : tuple.values[i]);
        if (!operands.back()) continue;
        full &= d_.shape(operands.back()) && d_.shape(operands.back()) == d_.shape(tuple.values[i]);
        all_constant &= d_.constant(operands.back());
      }
      if (!operands[0]) {
        tuple.children.push_back(c);
        continue;
      }
      // A scalar by definition is full where the branches are scalars, but the Concat of them is none.
      if (full && !all_constant && operand_kind(d_.model(), d_[first].origin, k) != Operand::Fixed) {
        c.kind = Child::Kind::Tuple;
        tuples_[at].values = tuple.values;  // so that it is found when it meets itself
        c.tuple = tuple_of(std::move(operands));
      } else {
        if (all_nodes) {
          std::vector<Branch> branches;
          for (std::size_t i = 0; i < operands.size(); ++i)
            branches.push_back({tuple.nodes[i], operands[i], d_.shape(tuple.values[i]), shapes_[i]});
          const bool shapes_known =
              std::ranges::all_of(branches, [](const Branch& b) { return b.from && b.to; });
          if (shapes_known) c.value = common_operand(d_, branches, k, axis_, concat_, why, &c.parts);
          else why = Refusal::ShapeUnknown;
        }
        if (!c.value && can_stack(c.parts)) tuple.stack_only = why;
        else if (!c.value) tuple.op = false;
      }
      tuple.children.push_back(c);
    }
    tuples_[at] = std::move(tuple);
  }

  // Children before parents.
  void order_tuples() {
    std::vector<std::uint8_t> state(tuples_.size());
    std::vector<std::pair<std::size_t, std::size_t>> stack{{0, 0}};
    state[0] = 1;
    while (!stack.empty()) {
      auto& [at, next] = stack.back();
      if (next < tuples_[at].children.size()) {
        const Child& c = tuples_[at].children[next++];
        if (c.kind == Child::Kind::Tuple && state[c.tuple] == 0) {
          state[c.tuple] = 1;
          stack.emplace_back(c.tuple, 0);
        }
        continue;
      }
      order_.push_back(at);
      stack.pop_back();
    }
  }

  // A level also ends the walk where its leaf is of a wider type than the result: the Concat would move more
  // bytes there.
  void find_leaves() {
    const int most = bits_of(d_[tuples_[0].values[0]].dtype);
    for (const std::size_t at : order_) {
      Tuple& tuple = tuples_[at];
      tuple.leaf = at;
      if (!tuple.op) continue;
      std::size_t one = tuples_.size();
      bool several = false;
      for (const Child& c : tuple.children)
        if (c.kind == Child::Kind::Tuple) {
          several |= one != tuples_.size() && one != tuples_[c.tuple].leaf;
          one = tuples_[c.tuple].leaf;
        }
      const bool wide = one != tuples_.size() && bits_of(d_[tuples_[one].values[0]].dtype) > most;
      if (wide && at == 0) why_ = Refusal::Bytes;
      if (several && at == 0) why_ = Refusal::TwoOperands;
      if (several || wide || one == tuples_.size()) tuple.op = false;
      else tuple.leaf = one;
    }
  }

  std::vector<std::size_t> merged() const {  // reachable from the root, parents first
    std::vector<std::size_t> out{0};
    std::vector<bool> seen(tuples_.size());
    seen[0] = true;
    for (std::size_t i = 0; i < out.size(); ++i)
      for (const Child& c : tuples_[out[i]].children)
        if (c.kind == Child::Kind::Tuple && tuples_[c.tuple].op && !seen[c.tuple]) {
          seen[c.tuple] = true;
          out.push_back(c.tuple);
        }
    return out;
  }

  // Levels with a value that something outside of the pattern reads become leaves. Returns whether there was
  // one.
  bool close_open_uses() {
    std::vector<DNode> pattern{concat_};
    pattern.insert(pattern.end(), peeled_.begin(), peeled_.end());
    const auto tuples = merged();
    for (const std::size_t at : tuples)
      for (const DNode n : tuples_[at].nodes)
        if (n) pattern.push_back(n);
    std::ranges::sort(pattern);
    bool found = false;
    for (const std::size_t at : tuples)
      for (std::size_t i = 0; i < tuples_[at].values.size() && tuples_[at].op; ++i) {
        if (!tuples_[at].nodes[i]) continue;
        const DValue v = tuples_[at].values[i];
        for (DUse u = d_.first_use(v); u; u = d_.next_use(u))
          if (!std::ranges::binary_search(pattern, d_.user(u))) {
            tuples_[at].op = false;
            found = true;
            break;
          }
      }
    return found;
  }

  bool build(Refusal& why) {
    Tuple& leaf = tuples_[tuples_[0].leaf];
    std::vector<DValue> operands;
    for (std::size_t i = 0; i < leaf.values.size(); ++i) {
      operands.push_back(deformed(d_, leaf.values[i], shapes_[i], concat_, {}, why));
      if (!operands.back()) return false;
    }
    const DType type = d_[operands[0]].dtype;
    if (!type_can_move(d_, type)) {
      why = Refusal::Type;
      return false;
    }
    if (std::ranges::adjacent_find(operands, std::not_equal_to{}) == operands.end())
      return build_stack(operands[0], why);
    const DValue y = d_.out(concat_);
    const ShapeId result = d_.shape(y);
    leaf.made = d_.new_value(result, type);
    const DNode made = d_.new_node(NodeClass::Concat, {}, operands, std::span(&leaf.made, 1), concat_);
    d_.set_axis(made, axis_);
    for (const std::size_t at : order_) {
      Tuple& tuple = tuples_[at];
      if (!tuple.op) continue;
      const DNode first = *std::ranges::find_if(tuple.nodes, [](DNode n) { return n.valid(); });
      std::vector<DValue> in;
      bool reached = true;
      for (const Child& c : tuple.children) {
        in.push_back(c.kind == Child::Kind::Tuple ? tuples_[c.tuple].made : c.value);
        reached &= c.kind != Child::Kind::Tuple || in.back().valid();
      }
      if (!reached) continue;  // below a level that became a leaf
      tuple.made = at == 0 ? y : d_.new_value(result, d_[d_.out(first)].dtype);
      d_.new_elementwise(first, in, tuple.made, concat_);
    }
    d_.erase(concat_);
    return true;
  }

  // Levels whose constants can only be stacked become leaves. Returns whether there was one.
  bool close_stacks(Refusal& why) {
    bool found = false;
    for (const std::size_t at : merged())
      if (tuples_[at].op && tuples_[at].stack_only != Refusal::None) {
        tuples_[at].op = false;
        why = tuples_[at].stack_only;
        found = true;
      }
    return found;
  }

  // The branches' shape when they stand along an axis of their own in front of the Concat's, unless that has
  // extent 1. Only with ones in front: then what all branches share broadcasts as it is, in runs as long as a
  // branch.
  ShapeId stack_shape() {
    ShapeTable& shapes = d_.shapes();
    const auto s = shapes.dims(shapes_[0]);
    if (shapes.is_one(s[axis_])) return d_.shape(d_.out(concat_));
    if (!std::ranges::all_of(s.first(axis_), [&](DimId e) { return shapes.is_one(e); })) return {};
    std::vector<DimId> dims(s.begin(), s.end());
    const DimId branches = shapes.pool().constant(static_cast<std::int64_t>(shapes_.size()));
    if (axis_ == 0) dims.insert(dims.begin(), branches);  // the constants have the rank
    else dims[axis_ - 1] = branches;                      // was 1; no operand would have a rank more
    return shapes.intern(std::span<const DimId>(dims));
  }

  bool can_stack(std::span<const DValue> parts) {
    return !parts.empty() && std::ranges::adjacent_find(shapes_, std::not_equal_to{}) == shapes_.end() &&
           stacked_constants(d_, parts, shapes_[0], axis_);
  }

  // Do all branches compute with one value, and can the result of a stack be brought to the Concat's shape?
  bool one_value(const Tuple& leaf) {
    if (std::ranges::adjacent_find(leaf.values, std::not_equal_to{}) != leaf.values.end() ||
        std::ranges::adjacent_find(shapes_, std::not_equal_to{}) != shapes_.end())
      return false;
    const ShapeId each = stack_shape();
    return each && deform_form(d_.shapes(), each, d_.shape(d_.out(concat_))).kind != DeformForm::Kind::None;
  }

  // The merged levels that depend on constants which differ by branch; what the others compute is the same
  // for all.
  std::vector<bool> by_branch() const {
    std::vector<bool> out(tuples_.size());
    for (const std::size_t at : order_)
      for (const Child& c : tuples_[at].children)
        if (tuples_[at].op && (!c.parts.empty() || (c.kind == Child::Kind::Tuple && out[c.tuple])))
          out[at] = true;
    return out;
  }

  bool may_stack(const Tuple& tuple, bool each, ShapeId to, const std::vector<bool>& wide) const {
    const bool mixed = each && std::ranges::any_of(tuple.children, [&](const Child& c) {
                         return !c.parts.empty() || (c.kind == Child::Kind::Tuple && !wide[c.tuple]);
                       });
    // PRelu's result has the shape of its first operand, which a stacked slope would exceed.
    const bool narrow =
        each && (tuple.children[0].kind != Child::Kind::Tuple || !wide[tuple.children[0].tuple]);
    return std::ranges::all_of(tuple.nodes, [&](DNode n) {
      return n && !d_[n].per_axis && !(narrow && broadcasts_one_way(d_.model(), d_[n].origin)) &&
             (mixed ? may_lift(d_, n) : options_.relaxed || may_reshape(d_, n, each ? to : shapes_[0], true));
    });
  }

  // All leaves are x.
  bool build_stack(DValue x, Refusal& why) {
    const std::vector<bool> wide = by_branch();
    const DValue y = d_.out(concat_);
    const ShapeId each = stack_shape();
    why = Refusal::MultiUse;
    if (!wide[0] || !each) return false;  // one value n times: the work would grow
    why = Refusal::Position;
    for (const std::size_t at : merged())
      if (tuples_[at].op && !may_stack(tuples_[at], wide[at], each, wide)) return false;
    why = Refusal::NotWritable;
    if (deform_form(d_.shapes(), each, d_.shape(y)).kind == DeformForm::Kind::None) return false;
    const DValue leaf = deformed(d_, x, shapes_[0], concat_, {}, why);
    if (!leaf) return false;
    tuples_[tuples_[0].leaf].made = leaf;
    for (const std::size_t at : order_) {
      Tuple& tuple = tuples_[at];
      if (!tuple.op) continue;
      std::vector<DValue> in;
      bool reached = true;
      for (const Child& c : tuple.children) {
        if (c.kind == Child::Kind::Tuple) in.push_back(tuples_[c.tuple].made);
        else if (c.parts.empty() || each == d_.shape(y)) in.push_back(c.value);
        else in.push_back(stacked_constants(d_, c.parts, shapes_[0], axis_));
        reached &= in.back() || (c.kind == Child::Kind::Value && c.parts.empty());
      }
      if (!reached && at == 0) return false;
      if (!reached) continue;  // below a level that became a leaf
      tuple.made = at == 0 && each == d_.shape(y)
                       ? y
                       : d_.new_value(wide[at] ? each : shapes_[0], d_[tuple.values[0]].dtype);
      d_.new_elementwise(tuple.nodes[0], in, tuple.made, concat_);
    }
    const DValue whole[] = {tuples_[0].made}, out[] = {y};
    if (each != d_.shape(y)) d_.new_node(NodeClass::Deformation, {}, whole, out, concat_);
    d_.erase(concat_);
    return true;
  }

  // Relu, Abs, Floor, Ceil, Identity of these elements give the same bits; NaN and -0 are not tried.
  static bool leaves_alone(const Draft& d, NodeId n, TensorId t);

  Draft& d_;
  const DNode concat_;
  const MoveOptions& options_;
  const std::uint32_t axis_;
  std::vector<DValue> shares_;
  std::vector<ShapeId> shapes_;
  std::vector<Tuple> tuples_;
  InternIndex index_;
  std::vector<std::size_t> order_;
  std::vector<DNode> peeled_;
  Refusal why_ = Refusal::None;  // of the root tuple, when it matched
};

bool LockstepWalk::leaves_alone(const Draft& d, NodeId n, TensorId t) {
  const OpKind kind = d.model().kind(n);
  if (kind != OpKind::Relu && kind != OpKind::Abs && kind != OpKind::Floor && kind != OpKind::Ceil)
    return false;
  return unchanged_by_clamp(d, t, kind == OpKind::Floor || kind == OpKind::Ceil);
}

}  // namespace

bool merge_concat(Draft& d, DNode concat, const MoveOptions& o, Refusal& why) {
  if (d[concat].in_count < 2) return false;
  for (std::uint32_t i = 0; i < d[concat].in_count; ++i)
    if (!d.in(concat, i) || !d.shape(d.in(concat, i)) || !d.shape(d.out(concat))) {
      why = Refusal::ShapeUnknown;
      return false;
    }
  return LockstepWalk(d, concat, o).run(why);
}

}  // namespace graphopt
