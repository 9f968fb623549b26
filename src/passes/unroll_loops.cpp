// unroll-loops: replaces a Loop or Scan by its iterations where that takes no more nodes.
//
// Problem: exporters write a Loop for what runs once, or a few times over constants. In its body the number
// of the iteration is no constant, and no rule sees across the boundary of the body.
//
// Method: from the node. The number of iterations is a constant, and the condition stays true (or is false
// from the start). The nodes of the body are copied once for each iteration, with what the one before has
// returned; stacked results are a Concat of Unsqueezes. A Scan is taken apart if it has one iteration: its
// operands are squeezed. It pays if there is one iteration or none, or if the copies are not more nodes than
// Loop and body. Nodes of which all operands come from constants and the number of the iteration do not count
// (folding computes them), nor do Identity, a SequenceAt of a list that is known, and what changes such a
// list (one node makes it then). Exact: each node computes what it computed in its iteration. A carried value
// that had another shape in another iteration has it still. Where every bit is promised, no operand by which
// a kernel is chosen, or that is packed, may become a constant or cease to be one (rewrite/constancy.h).
// Lowers: Loops and Scans. Ends: each rewrite removes one; bodies that are copied have one less around them.
// Left alone: other numbers of iterations, more copies than kMostCopies; random draws and unknown operators,
// which several nodes would do otherwise than one; nodes that overwrite an operand; stacked results of a Loop
// without an iteration, of which the declared dims decide; stacked results whose extents are not numbers, in
// a branch: a Concat of what does not fit together is refused when the model is loaded, run or not.
//
//   y = Loop (2, true, x) <body = b (i, c, a) => (c, r) { r = Add (a, x) }>   =>   r = Add (x, x)
//                                                                                  y = Add (r, x)

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "ir/copy.h"
#include "ops/attributes.h"
#include "ops/constants.h"
#include "ops/fold.h"
#include "ops/node_facts.h"
#include "passes/loop_form.h"
#include "passes/rule_pass.h"
#include "rewrite/build.h"
#include "rewrite/constancy.h"
#include "support/known_names.h"

namespace graphopt {
namespace {

constexpr std::int64_t kMostTrips = 1024;
constexpr std::int64_t kMostCopies = 4096;  // nodes

bool is_always(const MatchContext& c, ValueId v, std::int64_t wanted) {
  const SymbolicTensor* t = c.infer.symbolic(v);
  return t != nullptr && t->elements.size() == 1 && c.dims.is_constant(t->elements[0], wanted);
}

// What the iterations of a Loop cost as nodes of the graph around it.
class CopyCount {
 public:
  CopyCount(const MatchContext& c, NodeId n, const LoopForm& f) : c_(c), m_(c.model), n_(n), f_(f) {}

  // Counts the body's nodes, and those that no folding removes from each copy.
  void count() {
    // Carried values that are known in each iteration: all at first, less until nothing changes.
    for (std::size_t i = 0; i < f_.carried; ++i)
      carried_.push_back(m_.constant_of(f_.initial(m_, n_, i)).valid() || is_list(f_.initial(m_, n_, i)));
    for (bool changed = true; changed;) {
      changed = false;
      visit();
      for (std::size_t i = 0; i < f_.carried; ++i) {
        if (!carried_[i] || is_known(f_.returned(m_, i))) continue;
        carried_[i] = false;
        changed = true;
      }
    }
  }
  std::int64_t nodes() const { return nodes_; }       // of the body
  std::int64_t remaining() const { return remain_; }  // of each copy
  std::int64_t once() const { return lists_; }        // for all copies together

 private:
  // Whether a value from outside of the body is a sequence whose elements are known, and so what follows from
  // constant positions in it.
  bool is_list(ValueId v) const {
    const NodeId def = m_.value(v).def;
    if (!def) return false;
    return m_.kind(def) == OpKind::SequenceEmpty || m_.kind(def) == OpKind::SequenceConstruct;
  }
  bool is_known(ValueId v) const {
    if (!v) return false;
    if (m_.constant_of(v)) return true;
    return m_.inside(m_.value(v).graph, f_.body) ? known_.contains(v) : is_list(v);
  }

  void visit() {
    known_.clear();
    nodes_ = remain_ = lists_ = 0;
    const auto inputs = m_.graph_inputs(f_.body);
    if (!f_.scan) known_.insert({inputs[0], inputs[1]});
    for (std::size_t i = 0; i < f_.carried; ++i)
      if (carried_[i]) known_.insert(f_.input(m_, i));
    for (NodeId n = m_.first_node(f_.body); n; n = m_.next_node(n)) visit(n);
  }

