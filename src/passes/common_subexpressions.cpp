// common-subexpressions: computes equal things once.
//
// Problem: exporters read the same shape at every use and cast, unsqueeze and compare it anew in every layer.
// Method: nodes are visited in topological order, graph by graph, with a hash table of the nodes visited.
//   equal-node    same operator, same operands (the first two in any order where that is exact), same
//                 attributes (absent = default), both pure: users of the later node's results read the
//                 earlier one's. As operands are replaced before their users are visited, one walk finds all.
//   equal-value   inference knows every element of two small integer results as expressions, and the
//                 expressions are the same: the values are equal in every run, although they may be computed
//                 in different ways. The first one in canonical order is kept; since it is also one of least
//                 depth, no cycle can arise. It may have to move upstream of its new users. Then the graph is
//                 walked again.
//   first-output  equal nodes whose results are outputs all stay; other users read the result that is the
//                 first output, whichever comes first in the file: so the result does not depend on the
//                 file's order.
// Exact: a pure operator gives equal results for equal operands; equal expressions are proven equal.
// Lowers: nodes. Ends: each rewrite leaves a node without use.
// Left alone: bodies that read another output than the first; random operators (two draws stay two), nodes
// with subgraphs, unknown operators, nodes whose optional results differ, results that are outputs whose name
// the earlier value cannot take.
//
//   a = Add (x, w)  b = Add (w, x)  y = Mul (a, b)      =>      a = Add (x, w)  y = Mul (a, a)

#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/bodies.h"
#include "ir/canonical_order.h"
#include "ir/topological_order.h"
#include "ops/node_facts.h"
#include "ops/same_attributes.h"
#include "passes/pass.h"
#include "rewrite/dead.h"
#include "rewrite/outputs.h"
#include "rewrite/refusals.h"
#include "support/hash_chains.h"

namespace graphopt {
namespace {

class CommonSubexpressions final : public Pass {
 public:
  bool run(PassContext& c) override {
    const std::uint64_t before = total();
    DeadSweeper dead(c.model);
    CanonicalOrder order(c.model);
    Refusals refusals(c);
    refusals_ = &refusals;
    for (std::size_t g = 0; g < c.model.graph_count(); ++g) {
      const GraphId graph{g};
      std::uint64_t merged = 0;
      do {
        merged = counters_[1].value;
        if (!c.model.graph(graph).alive || !merge_nodes(c, graph, dead) || !read_first_outputs(c)) break;
        merge_values(c, graph, order);
        dead.sweep();
      } while (counters_[1].value > merged);
    }
    return total() > before;
  }
  std::span<const Counter> counters() const override { return counters_; }

 private:
  static constexpr std::size_t kMostKept = 4;  // of equal values, that others are compared with
  static constexpr std::string_view kEqualNode = "equal-node", kEqualValue = "equal-value";

  void refuse(const Model& m, NodeId n, std::string_view rule, ValueId first) {
    if (!refusals_->wanted()) return;
    const std::string name = first ? std::string(m.text(m.value(first).name)) : "";
    refusals_->note(rule, n, "the equal '" + name + "' cannot take its place");
  }

  std::uint64_t total() const { return counters_[0].value + counters_[1].value + counters_[2].value; }

  // Returns true if the node gives equal results for equal operands, and its attributes can be compared.
  static bool comparable(const Model& m, NodeId n) {
    const OpKind kind = m.kind(n);
    if (kind == OpKind::Opaque || kind == OpKind::FunctionCall || kind == OpKind::Constant) return false;
    return facts_of(m, n).purity == Purity::Pure && m.node(n).overwrites == 0 && !has_bodies(m, n);
  }

  // Returns false when the journal's budget is used up; so do the other functions that return bool.
  bool merge_nodes(PassContext& c, GraphId g, DeadSweeper& dead) {
    const Model& m = c.model;
    nodes_.reset(m.graph(g).node_count);
    equal_outputs_.clear();
    // Merging erases nodes on both sides of n: those that only n read, and users of n that nothing reads.
    listed_.clear();
    for (NodeId n = m.first_node(g); n; n = m.next_node(n)) listed_.push_back(n);
    for (const NodeId n : listed_) {
      if (!m.alive(n)) continue;
      if (comparable(m, n) && !merge_node(c, n, facts_of(m, n))) return false;
      dead.sweep();
    }
    return true;
  }

