// batch-products: removes the Reshapes around a product of matrices, where MatMul takes all dims of the data.
//
// Problem: frameworks whose linear layer takes matrices write the layer on a batch of sequences as Reshape,
// MatMul or Gemm, Reshape. MatMul itself takes operands of more dims.
// Method: peephole, from the deformation downstream of a product. Upstream of the product is a deformation of
// x that joins all axes but the last one, downstream is one that restores them, proven for all sizes. Then
// the product is the MatMul of x by the same matrix; what a Gemm adds is an Add downstream of it. Two rules:
//   product   what is described above
//   axes      the same where the deformations only insert and remove axes of extent 1: of the axes before
//             both matrices, or of a vector that is written as a matrix
// Rounds: MatMul computes each row of x from the same terms, maybe in another order, as a kernel may choose
// by the number of rows; Gemm may add its third operand before the products, Add does after. Each of two such
// sums is within (K + 1) * eps * (sum |a||b| + |c|) of the true one. NaN and infinities stay where they are
// as long as no partial sum overflows.
// Lowers: nodes: two Reshapes go, or one where others read the first; of a Gemm with a third operand, which
// becomes two nodes, both must go. Ends: each rewrite removes a deformation and makes none.
// Left alone: products that something else reads; Gemms with other factors than 1, a transposed first
// operand, or a transposed second one that is no constant of its own; a third operand that differs by row;
// element types for which ONNX Runtime has no MatMul in the opset.
//
//   r = Reshape (x, s)             # [batch, length, 8] -> [batch * length, 8]
//   p = MatMul (r, w)
//   y = Reshape (p, t)             # -> [batch, length, 4]              =>      y = MatMul (x, w)

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "ops/attributes.h"
#include "ops/constants.h"
#include "ops/deformation.h"
#include "ops/facts_kernels.h"
#include "ops/fold.h"
#include "passes/rule_pass.h"
#include "rewrite/build.h"

namespace graphopt {
namespace {

// Readers of one deformation that are asked whether they stop reading it.
constexpr std::uint32_t kMostRowReaders = 64;

class BatchProduct final : public Rule {
 public:
  static constexpr Counter kCounter{"batched", "products that lost the Reshapes around them"};
  std::string_view name() const override { return "product"; }
  std::span<const OpKind> roots() const override { return kDeformations; }

  bool match(const MatchContext& c, NodeId n) override {
    if (!reads_product(c, n, found_)) return false;
    if (!found_.bias) return true;
    // Gemm becomes two nodes: both deformations have to go.
    const Model& m = c.model;
    if (m.is_fixed(found_.rows) || m.use_count(found_.rows) > kMostRowReaders)
      return c.no(n, "others read the rows as well");
    for (UseId u = m.first_use(found_.rows); u; u = m.next_use(u)) {
      const NodeId reader = m.user(u);
      const ValueId made = m.output(reader, 0);
      const NodeId end = made ? m.single_user(made) : NodeId{};
      Found other;
      if (m.slot(u) != 0 || !end || !reads_product(c.without_reasons(), end, other) ||
          other.product != reader)
        return c.no(n, "the Gemm would become two nodes, and others read the rows as well");
    }
    return true;
  }

  void apply(PassContext& c, NodeId n) override {
    Model& m = c.model;
    const ValueId y = m.detach_output(n, 0);
    const GraphId g = m.node(n).graph;
    const ValueId weight = found_.transposed ? transposed_weight(m, g) : found_.weight;
    const std::array<ValueId, 2> operands{found_.x, weight};
    const Site last{m, g, n, {}, {&y, 1}};
    if (found_.bias) {
      const std::string base(m.text(m.value(m.output(found_.product, 0)).name));
      const NodeId product = add_operator({m, g, n, base}, OpKind::MatMul, operands);
      const std::array<ValueId, 2> terms{m.output(product, 0), found_.bias};
      add_operator(last, OpKind::Add, terms);
    } else {
      add_operator(last, OpKind::MatMul, operands);
    }
  }

 private:
  struct Found {
    NodeId product;
    ValueId x, rows, weight, bias;
    bool transposed = false;
  };