  void visit(NodeId n) {
    const OpKind kind = m_.kind(n);
    if (kind == OpKind::Constant) return;
    const std::int64_t size = size_of(n);
    nodes_ += size;
    std::size_t given = 0, known = 0;
    for (std::size_t i = 0; i < m_.input_count(n); ++i) {
      given += m_.input(n, i) ? 1 : 0;
      known += m_.input(n, i) && is_known(m_.input(n, i)) ? 1 : 0;
    }
    const bool all = known == given;
    bool free = kind == OpKind::Identity;
    bool result = all;
    if (kind == OpKind::SequenceInsert || kind == OpKind::SequenceErase) {
      const std::size_t position = kind == OpKind::SequenceInsert ? 2 : 1;
      free = result = is_known(m_.input(n, 0)) && (!m_.input(n, position) || is_known(m_.input(n, position)));
      lists_ += free ? 1 : 0;
    } else if (kind == OpKind::SequenceAt) {
      free = all;
      result = false;
    } else if (kind != OpKind::Identity) {
      free = result = all && has_fold_kernel(kind) && counts(n);  // it has no bodies then
    }
    if (!free) remain_ += size;
    if (!result) return;
    for (const ValueId v : m_.outputs(n))
      if (v) known_.insert(v);
  }
  // Returns whether all results are integers or Bool. Such results are folded exactly at every level, and
  // their constants are too small to matter for the file's size.
  bool counts(NodeId n) const {
    return std::ranges::all_of(m_.outputs(n), [&](ValueId v) {
      const DType type = v ? c_.infer.dtype(v) : DType::Bool;
      return is_int(type) || type == DType::Bool;
    });
  }
  std::int64_t size_of(NodeId root) const {
    std::int64_t count = 0;
    std::vector<NodeId> todo{root};
    while (!todo.empty()) {
      const NodeId n = todo.back();
      todo.pop_back();
      count += m_.kind(n) == OpKind::Constant ? 0 : 1;
      for (const Attr& a : m_.attrs(n))
        for (const GraphId g : a.graphs)
          for (NodeId inner = m_.first_node(g); inner; inner = m_.next_node(inner)) todo.push_back(inner);
    }
    return count;
  }

  const MatchContext& c_;
  const Model& m_;
  NodeId n_;
  const LoopForm& f_;
  std::vector<bool> carried_;
  std::unordered_set<ValueId> known_;
  std::int64_t nodes_ = 0, remain_ = 0, lists_ = 0;
};

class UnrollLoop final : public Rule {
 public:
  static constexpr Counter kCounter{"unrolled", "Loops and Scans replaced by their iterations"};
  std::string_view name() const override { return "unroll"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::Loop, OpKind::Scan>; }

  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    const auto form = loop_form(m, n);
    if (!form) return c.no(n, "its body is not known");
    form_ = *form;
    const auto trips = form_.scan ? scan_trips(c, n) : loop_trips(c, n);
    if (!trips) return c.no(n, "the number of iterations is not a constant");
    trips_ = *trips;
    if (trips_ > kMostTrips) return c.no(n, "it has too many iterations");
    return may_be_copied(c, n) && fits_together(c, n) && pays(c, n);
  }

  void apply(PassContext& c, NodeId n) override {
    Model& m = c.model;
    const GraphId graph = m.node(n).graph;
    std::vector<ValueId> carried, scanned;
    std::vector<std::vector<ValueId>> stacked(form_.scan_out);
    for (std::size_t i = 0; i < form_.carried; ++i) carried.push_back(form_.initial(m, n, i));
    for (std::size_t i = 0; i < form_.scan_in; ++i) {
      const std::int64_t axes[] = {in_axes_[i]};
      const ValueId x = m.input(n, form_.carried + i);
      scanned.push_back(m.output(add_squeeze({m, graph, n, name_of(m, x) + "_slice"}, x, axes), 0));
    }
    for (std::int64_t trip = 0; trip < trips_; ++trip) {
      Copier copy(m, m);
      const auto inputs =
          std::vector<ValueId>(m.graph_inputs(form_.body).begin(), m.graph_inputs(form_.body).end());
      if (!form_.scan) {
        map_constant(m, copy, graph, inputs[0], [&] { return m.make_int64(trip); });
        map_constant(m, copy, graph, inputs[1],
                     [&] { return m.make_tensor(DType::Bool, {}, std::string(1, '\1')); });
      }
      for (std::size_t i = 0; i < form_.carried; ++i) copy.map(form_.input(m, i), carried[i]);
      for (std::size_t i = 0; i < form_.scan_in; ++i) copy.map(form_.input(m, form_.carried + i), scanned[i]);
      copy.nodes(form_.body, graph, n);
      for (std::size_t i = 0; i < form_.carried; ++i) carried[i] = copy.find(form_.returned(m, i));
      for (std::size_t k = 0; k < form_.scan_out; ++k)
        stacked[k].push_back(copy.find(form_.returned(m, form_.carried + k)));
    }
    for (std::size_t i = 0; i < form_.carried; ++i) {
      const ValueId result = m.output(n, i);
      if (!is_read(m, result)) continue;
      if (m.can_replace(result, carried[i])) {
        m.replace_all_uses(result, carried[i]);
      } else {
        const ValueId out[] = {m.detach_output(n, i)};
        add_operator({m, graph, n, {}, out}, OpKind::Identity, {&carried[i], 1});
      }
    }
    for (std::size_t k = 0; k < form_.scan_out; ++k) stack(m, n, k, stacked[k]);
    m.erase(n);
  }