  bool merge_node(PassContext& c, NodeId n, const OpFacts& row) {
    Model& m = c.model;
    const std::uint64_t hash = key(m, n, row);
    const NodeId* first = nodes_.find(
        hash, [&](NodeId candidate) { return m.alive(candidate) && equal(m, candidate, n, row); });
    if (first == nullptr) {
      nodes_.insert(hash, n);
      return true;
    }
    // A node without readers that is there already stays: dead-code has it.
    if (std::ranges::none_of(m.outputs(n), [&m](ValueId v) { return v && m.use_count(v) > 0; })) return true;
    // The table has only the first of equal nodes: 10^5 equal outputs must not be compared with each other.
    if (!replaceable(m, n, *first)) {
      if (slot_of(m, n) != kNoOutput && slot_of(m, *first) != kNoOutput)
        equal_outputs_.emplace_back(*first, n);
      refuse(m, n, kEqualNode, m.output(*first, 0));
      return true;
    }
    if (!c.journal.allow(m, n, kEqualNode)) return false;
    for (std::size_t i = 0; i < m.output_count(n); ++i)
      if (const ValueId v = m.output(n, i); v && m.use_count(v) > 0)
        m.replace_all_uses(v, m.output(*first, i));
    ++counters_[0].value;
    return true;
  }

  // Returns the position among the outputs of the node's one result; kNoOutput when it is no output, or when
  // its users must not change.
  static std::uint32_t slot_of(const Model& m, NodeId n) {
    const ValueId v = m.output(n, 0);
    return m.output_count(n) != 1 || !v || m.is_fixed(v) ? kNoOutput : output_slot(m, v);
  }

  bool read_first_outputs(PassContext& c) {
    Model& m = c.model;
    // Sorted by the first node of each group; of each group, the one that is the first output is kept.
    std::ranges::stable_sort(equal_outputs_, {}, [](const auto& pair) { return pair.first; });
    std::vector<NodeId> group;
    for (std::size_t i = 0; i < equal_outputs_.size();) {
      const NodeId first = equal_outputs_[i].first;
      group.assign(1, first);
      for (; i < equal_outputs_.size() && equal_outputs_[i].first == first; ++i)
        group.push_back(equal_outputs_[i].second);
      const NodeId best = *std::ranges::min_element(group, {}, [&m](NodeId n) { return slot_of(m, n); });
      for (const NodeId n : group)
        if (n != best && !read_instead(c, n, first, best)) return false;
    }
    return true;
  }

  // Users of n's result read that of `best` from now on. `best` is moved before `first`, which has the same
  // operands.
  bool read_instead(PassContext& c, NodeId n, NodeId first, NodeId best) {
    Model& m = c.model;
    std::vector<UseId> inner;
    for (UseId u = m.first_use(m.output(n, 0)); u; u = m.next_use(u))
      if (m.node(m.user(u)).graph == m.node(n).graph && !m.is_return(m.user(u)) &&
          m.may_read(u, m.output(best, 0)))
        inner.push_back(u);
    if (inner.empty()) return true;
    if (!c.journal.allow(m, n, "first-output")) return false;
    if (best != first) m.move_before(best, first);
    for (const UseId u : inner) m.set_operand(m.user(u), m.slot(u), m.output(best, 0));
    ++counters_[2].value;
    return true;
  }

  void merge_values(PassContext& c, GraphId g, CanonicalOrder& order) {
    Model& m = c.model;
    values_.reset(0);
    equal_values_.clear();
    for (NodeId n = m.first_node(g); n; n = m.next_node(n))
      if (comparable(m, n)) compare_value(c, n);
    if (equal_values_.empty()) return;

    order.compute(g);
    place_.resize(m.node_count());
    for (std::uint32_t i = 0; i < order.order().size(); ++i)
      place_[order.nodes()[order.order()[i]].index()] = i;
    const auto place_of = [&](ValueId v) { return place_[m.value(v).def.index()]; };
    std::ranges::stable_sort(equal_values_, {}, [](const auto& pair) { return pair.first; });
    bool allowed = true, moves = false;
    std::vector<ValueId> group;
    for (std::size_t i = 0; i < equal_values_.size() && allowed;) {
      const ValueId first = equal_values_[i].first;
      group.assign(1, first);
      for (; i < equal_values_.size() && equal_values_[i].first == first; ++i)
        group.push_back(equal_values_[i].second);
      std::ranges::sort(group, {}, place_of);
      std::vector<ValueId> kept_values = {group[0]};  // further ones where the first cannot take the place
      for (const ValueId v : group) {
        if (!allowed || v == group[0]) continue;
        const auto found = std::ranges::find_if(kept_values, [&](ValueId k) { return m.can_replace(v, k); });
        if (found == kept_values.end()) {
          refuse(m, m.value(v).def, kEqualValue, group[0]);
          if (kept_values.size() < kMostKept) kept_values.push_back(v);
          continue;
        }
        const ValueId kept = *found;
        allowed = c.journal.allow(m, m.value(v).def, kEqualValue);
        if (!allowed) continue;
        moves |= m.before(m.value(v).def, m.value(kept).def);  // users of v may come before it
        m.replace_all_uses(v, kept);
        ++counters_[1].value;
      }
    }
    if (moves) put_in_order(m, topological_order(m, g));
  }