  // Returns whether n restores the axes that a deformation in front of a product joined.
  static bool reads_product(const MatchContext& c, NodeId n, Found& out) {
    const Model& m = c.model;
    const ValueId p = m.input(n, 0), y = m.output(n, 0);
    if (!p || !y || !is_deformation(m.kind(n)) || m.use_count(y) == 0) return false;
    out = {};
    out.product = m.value(p).def;
    const OpKind kind = out.product ? m.kind(out.product) : OpKind::Opaque;
    if (kind != OpKind::MatMul && kind != OpKind::Gemm) return false;
    if (m.single_user(p) != n || m.is_fixed(y)) return c.no(out.product, "something else reads the product");
    if (m.opset(n) < 7) return c.no(out.product, "is of an opset below 7");
    if (!attributes_known(m, out.product) || !attributes_known(m, n))
      return c.no(out.product, "it, or the Reshape beside it, has unknown attributes");
    const DType type = c.infer.dtype(p);
    if (!runs_as_one_node(OpKind::MatMul, m.opset(n), type))
      return c.no(out.product, "MatMul has no kernel for the element type");
    out.rows = m.input(out.product, 0);
    out.weight = m.input(out.product, 1);
    if (kind == OpKind::Gemm && !takes_gemm(c, out)) return false;
    const NodeId join = out.rows ? m.value(out.rows).def : NodeId{};
    if (!join || !is_deformation(m.kind(join)) || m.node(join).graph != m.node(n).graph ||
        !attributes_known(m, join))
      return c.no(out.product, "no Reshape, Squeeze, Unsqueeze or Flatten makes its first operand");
    out.x = m.input(join, 0);
    if (!out.x || !out.weight || m.is_fixed(out.x) || m.constant_of(out.x))
      return c.no(join, "its operand is a constant or must stay as it is");
    return dims_fit(c, n, out, y);
  }

  static bool takes_gemm(const MatchContext& c, Found& out) {
    const Model& m = c.model;
    const NodeId g = out.product;
    if (int_attr(m, g, names::transA) != 0 || float_attr(m, g, names::alpha) != 1.0F ||
        float_attr(m, g, names::beta) != 1.0F)
      return c.no(g, "the Gemm scales, or transposes its first operand");
    out.transposed = int_attr(m, g, names::transB).value_or(1) != 0;
    if (out.transposed &&
        (!out.weight || m.single_user(out.weight) != g || !payload_of(m, m.constant_of(out.weight))))
      return c.no(g, "the transposed operand is no constant of its own");
    out.bias = m.input(g, 2);
    if (!out.bias) return true;
    if (!c.infer.has_rank(out.bias) || c.infer.dims(out.bias).size() > 2)
      return c.no(g, "the rank of what is added is not known");
    const auto dims = c.infer.dims(out.bias);
    return dims.size() < 2 || m.dims.is_constant(dims[0], 1) || c.no(g, "what is added may differ by row");
  }

  static bool dims_fit(const MatchContext& c, NodeId n, const Found& f, ValueId y) {
    const Model& m = c.model;
    for (const ValueId v : {f.x, f.rows, f.weight, y})
      if (!c.infer.has_rank(v)) return c.no(n, "a rank is not known");
    const auto x = c.infer.dims(f.x), rows = c.infer.dims(f.rows), out = c.infer.dims(y);
    const auto weight = c.infer.dims(f.weight);
    if (x.size() < 2 || rows.size() != 2 || weight.size() != 2 || out.size() != x.size())
      return c.no(n, "the Reshape after the product does not restore the rank of the data");
    const auto same = [&m](DimId a, DimId b) { return m.dims.equal(a, b) == Tri::Yes; };
    const std::size_t last = x.size() - 1;
    if (!same(x[last], rows[1])) return c.no(n, "the last axis of the data is cut or joined");
    if (!same(out[last], weight[f.transposed ? 0 : 1]))
      return c.no(n, "the last axis of the product is cut or joined");
    return std::equal(x.begin(), x.end() - 1, out.begin(), same) ||
           c.no(n, "the other axes are not proven to be those of the data");
  }

  ValueId transposed_weight(Model& m, GraphId g) const {
    const Tensor weight = unpacked(m, m.constant_of(found_.weight)).value();
    Folded turned = evaluate(m, {OpKind::Transpose, kNewestOpset}, {&weight});
    return m.add_initializer(g, m.text(m.value(found_.weight).name),
                             m.add_tensor(std::move(turned.results[0])));
  }

  Found found_;
};

// One operand of a product, and what it is without the deformation in front of it.
struct Side {
  ValueId value;
  std::vector<DimId> batch;  // all dims but the last two, or all but the only one
  bool vector = false;
};

class FreeProduct final : public Rule {
 public:
  static constexpr Counter kCounter{"freed",
                                    "products that lost deformations which only move axes of extent 1"};
  std::string_view name() const override { return "axes"; }
  std::span<const OpKind> roots() const override { return kDeformations; }

  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    const ValueId p = m.input(n, 0), y = m.output(n, 0);
    product_ = p ? m.value(p).def : NodeId{};
    if (!product_ || m.kind(product_) != OpKind::MatMul) return c.no(n, "its operand is no MatMul");
    if (m.single_user(p) != n || m.is_fixed(y)) return c.no(product_, "something else reads the product");
    if (!attributes_known(m, product_) || !attributes_known(m, n))
      return c.no(product_, "it, or the Reshape beside it, has unknown attributes");
    const auto left = side(c, product_, 0), right = side(c, product_, 1);
    if (!left || !right) return c.no(product_, "a rank is not known");
    if (left->value == m.input(product_, 0) && right->value == m.input(product_, 1))
      return c.no(product_, "no operand comes from a Reshape that only adds or removes axes of extent 1");
    if (!c.infer.has_rank(y) || !fits(c, *left, *right, y))
      return c.no(n, "without the Reshapes the product may have other dims");
    operands_ = {left->value, right->value};
    return true;
  }

