// simplify-loops: takes out of Loop and Scan what their iterations do not need.
//
// Problem: exporters carry a value through all iterations that never changes, or that nothing reads, stack
// results that nothing reads, and return a constant true as the condition of a Loop through an Identity.
// Method: one rule per finding, from the node.
//   condition  a Loop's body that returns a constant true as its condition returns the condition that it was
//              given: the body runs only while that is true.
//   copy       a Loop's body that returns an Identity of its own value returns the value, unless it is the
//              number of the iteration: ONNX Runtime counts in place.
//   invariant  a carried value that the body returns as it got it is the initial value in every iteration and
//              after the last one, also when there was none. Readers in the body and of the result read the
//              initial value; the carried value goes.
//   unread     carried values whose result nothing reads, and which take part in no other value that is
//              needed, go with the nodes that computed them; so do stacked results that nothing reads.
// Exact: no element is computed otherwise. What a body computes for a value that goes had no other effect
// (an error is none).
// Lowers: nodes of bodies, operands, results. Ends: each rewrite removes a node, an operand or a result, or a
// reader of a value other than the body's condition.
// Left alone: a Scan before opset 9; copies in a Scan, where ONNX Runtime leaves a result unwritten if the
// body returns one value twice or an input; the last result of a node, and the last carried value of a Loop
// before opset 11, which cannot be without; bodies with unknown attributes; an unchanged value of a body that
// declares a wrong type; a value that something outside the model names; an input of a body to be returned,
// or a value to be returned twice, of which the file states no type.
//
//   y, z = Loop (n, "", x, w) <body = b (i, c, p, q) => (c2, s, q2) {        y = Loop (n, "", x) <body =
//     c2 = Identity (true)  s = Add (p, q)  q2 = Identity (q) }>       =>      b (i, c, p) => (c, s) {
//   u = Neg (z)                                                                  s = Add (p, w) }>
//                                                                            u = Neg (w)

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "ops/attributes.h"
#include "passes/loop_form.h"
#include "passes/rule_pass.h"
#include "rewrite/dead.h"
#include "support/known_names.h"

namespace graphopt {
namespace {

void set_returned(Model& m, GraphId body, std::size_t slot, ValueId v) {
  m.set_operand(m.graph(body).ret, slot, v);
}

// Returns whether a body may return one of its inputs, or a value that it returns already: onnx's inference,
// which its checker runs, knows no type of such a result of which the file will state none.
bool may_return(const Model& m, ValueId v) { return m.types[m.value(v).declared].kind != TypeKind::Unknown; }

class KeepCondition final : public Rule {
 public:
  static constexpr Counter kCounter{"conditions", "conditions of a Loop that stay what they were"};
  std::string_view name() const override { return "condition"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::Loop>; }

  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    const auto form = loop_form(m, n);
    if (!form) return c.no(n, "its body is not known");
    const ValueId returned = m.graph_output(form->body, 0);
    condition_ = m.graph_inputs(form->body)[1];
    if (returned == condition_) return false;
    if (!may_return(m, condition_)) return c.no(n, "the body does not state the type of its condition");
    const SymbolicTensor* known = c.infer.symbolic(returned);
    const bool always = known != nullptr && known->dtype == DType::Bool && known->elements.size() == 1 &&
                        c.dims.is_constant(known->elements[0], 1);
    return always || c.no(n, "the body may return false as its condition");
  }
  void apply(PassContext& c, NodeId n) override {
    set_returned(c.model, loop_form(c.model, n)->body, 0, condition_);
  }

 private:
  ValueId condition_;
};

class ReturnDirectly final : public Rule {
 public:
  static constexpr Counter kCounter{"copies", "copies that a Loop's body returned"};
  std::string_view name() const override { return "copy"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::Loop>; }

  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    const auto form = loop_form(m, n);
    if (!form) return false;
    body_ = form->body;
    for (slot_ = 0; slot_ < m.graph_output_count(body_); ++slot_) {
      const ValueId v = m.graph_output(body_, slot_);
      original_ = copied_value(m, v);
      // What is computed outside, and constants, must not be returned.
      if (original_ == v || original_ == m.graph_inputs(body_)[0]) continue;
      const bool is_input = m.value(original_).is_input;
      if ((is_input || m.is_graph_output(original_)) && !may_return(m, original_)) continue;
      if (is_input || is_computed(m, original_)) return true;
    }
    return false;
  }
  void apply(PassContext& c, NodeId) override { set_returned(c.model, body_, slot_, original_); }

