// Expansions of products of matrices.
//
// matmul-gemm    MatMul with a matrix as Gemm; an operand with more axes becomes a matrix first
// gemm-matmul    the Reshape of a Gemm of a reshaped operand as MatMul (and Add) of the operand itself: the
//                Reshapes only join all axes but the last, and divide them again
// matmul-parts   MatMul of stacks of matrices, of which the numbers are known, as one product for each pair
// Rounds: a kernel may add the products in another order. With k the length of the sums, results differ by at
// most 2 k u times the sum of the products' sizes.
// Left alone: types other than float; stacks of more than kMostProducts matrices; stacks that are broadcast.
//
//   y = MatMul (x, w)    =>    f = Flatten <axis = 2> (x)    g = Gemm (f, w)    y = Reshape (g, {-1, 8, 32})
#include <algorithm>
#include <optional>
#include <vector>

#include "lower/expansion.h"
#include "ops/attributes.h"
#include "ops/node_facts.h"

namespace graphopt {
namespace {

constexpr std::int64_t kMostProducts = 16;

using Dims = std::span<const DimId>;

class MatMulGemm final : public ExpansionRule {
 public:
  std::string_view name() const override { return "matmul-gemm"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::MatMul>; }
  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    const ValueId x = m.input(n, 0), w = m.input(n, 1), y = m.output(n, 0);
    if (c.infer.dtype(x) != DType::Float || c.infer.dtype(w) != DType::Float || m.opset(n) < 9) return false;
    if (!c.infer.has_rank(x) || !c.infer.has_rank(w) || !c.infer.has_rank(y)) return false;
    rank_ = c.infer.dims(x).size();
    if (rank_ < 2 || c.infer.dims(w).size() != 2) return false;
    target_.clear();
    for (const DimId d : c.infer.dims(y)) {
      const auto number = d ? m.dims.value(d) : std::nullopt;
      if (number && *number < 1) return false;  // a 0 would copy
      target_.push_back(number.value_or(-1));
    }
    return rank_ == 2 || std::ranges::count(target_, -1) <= 1;
  }
  void apply(PassContext& c, NodeId n) override {
    Model& m = c.model;
    Emitter e = emit(m, n);
    ValueId x = m.input(n, 0);
    if (rank_ > 2)
      x = e.node(OpKind::Flatten, {x}, "matrix", {{names::axis, static_cast<std::int64_t>(rank_) - 1}});
    ValueId y = m.opset(n) >= 11
                    ? e.node(OpKind::Gemm, {x, m.input(n, 1)}, "product")
                    : e.node(OpKind::Gemm, {x, m.input(n, 1), e.scalar(DType::Float, 0)}, "product");
    if (rank_ > 2) y = e.built("stack", [&](const Site& at) { return add_reshape(at, y, target_); });
    give_result(m, n, y);
  }

 private:
  std::size_t rank_ = 0;
  std::vector<std::int64_t> target_;
};

class GemmMatMul final : public ExpansionRule {
 public:
  std::string_view name() const override { return "gemm-matmul"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::Reshape>; }
  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    const ValueId product = m.input(n, 0);
    gemm_ = m.value(product).def;
    if (!gemm_ || m.kind(gemm_) != OpKind::Gemm || m.single_user(product) != n) return false;
    if (!attributes_known(m, gemm_) || float_attr(m, gemm_, names::alpha).value_or(1) != 1 ||
        float_attr(m, gemm_, names::beta).value_or(1) != 1 ||
        int_attr(m, gemm_, names::transA).value_or(0) != 0)
      return false;
    const ValueId rows = m.input(gemm_, 0);
    const NodeId flat = m.value(rows).def;
    if (!flat || (m.kind(flat) != OpKind::Reshape && m.kind(flat) != OpKind::Flatten)) return false;
    x_ = m.input(flat, 0);
    const ValueId y = m.output(n, 0), bias = m.input(gemm_, 2);
    if (c.infer.dtype(x_) != DType::Float || !c.infer.has_rank(x_) || !c.infer.has_rank(y)) return false;
    if (bias && (!c.infer.has_rank(bias) || c.infer.dims(bias).size() > 1)) return false;
    const Dims from = c.infer.dims(x_), to = c.infer.dims(y);
    const Dims matrix = c.infer.dims(rows), result = c.infer.dims(product);
    if (from.size() < 3 || from.size() != to.size() || matrix.size() != 2 || result.size() != 2) return false;
    const auto same = [&m](DimId a, DimId b) { return m.dims.equal(a, b) == Tri::Yes; };
    return std::ranges::equal(from.first(from.size() - 1), to.first(to.size() - 1), same) &&
           same(from.back(), matrix[1]) && same(to.back(), result[1]);
  }
  void apply(PassContext& c, NodeId n) override {
    Model& m = c.model;
    Emitter e = emit(m, n);
    ValueId w = m.input(gemm_, 1);
    if (int_attr(m, gemm_, names::transB).value_or(0) != 0) {
      const std::int64_t swapped[] = {1, 0};
      w = e.node(OpKind::Transpose, {w}, "transposed");
      m.set_attr_ints(m.value(w).def, names::perm, swapped);
    }
    const ValueId bias = m.input(gemm_, 2);
    ValueId y = e.node(OpKind::MatMul, {x_, w}, "product");
    if (bias) y = e.node(OpKind::Add, {y, bias}, "sum");
    give_result(m, n, y);
  }