  void apply(PassContext& c, NodeId n) override {
    Model& m = c.model;
    const ValueId y = m.detach_output(n, 0);
    add_operator({m, m.node(n).graph, n, {}, {&y, 1}}, OpKind::MatMul, operands_);
  }

 private:
  static bool is_one(const MatchContext& c, DimId d) { return c.model.dims.is_constant(d, 1); }
  static bool same(const MatchContext& c, DimId a, DimId b) { return c.model.dims.equal(a, b) == Tri::Yes; }
  static std::vector<DimId> without_ones(const MatchContext& c, std::span<const DimId> dims) {
    std::vector<DimId> out;
    for (const DimId d : dims)
      if (!is_one(c, d)) out.push_back(d);
    return out;
  }
  static bool alike(const MatchContext& c, std::span<const DimId> a, std::span<const DimId> b) {
    return std::ranges::equal(a, b, [&](DimId x, DimId y) { return same(c, x, y); });
  }

  static std::optional<Side> side(const MatchContext& c, NodeId product, std::size_t slot) {
    const Model& m = c.model;
    const ValueId given = m.input(product, slot);
    if (c.infer.dims(given).size() < 2) return std::nullopt;
    const auto dims = c.infer.dims(given);
    Side out{given, {dims.begin(), dims.end() - 2}};
    const NodeId d = m.value(given).def;
    if (!d || !is_deformation(m.kind(d)) || m.node(d).graph != m.node(product).graph ||
        !attributes_known(m, d))
      return out;
    const ValueId x = m.input(d, 0);
    if (!x || m.is_fixed(x) || m.constant_of(x)) return out;
    const auto from = c.infer.dims(x);
    if (from.size() == 1) {
      // [K] as [1, K] on the left, or as [K, 1] on the right.
      const DimId unit = dims[dims.size() - (slot == 0 ? 2 : 1)],
                  whole = dims[dims.size() - (slot == 0 ? 1 : 2)];
      if (is_one(c, unit) && same(c, whole, from[0]) && without_ones(c, out.batch).empty())
        return Side{x, {}, true};
      return out;
    }
    if (from.size() < 2 || !alike(c, from.last(2), dims.last(2))) return out;
    const auto batch = from.first(from.size() - 2);
    if (!alike(c, without_ones(c, batch), without_ones(c, out.batch))) return out;
    return Side{x, {batch.begin(), batch.end()}};
  }

  // Whether the product of the two has the dims of y, with its entries in the same order.
  bool fits(const MatchContext& c, const Side& left, const Side& right, ValueId y) const {
    const Model& m = c.model;
    const auto a = c.infer.dims(m.input(product_, 0)), b = c.infer.dims(m.input(product_, 1));
    // Nothing broadcasts against something else: one has all batch axes, the other has the same or none.
    const auto x = without_ones(c, left.batch), z = without_ones(c, right.batch);
    if (!x.empty() && !z.empty() && !(alike(c, x, z) && alike(c, left.batch, right.batch))) return false;
    const auto before_a = without_ones(c, a.first(a.size() - 2)),
               before_b = without_ones(c, b.first(b.size() - 2));
    if (!before_a.empty() && !before_b.empty() && !alike(c, a.first(a.size() - 2), b.first(b.size() - 2)))
      return false;
    const std::size_t axes = std::max(left.batch.size(), right.batch.size());
    std::vector<DimId> dims;
    for (std::size_t i = 0; i < axes; ++i) {
      const auto at = [&](const std::vector<DimId>& batch) {
        const std::size_t missing = axes - batch.size();
        return i < missing ? c.dims.constant(1) : batch[i - missing];
      };
      dims.push_back(is_one(c, at(left.batch)) ? at(right.batch) : at(left.batch));
    }
    // ONNX Runtime refuses some products of a vector on the right with what has no elements.
    const auto may_be_empty = [&](DimId d) { return m.dims.range(d).low < 1; };
    if (right.vector && std::ranges::any_of(c.infer.dims(left.value), may_be_empty)) return false;
    if (!left.vector) dims.push_back(a[a.size() - 2]);
    if (!right.vector) dims.push_back(b[b.size() - 1]);
    return alike(c, dims, c.infer.dims(y));
  }

  NodeId product_;
  std::array<ValueId, 2> operands_;
};

}  // namespace

extern constinit const PassInfo batch_products = {
    .name = "batch-products",
    .summary = "remove Reshapes around a product where MatMul takes all dims itself",
    .exact = Exact::No,
    .level = 2,
    .make = make_pass<RulePass<BatchProduct, FreeProduct>>};

}  // namespace graphopt