 private:
  static bool is_computed(const Model& m, ValueId v) {
    return m.value(v).def && m.kind(m.value(v).def) != OpKind::Constant;
  }
  GraphId body_;
  std::size_t slot_ = 0;
  ValueId original_;
};

// Removes the carried value i, whose body input has no readers.
void remove_carried(Model& m, NodeId n, const LoopForm& f, std::size_t i) {
  std::vector<ValueId> operands;
  for (std::size_t k = 0; k < m.input_count(n); ++k)
    if (k != f.first_operand + i) operands.push_back(m.input(n, k));
  m.remove_input(f.body, f.first_input + i);
  m.set_operands(n, operands);
  m.remove_output(n, i);
}

// A result must stay, and before opset 11 an operand.
bool may_lose_carried(const Model& m, NodeId n, const LoopForm& f) {
  return m.output_count(n) > 1 && (f.scan || m.opset(n) >= 11 || f.carried > 1);
}

class InvariantValue final : public Rule {
 public:
  static constexpr Counter kCounter{"invariant", "carried values that never changed"};
  std::string_view name() const override { return "invariant"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::Loop, OpKind::Scan>; }

  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    const auto form = loop_form(m, n);
    if (!form) return false;
    form_ = *form;
    for (i_ = 0; i_ < form_.carried; ++i_)
      if (copied_value(m, form_.returned(m, i_)) == form_.input(m, i_) && may_go(c, n)) return true;
    return false;
  }

  void apply(PassContext& c, NodeId n) override {
    Model& m = c.model;
    const ValueId initial = form_.initial(m, n, i_), inside = form_.input(m, i_), result = m.output(n, i_);
    if (result && m.use_count(result) > 0) m.replace_all_uses(result, initial);
    if (!removes_) return;
    std::vector<ValueId> returned;
    for (std::size_t k = 0; k < m.graph_output_count(form_.body); ++k)
      if (k != form_.first_return + i_) returned.push_back(m.graph_output(form_.body, k));
    m.set_graph_outputs(form_.body, returned);
    while (const UseId u = m.first_use(inside)) m.set_operand(m.user(u), m.slot(u), initial);
    remove_carried(m, n, form_, i_);
  }

  bool hands_output_over(const Model& m, NodeId n) const override {
    const ValueId result = m.output(n, i_);
    return result && m.is_graph_output(result);
  }

 private:
  bool may_go(const MatchContext& c, NodeId n) {
    const Model& m = c.model;
    const ValueId initial = form_.initial(m, n, i_), inside = form_.input(m, i_), result = m.output(n, i_);
    const TypeKind kind = c.infer.type_of(initial).kind;
    if (kind != TypeKind::Tensor && kind != TypeKind::Sequence)
      return c.no(n, "what is carried is no tensor or sequence");
    if (m.is_fixed(initial) || m.is_fixed(inside) || (result && m.value(result).pinned))
      return c.no(n, "an invariant value is named from outside, or overwritten");
    // A runtime believes what a body declares, until what comes from outside contradicts it.
    for (const FalseClaim& claim : c.infer.false_claims())
      if (m.alive(claim.value) && m.inside(m.value(claim.value).graph, form_.body))
        return c.no(n, "its body declares a wrong type");
    const bool has_readers = result && m.use_count(result) > 0;
    if (has_readers && !m.can_replace(result, initial))
      return c.no(n, "the initial value cannot take the place of the result");
    removes_ = may_lose_carried(m, n, form_);
    if (!removes_) return has_readers;
    const NodeId ret = m.graph(form_.body).ret;
    for (UseId u = m.first_use(inside); u; u = m.next_use(u)) {
      if (m.user(u) == ret && m.slot(u) != form_.first_return + i_)
        return c.no(n, "the body returns the invariant value as another result, too");
      if (!m.may_read(u, initial)) return c.no(n, "a kernel would choose by the initial value");
    }
    return true;
  }

  LoopForm form_;
  std::size_t i_ = 0;
  bool removes_ = false;
};