 private:
  NodeId gemm_;
  ValueId x_;
};

class MatMulParts final : public ExpansionRule {
 public:
  std::string_view name() const override { return "matmul-parts"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::MatMul>; }
  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    const ValueId a = m.input(n, 0), b = m.input(n, 1);
    if (c.infer.dtype(a) != DType::Float || c.infer.dtype(b) != DType::Float || m.opset(n) < 13) return false;
    if (!c.infer.has_rank(a) || !c.infer.has_rank(b)) return false;
    const Dims x = c.infer.dims(a), w = c.infer.dims(b);
    if (x.size() != w.size() || x.size() < 3) return false;
    counts_.clear();
    std::int64_t parts = 1;
    for (std::size_t i = 0; i + 2 < x.size(); ++i) {
      const auto count = x[i] ? m.dims.value(x[i]) : std::nullopt;
      if (!count || *count < 1 || m.dims.equal(x[i], w[i]) != Tri::Yes) return false;
      counts_.push_back(*count);
      parts *= *count;
      if (parts > kMostProducts) return false;
    }
    return true;
  }
  void apply(PassContext& c, NodeId n) override {
    Model& m = c.model;
    Emitter e = emit(m, n);
    give_result(m, n, product(e, m.input(n, 0), m.input(n, 1), 0));
  }

 private:
  // The product of two stacks; the axes before `axis` are gone.
  ValueId product(Emitter& e, ValueId a, ValueId b, std::size_t axis) const {
    if (axis == counts_.size()) return e.node(OpKind::MatMul, {a, b}, "product");
    const std::vector<ValueId> as = entries(e, a, counts_[axis]), bs = entries(e, b, counts_[axis]);
    const std::int64_t axes[] = {0};
    std::vector<ValueId> products;
    for (std::size_t i = 0; i < as.size(); ++i) {
      const ValueId y = product(e, as[i], bs[i], axis + 1);
      products.push_back(e.built("entry", [&](const Site& at) { return add_unsqueeze(at, y, axes); }));
    }
    return products.size() == 1 ? products[0] : e.concat(products, 0, "stack");
  }
  // The entries along the first axis, without it.
  static std::vector<ValueId> entries(Emitter& e, ValueId x, std::int64_t count) {
    std::vector<ValueId> out{x};
    if (count > 1) {
      const std::vector<std::int64_t> lengths(static_cast<std::size_t>(count), 1);
      const ValueId first = e.built("part", [&](const Site& at) { return add_split(at, x, 0, lengths); });
      const auto parts = e.model().outputs(e.model().value(first).def);
      out.assign(parts.begin(), parts.end());
    }
    const std::int64_t axes[] = {0};
    for (ValueId& v : out) v = e.built("matrix", [&](const Site& at) { return add_squeeze(at, v, axes); });
    return out;
  }

  std::vector<std::int64_t> counts_;
};

constexpr Expansion kProductExpansions[] = {
    expansion<MatMulGemm, Exact::No>(),
    expansion<GemmMatMul, Exact::No>(),
    expansion<MatMulParts, Exact::No>(),
};

}  // namespace

std::span<const Expansion> product_expansions() { return kProductExpansions; }

}  // namespace graphopt