 private:
  std::optional<std::int64_t> loop_trips(const MatchContext& c, NodeId n) const {
    const Model& m = c.model;
    if (m.input(n, 1) && is_always(c, m.input(n, 1), 0)) return 0;
    const auto count = m.input(n, 0) ? c.infer.integers(m.input(n, 0)) : std::nullopt;
    if (!count || count->size() != 1) return {};
    if (count->front() <= 0) return 0;
    if (m.input(n, 1) && !is_always(c, m.input(n, 1), 1)) return {};
    const ValueId condition = m.graph_output(form_.body, 0);
    const bool stays = condition == m.graph_inputs(form_.body)[1] || is_always(c, condition, 1);
    return stays || count->front() == 1 ? std::optional(count->front()) : std::nullopt;
  }

  // One, where a scanned extent is.
  std::optional<std::int64_t> scan_trips(const MatchContext& c, NodeId n) {
    const Model& m = c.model;
    in_axes_ = axes(m, n, names::scan_input_axes, form_.scan_in);
    out_axes_ = axes(m, n, names::scan_output_axes, form_.scan_out);
    std::optional<std::int64_t> trips;
    for (std::size_t i = 0; i < form_.scan_in; ++i) {
      const ValueId x = m.input(n, form_.carried + i);
      const auto axis = normalize_axis(in_axes_[i], c.infer.dims(x).size());
      if (!axis || !c.dims.is_constant(c.infer.dims(x)[static_cast<std::size_t>(*axis)], 1)) return {};
      in_axes_[i] = *axis;
      trips = 1;
    }
    for (std::size_t k = 0; k < form_.scan_out; ++k) {
      const ValueId v = form_.returned(m, form_.carried + k);
      if (!c.infer.has_rank(v)) return {};
      const auto axis = normalize_axis(out_axes_[k], c.infer.dims(v).size() + 1);
      if (!axis) return {};
      out_axes_[k] = *axis;
    }
    return trips;
  }
  static std::vector<std::int64_t> axes(const Model& m, NodeId n, NameId name, std::size_t count) {
    const auto given = ints_attr(m, n, name);
    if (given) return {given->begin(), given->end()};  // as many: loop_form()
    return std::vector<std::int64_t>(count);
  }

  // Returns whether several nodes do what one did in several iterations, with the same bits if that is
  // promised.
  bool may_be_copied(const MatchContext& c, NodeId n) const {
    const Model& m = c.model;
    if (m.opset(m.node(n).graph, kEmptyName) < 4) return c.no(n, "before opset 4 a Concat may lack its axis");
    // A number or condition of rank 1, which some runtimes accept.
    for (std::size_t i = 0; i < form_.first_input; ++i) {
      const Type& t = m.types[m.value(m.graph_inputs(form_.body)[i]).declared];
      if (t.kind == TypeKind::Tensor && !t.dims.empty())
        return c.no(n, "the iteration is numbered by a vector");
    }
    if (trips_ == 0) return true;
    const GraphId graph = m.node(n).graph;
    // One that holds numbers of this type holds conditions, too.
    if (!form_.scan && !m.can_hold_constant(graph, DType::Int64))
      return c.no(n, "the graph cannot hold the number of an iteration");
    std::vector<GraphId> graphs{form_.body};
    while (!graphs.empty()) {
      const GraphId g = graphs.back();
      graphs.pop_back();
      for (NodeId inner = m.first_node(g); inner; inner = m.next_node(inner)) {
        if (m.node(inner).overwrites != 0) return c.no(inner, "overwrites an operand");
        const Purity purity = facts_of(m, inner).purity;
        const bool call = m.kind(inner) == OpKind::FunctionCall;
        if (trips_ > 1 && (call || purity == Purity::Random || purity == Purity::Unknown))
          return c.no(inner, "may do something else when it is several nodes");
        if (keeps_bits(c.options.strictness) && !keeps_constancy(c, inner)) return false;
        for (const Attr& a : m.attrs(inner)) graphs.insert(graphs.end(), a.graphs.begin(), a.graphs.end());
      }
    }
    return true;
  }

