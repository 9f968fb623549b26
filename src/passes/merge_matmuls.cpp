// merge-matmuls: makes one matrix product of several that multiply one value by constant weights.
//
// Problem: queries, keys and values, gates and experts multiply one activation by a weight each: several
// launches, none of which may fill the device.
// Method: MatMuls of one value by constants [K, N_i], or Gemms of one value with equal alpha, beta, transA
// and transB, become one with the weights joined along the output axis, and a Split. Biases of Gemms
// are joined, too. Elementwise nodes downstream of each product (the Adds of biases after MatMuls) follow in
// aggregate-elementwise, which merges equal ones on all branches of the Split.
// Rounds: each element is the sum of the same K products, but a kernel may add them in another order if its
// matrix is wider. Each of the two sums is within K * eps * sum |x||w| of the true one. So -O3 only; integers
// are exact.
// Lowers: (C', products). C' (hoist/cost.h) counts launches: elementwise nodes in the epilogue of a product
// cost none, so those that would stay downstream of the Split count against the merge.
// Ends: the number of products falls.
// Left alone: weights and biases that other nodes read, that are inputs or outputs, or of other types;
// products with a bias next to ones without; more than kMostJoinedBytes of weights (they are copied in
// memory). Gain: none on a CPU (three products 256 x 256, 1 to 128 rows: 0.98 to 1.01 of the time; real
// models 0.99 to 1.09, as the Split copies); it is for devices where a launch is expensive.
// --disable-pass=merge-matmuls keeps it off.
//
//   a = MatMul (x, u)                     y = MatMul (x, u_v_w)
//   b = MatMul (x, v)           =>        a, b, c = Split <axis = 1> (y, lengths)
//   c = MatMul (x, w)

#include <algorithm>
#include <string>
#include <vector>

#include "hoist/split_epilogues.h"
#include "ops/attributes.h"
#include "ops/node_facts.h"
#include "ops/same_attributes.h"
#include "passes/joined_constants.h"
#include "passes/rule_pass.h"
#include "rewrite/build.h"
#include "rewrite/cost.h"
#include "rewrite/match.h"

namespace graphopt {
namespace {

constexpr std::uint32_t kMostProducts = 1024;  // of one value: each of them visits all readers

class MergeMatMuls final : public Rule {
 public:
  static constexpr Counter kCounter{"merged", "groups of products that became one"};
  std::string_view name() const override { return "products"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::MatMul, OpKind::Gemm>; }

  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    Product first;
    if (!read(c, n, first)) return false;
    const ValueId x = m.input(n, 0);
    if (m.constant_of(x)) return c.no(n, "it multiplies constants");
    if (m.use_count(x) > kMostProducts) return c.no(n, "its operand has too many readers");
    if (!c.infer.has_rank(m.output(n, 0))) return c.no(n, "the rank of the result is not known");
    axis_ = static_cast<std::int64_t>(c.infer.dims(m.output(n, 0)).size()) - 1;
    group_.clear();
    const MatchContext other = c.without_reasons();
    for (UseId u = m.first_use(x); u; u = m.next_use(u)) {
      const NodeId s = m.user(u);
      Product p;
      if (m.slot(u) == 0 && m.node(s).graph == m.node(n).graph && m.kind(s) == m.kind(n) &&
          read(other, s, p) && alike(m, first, p))
        group_.push_back(p);
    }
    std::ranges::sort(group_, [&](const Product& a, const Product& b) { return m.before(a.node, b.node); });
    // All of them, or else those with the same operator downstream as this one.
    if (worth_it(c, n)) return true;
    const NodeId next = epilogue_of(c.model, c.infer, m.output(n, 0));
    std::erase_if(group_, [&](const Product& p) {
      const NodeId other = epilogue_of(c.model, c.infer, m.output(p.node, 0));
      return next.valid() != other.valid() || (next && m.kind(next) != m.kind(other));
    });
    return worth_it(c, n);
  }

  void apply(PassContext& c, NodeId) override {
    Model& m = c.model;
    const NodeId n = group_[0].node;  // users of any of them come after the first
    const GraphId g = m.node(n).graph;
    const std::string base = std::string(m.text(m.value(m.output(n, 0)).name)) + "_joined";
    std::vector<ValueId> operands{m.input(n, 0)}, parts;
    const auto operand = [&](std::size_t slot, TensorId t) {
      const Value& like = m.value(m.input(n, slot));
      operands.push_back(m.add_initializer(like.graph, m.text(like.name), t));
    };
    operand(1, join_constants(m, all(&Product::weight), group_[0].by_rows ? 0 : 1));
    if (group_[0].bias) operand(2, join_biases(m));
    std::vector<std::int64_t> lengths;
    for (const Product& p : group_) {
      parts.push_back(m.detach_output(p.node, 0));
      lengths.push_back(p.columns);
    }
    const ValueId joined = m.add_value(g, m.fresh_name(base));
    m.add_node_as(n, g, operands, std::span(&joined, 1), n);
    add_split({m, g, n, base, parts}, joined, axis_, lengths);
  }