class UnreadValues final : public Rule {
 public:
  static constexpr Counter kCounter{"unread", "carried values and stacked results that nothing read"};
  std::string_view name() const override { return "unread"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::Loop, OpKind::Scan>; }

  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    const auto form = loop_form(m, n);
    if (!form) return false;
    form_ = *form;
    std::size_t unread = 0;
    for (const ValueId v : m.outputs(n)) unread += is_read(m, v) ? 0 : 1;
    if (unread == 0 || unread == m.output_count(n)) return false;  // all: dead-code asks whether it may go
    find_needed(m, n);
    std::size_t carried = 0;
    dead_.clear();
    for (std::size_t i = 0; i < m.output_count(n); ++i) {
      if (i < form_.carried ? needed_values_.contains(form_.input(m, i)) || is_read(m, m.output(n, i))
                            : is_read(m, m.output(n, i)))
        continue;
      dead_.push_back(i);
      carried += i < form_.carried ? 1 : 0;
    }
    if (dead_.empty()) return c.no(n, "an unread result is needed by a later iteration");
    return form_.scan || m.opset(n) >= 11 || carried < form_.carried ||
           c.no(n, "a Loop of this opset must carry a value");
  }

  void apply(PassContext& c, NodeId n) override {
    Model& m = c.model;
    std::vector<ValueId> returned;
    for (std::size_t k = 0; k < m.graph_output_count(form_.body); ++k)
      if (k < form_.first_return || !std::ranges::binary_search(dead_, k - form_.first_return))
        returned.push_back(m.graph_output(form_.body, k));
    m.set_graph_outputs(form_.body, returned);
    for (NodeId inner = m.graph(form_.body).last; inner;) {
      const NodeId before = m.prev_node(inner);
      if (!needed_nodes_.contains(inner)) m.erase(inner);
      inner = before;
    }
    if (form_.scan) {
      drop_entries(m, n, names::scan_output_axes);
      drop_entries(m, n, names::scan_output_directions);
    }
    for (auto it = dead_.rbegin(); it != dead_.rend(); ++it) {
      if (*it < form_.carried) remove_carried(m, n, form_, *it);
      else m.remove_output(n, *it);
    }
  }

 private:
  // Collects the nodes of the body, and the values that they read, without which a result that is read, the
  // condition or an effect would be missing.
  void find_needed(const Model& m, NodeId n) {
    needed_nodes_.clear();
    needed_values_.clear();
    todo_.clear();
    if (!form_.scan) need(m.graph_output(form_.body, 0));
    for (std::size_t i = 0; i < m.output_count(n); ++i)
      if (is_read(m, m.output(n, i))) need(form_.returned(m, i));
    for (NodeId inner = m.first_node(form_.body); inner; inner = m.next_node(inner))
      if (!removable(m, inner) ||
          std::ranges::any_of(m.outputs(inner), [&](ValueId v) { return v && m.value(v).pinned; }))
        need_node(m, inner);
    while (!todo_.empty()) {
      const ValueId v = todo_.back();
      todo_.pop_back();
      if (m.value(v).graph != form_.body) continue;
      if (m.value(v).def) need_node(m, m.value(v).def);
      for (std::size_t i = 0; i < form_.carried && m.value(v).is_input; ++i)
        if (form_.input(m, i) == v) need(form_.returned(m, i));
    }
  }
  void need(ValueId v) {
    if (v && needed_values_.insert(v).second) todo_.push_back(v);
  }
  // What a node reads, in its bodies too.
  void need_node(const Model& m, NodeId root) {
    if (!needed_nodes_.insert(root).second) return;
    std::vector<NodeId> nodes{root};
    while (!nodes.empty()) {
      const NodeId n = nodes.back();
      nodes.pop_back();
      for (std::size_t k = 0; k < m.input_count(n); ++k) need(m.input(n, k));
      for (const Attr& a : m.attrs(n))
        for (const GraphId g : a.graphs) {
          nodes.push_back(m.graph(g).ret);
          for (NodeId inner = m.first_node(g); inner; inner = m.next_node(inner)) nodes.push_back(inner);
        }
    }
  }
  // Leaves out what a list says of the stacked results that go.
  void drop_entries(Model& m, NodeId n, NameId name) const {
    if (!has_attr(m, n, name)) return;
    const auto list = *ints_attr(m, n, name);
    std::vector<std::int64_t> kept;
    for (std::size_t k = 0; k < list.size(); ++k)
      if (!std::ranges::binary_search(dead_, form_.carried + k)) kept.push_back(list[k]);
    if (kept.empty()) m.remove_attr(n, name);
    else m.set_attr_ints(n, name, kept);
  }

  LoopForm form_;
  std::vector<std::size_t> dead_;  // results, sorted
  std::unordered_set<NodeId> needed_nodes_;
  std::unordered_set<ValueId> needed_values_;
  std::vector<ValueId> todo_;
};

}  // namespace

extern constinit const PassInfo simplify_loops = {
    .name = "simplify-loops",
    .summary = "remove values of Loop and Scan that never change or that nothing reads",
    .exact = Exact::Yes,
    .level = 1,
    .make = make_pass<RulePass<KeepCondition, ReturnDirectly, InvariantValue, UnreadValues>>};

}  // namespace graphopt