  void compare_value(PassContext& c, NodeId n) {
    Model& m = c.model;
    const ValueId v = m.output(n, 0);
    if (m.output_count(n) != 1 || !v || m.use_count(v) == 0) return;
    const SymbolicTensor* s = c.infer.symbolic(v);
    if (s == nullptr || s->elements.empty() || s->dtype != c.infer.dtype(v)) return;
    if (!is_int(s->dtype) && s->dtype != DType::Bool) return;  // a zero of a floating type has a sign
    std::vector<DimId> elements;
    std::uint64_t h = mix_hash(static_cast<std::uint64_t>(s->dtype), s->dims.size());
    for (const std::int64_t d : s->dims) h = mix_hash(h, static_cast<std::uint64_t>(d));
    for (const DimId e : s->elements) {
      if (!e) return;
      elements.push_back(m.dims.canonical(e));
      h = mix_hash(h, elements.back().index());
    }
    const Known* first = values_.find(h, [&](const Known& k) {
      return k.dtype == s->dtype && k.dims == s->dims && k.elements == elements;
    });
    if (first == nullptr) values_.insert(h, {v, s->dtype, s->dims, std::move(elements)});
    else equal_values_.emplace_back(first->value, v);
  }

  // The first two operands; none stands for those that the node does not have.
  static std::array<ValueId, 2> ordered(const Model& m, NodeId n) {
    const ValueId a = m.input(n, 0), b = m.input(n, 1);
    return a < b ? std::array{a, b} : std::array{b, a};
  }

  static std::uint64_t key(const Model& m, NodeId n, const OpFacts& row) {
    std::uint64_t h = mix_hash(m.node(n).op.index(), m.input_count(n));
    // In any order, as for commutative operators; equal() looks at the order of the others.
    for (const ValueId v : ordered(m, n)) h = mix_hash(h, v.index());
    for (std::size_t i = 2; i < m.input_count(n); ++i) h = mix_hash(h, m.input(n, i).index());
    // Attributes often have the same name and text; their contents are compared in equal(). A node with a
    // distinguishing attribute (axis, to, perm, value) should not share a bucket with similar nodes, though.
    std::uint64_t sum = 0;
    for (const Attr& a : m.attrs(n)) {
      if (is_default_attribute(find_attribute(row, m.text(a.name)), a)) continue;
      std::uint64_t x = mix_hash(a.name.index(), static_cast<std::uint64_t>(a.i));
      for (const std::int64_t e : a.ints) x = mix_hash(x, static_cast<std::uint64_t>(e));
      x = mix_hash(x, std::bit_cast<std::uint32_t>(a.f));
      if (a.tensor) x = mix_hash(x, m.content_hash(a.tensor).low);
      sum += x;  // the order of attributes has no meaning
    }
    return mix_hash(h, sum);
  }

  static bool equal(const Model& m, NodeId a, NodeId b, const OpFacts& row) {
    if (m.node(a).op != m.node(b).op || m.input_count(a) != m.input_count(b) ||
        m.output_count(a) < m.output_count(b))
      return false;
    std::size_t from = 0;
    if (row.commutative) {
      if (ordered(m, a) != ordered(m, b)) return false;
      from = 2;
    }
    for (std::size_t i = from; i < m.input_count(a); ++i)
      if (m.input(a, i) != m.input(b, i)) return false;
    return same_attributes(m, a, b);
  }

  // Every used result of n must have a counterpart in `first` that may replace it. The number of results of a
  // variadic operator has a meaning (Split), so it must be the same.
  static bool replaceable(const Model& m, NodeId n, NodeId first) {
    if (m.output_count(n) != m.output_count(first)) return false;
    for (std::size_t i = 0; i < m.output_count(n); ++i) {
      const ValueId v = m.output(n, i);
      if (v && m.use_count(v) > 0 && !m.can_replace(v, m.output(first, i))) return false;
    }
    return true;
  }

  struct Known {
    ValueId value;
    DType dtype;
    std::vector<std::int64_t> dims;
    std::vector<DimId> elements;
  };
  Refusals* refusals_ = nullptr;  // of this run
  HashChains<NodeId> nodes_;
  HashChains<Known> values_;
  std::vector<std::pair<NodeId, NodeId>>
      equal_outputs_;           // (the first of equal nodes, a later one), both outputs
  std::vector<NodeId> listed_;  // the nodes of a graph when its walk began
  std::vector<std::pair<ValueId, ValueId>> equal_values_;  // (the first of equal values, a later one)
  std::vector<std::uint32_t> place_;  // by NodeId: position in the canonical order of the present graph
  std::array<Counter, 3> counters_{{{"nodes", "nodes equal to an earlier one"},
                                    {"values", "integer results proven equal to an earlier one"},
                                    {"outputs", "equal outputs of which the first is read from now on"}}};
};

}  // namespace

extern constinit const PassInfo common_subexpressions = {
    .name = "common-subexpressions",
    .summary = "compute equal nodes and equal integer values once",
    .exact = Exact::Yes,
    .level = 1,
    .make = make_pass<CommonSubexpressions>,
    .new_operators = NewOperators::Never};

}  // namespace graphopt