 private:
  struct Product {
    NodeId node;
    TensorId weight, bias;  // bias: none where the node has none
    bool by_rows = false;   // the weight is [N, K]
    std::int64_t inner = 0, columns = 0;
  };

  std::vector<TensorId> all(TensorId Product::* part) const {
    std::vector<TensorId> out;
    for (const Product& p : group_)
      if (p.*part) out.push_back(p.*part);
    return out;
  }

  static bool read(const MatchContext& c, NodeId n, Product& p) {
    using namespace pattern;
    const Model& m = c.model;
    const auto own = [](TensorId& t) {  // of this graph or of an outer one
      return constant(t).where("is read elsewhere, too",
                               [](const MatchContext& v, ValueId w) { return v.model.use_count(w) == 1; });
    };
    const auto product = op(m.kind(n), any(), own(p.weight), optional(own(p.bias)));
    if (!matches(c, n, product.opset(7).bind(p.node))) return false;
    if (m.is_fixed(m.output(n, 0))) return c.no(n, "the result must stay what it is");
    if (is_joined(m, m.output(n, 0))) return c.no(n, "it is the result of a merge");
    const Tensor& t = m.tensor(p.weight);
    if (t.dims.size() != 2 || t.dims[0] < 1 || t.dims[1] < 1 || bits_of(t.dtype) < 8)
      return c.no(n, "the weight does not have rank 2, or has elements of less than a byte");
    p.by_rows = m.kind(n) == OpKind::Gemm && int_attr(m, n, names::transB).value_or(0) != 0;
    p.inner = t.dims[p.by_rows ? 1 : 0];
    p.columns = t.dims[p.by_rows ? 0 : 1];
    if (!p.bias) return true;
    // One element, or one per column: what a row of biases can be joined from.
    const Tensor& b = m.tensor(p.bias);
    return (b.dtype == t.dtype && b.dims.size() <= 2 &&
            (b.elements == 1 || (b.elements == p.columns && b.dims.back() == p.columns))) ||
           c.no(n, "the bias has neither one element nor one per column");
  }

  // Returns whether the product is the result of a merge, whose Split reads it; merging it again with the
  // products that were left out would undo their choice.
  static bool is_joined(const Model& m, ValueId y) {
    const NodeId user = m.single_user(y);
    return user && m.kind(user) == OpKind::Split;
  }

  static bool alike(const Model& m, const Product& a, const Product& b) {
    return m.tensor(a.weight).dtype == m.tensor(b.weight).dtype && a.inner == b.inner &&
           a.bias.valid() == b.bias.valid() && same_attributes(m, a.node, b.node);
  }

  bool worth_it(const MatchContext& c, NodeId n) const {
    // The group may be empty: an attribute without content differs from itself.
    if (group_.size() < 2) return c.no(n, "no other product of the same value is like it");
    std::vector<TensorId> constants = all(&Product::weight);
    if (!may_be_copied(c.model, constants)) return c.no(n, "the weights are too large to be copied");
    // Launches before: the products. After: one product, the Split, and the rest of the epilogues.
    if (2 + left_behind(c) > group_.size()) return c.no(n, "it would not have fewer launches");
    for (const TensorId t : all(&Product::bias)) constants.push_back(t);
    return have_payloads(c.model, constants) || c.no(n, "a weight or bias cannot be read");
  }

  std::size_t left_behind(const MatchContext& c) const {
    std::vector<ValueId> results;
    std::int64_t columns = 0;
    for (const Product& p : group_) {
      results.push_back(c.model.output(p.node, 0));
      columns += p.columns;
    }
    return left_behind_split(c.model, c.infer, results, columns);
  }

  // A bias of one element is repeated for each column of its product.
  TensorId join_biases(Model& m) const {
    std::vector<Tensor> biases;
    for (const Product& p : group_) {
      Tensor bias = unpacked(m, p.bias).value();
      bias.dims = {bias.elements};
      const Tensor columns = int64_tensor(std::span(&p.columns, 1));
      biases.push_back(evaluate(m, {OpKind::Expand, kNewestOpset}, {&bias, &columns}).results[0]);
    }
    return join_tensors(m, biases, 0);
  }

  std::vector<Product> group_;  // in the order of the graph
  std::int64_t axis_ = 0;
};

}  // namespace

extern constinit const PassInfo merge_matmuls = {
    .name = "merge-matmuls",
    .summary = "make one product of several that multiply a value by constant weights",
    .exact = Exact::No,
    .level = 3,
    .make = make_pass<RulePass<MergeMatMuls>>};

}  // namespace graphopt