  bool keeps_constancy(const MatchContext& c, NodeId inner) const {
    const Model& m = c.model;
    for (std::uint32_t slot = 0; slot < m.input_count(inner); ++slot) {
      const ValueId v = m.input(inner, slot);
      const Packing packing = packing_of(m, c.infer, inner, slot);
      if (packing == Packing::None) continue;
      if (m.value(v).graph == form_.body && m.value(v).is_input)
        return c.no(inner, "its kernel may choose by an operand that is carried");
      if (m.inside(m.value(v).graph, form_.body)) continue;
      // After unrolling, the node is in the graph around the body: one graph nearer to the operand.
      const Constancy before = constancy_of(m, v, m.node(inner).graph);
      const Constancy after = constancy_of(m, v, m.graph(m.node(inner).graph).parent);
      if (!same_packing(packing, before, after))
        return c.no(inner, "its kernel may choose by an operand that comes nearer");
    }
    return true;
  }

  bool fits_together(const MatchContext& c, NodeId n) const {
    const Model& m = c.model;
    for (std::size_t k = 0; k < form_.scan_out; ++k) {
      const ValueId result = m.output(n, form_.carried + k);
      if (!is_read(m, result)) continue;
      if (trips_ == 0) return c.no(n, "the dims of an empty stack are the body's declaration");
      if (trips_ == 1 || m.node(n).graph == m.main()) continue;
      const ValueId v = form_.returned(m, form_.carried + k);
      if (!c.infer.has_rank(v) ||
          !std::ranges::all_of(c.infer.dims(v), [&](DimId d) { return m.dims.value(d).has_value(); }))
        return c.no(n, "entries of a stacked result may not fit together");
    }
    return true;
  }

  bool pays(const MatchContext& c, NodeId n) const {
    const Model& m = c.model;
    CopyCount count(c, n, form_);
    count.count();
    if (trips_ * count.nodes() > kMostCopies) return c.no(n, "it would be very many nodes");
    if (trips_ <= 1) return true;
    std::int64_t made = trips_ * count.remaining() + count.once();
    for (std::size_t k = 0; k < form_.scan_out; ++k)
      if (is_read(m, m.output(n, form_.carried + k))) made += trips_ + 1;
    return made <= count.nodes() + 1 || c.no(n, "the iterations would be more nodes than the loop");
  }

  static std::string name_of(const Model& m, ValueId v) { return std::string(m.text(m.value(v).name)); }

  // A body's input that is the same constant for all of a copy; what it returns as its condition is not read.
  template <class Make>
  static void map_constant(Model& m, Copier& copy, GraphId graph, ValueId input, Make make) {
    const NodeId ret = m.graph(m.value(input).graph).ret;
    bool read = false;
    for (UseId u = m.first_use(input); u; u = m.next_use(u)) read = read || m.user(u) != ret;
    for (std::size_t i = 1; i < m.input_count(ret); ++i) read = read || m.input(ret, i) == input;
    if (!read) return;
    const std::string base = name_of(m, input);
    copy.map(input, m.add_initializer(graph, base, make()));
  }

  // Makes the stacked result k of its entries.
  void stack(Model& m, NodeId n, std::size_t k, std::vector<ValueId> entries) const {
    const std::size_t slot = form_.carried + k;
    const ValueId result = m.output(n, slot);
    if (!is_read(m, result)) return;
    const GraphId graph = m.node(n).graph;
    const std::string base = name_of(m, result) + "_entry";
    const std::int64_t axes[] = {form_.scan ? out_axes_[k] : 0};
    const ValueId out[] = {m.detach_output(n, slot)};
    if (entries.size() == 1) {
      add_unsqueeze({m, graph, n, base, out}, entries[0], axes);
      return;
    }
    ValueId list;  // one for all, where it is an operand
    for (ValueId& v : entries) {
      const NodeId made = add_unsqueeze({m, graph, n, base, {}, list}, v, axes);
      list = m.input(made, 1);
      v = m.output(made, 0);
    }
    const IntAttr along{names::axis, axes[0]};
    add_operator({m, graph, n, {}, out}, OpKind::Concat, entries, {&along, 1});
  }

  LoopForm form_;
  std::int64_t trips_ = 0;
  std::vector<std::int64_t> in_axes_, out_axes_;  // of a Scan
};

}  // namespace

extern constinit const PassInfo unroll_loops = {
    .name = "unroll-loops",
    .summary = "replace Loops and Scans by their iterations where these are few",
    .exact = Exact::Yes,
    .level = 1,
    .make = make_pass<RulePass<UnrollLoop>>};

}  // namespace graphopt
