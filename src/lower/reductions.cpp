// Expansions of reductions.
//
// mean-pool      ReduceMean over all axes behind the second one as GlobalAveragePool
// mean-product   ReduceMean over the last axis, of known length n, as a product with a column of 1 / n
// sum-product    ReduceSum over the last axis, of known length, as a product with a column of ones
// mean-sum, sum-mean: ReduceMean and ReduceSum into each other, by the number of terms, where that is known
// reduce-l1, reduce-l2, reduce-square, reduce-log:
//                ReduceL1, ReduceL2, ReduceSumSquare and ReduceLogSum as the ReduceSum that the standard says
// min-max        ReduceMin as the negative of the ReduceMax of the negative numbers
// Rounds: sums of n terms in another order, with u the rounding unit, by at most 2 (n + 2) u times the sum
// (or mean) of their magnitudes. reduce-l2 is off by (n + 4) u of itself and reduce-log by what the sum is,
// relative to itself. An infinity or NaN may differ where a sum overflows in one of both orders; min-max
// changes the sign of a zero. Left alone: types other than float; axes that are not known; a product over
// more than kMostTerms.
//
//   y = ReduceMean (x, {-1})    =>    y = MatMul (x, column)
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "lower/expansion.h"
#include "ops/attributes.h"
#include "ops/node_facts.h"

namespace graphopt {
namespace {

constexpr std::int64_t kMostTerms = 1 << 16;

class Reduction : public ExpansionRule {
 public:
  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    x_ = m.input(n, 0);
    if (c.infer.dtype(x_) != DType::Float || !c.infer.has_rank(x_) || !attributes_known(m, n)) return false;
    dims_ = c.infer.dims(x_);
    const auto written = axes_of(m, n);
    const auto axes = written ? normalize_axes(*written, dims_.size()) : std::nullopt;
    if (!axes || m.opset(n) < 7) return false;
    axes_ = *axes;
    std::ranges::sort(axes_);
    if (axes_.empty()) {
      if (int_attr(m, n, names::noop_with_empty_axes).value_or(0) != 0 || dims_.empty()) return false;
      for (std::size_t i = 0; i < dims_.size(); ++i) axes_.push_back(static_cast<std::int64_t>(i));
    }
    keeps_ = int_attr(m, n, names::keepdims).value_or(1) != 0;
    terms_ = 1;
    for (const std::int64_t a : axes_) {
      const auto extent = number_of(m, dims_[static_cast<std::size_t>(a)]);
      if (!extent || *extent < 1 || *extent > kMostTerms) terms_.reset();
      else if (terms_) *terms_ *= *extent;
      if (terms_ && *terms_ > kMostTerms) terms_.reset();
    }
    return fits(c, n);
  }
  void apply(PassContext& c, NodeId n) override {
    Emitter e = emit(c.model, n);
    give_result(c.model, n, write(e));
  }

 protected:
  virtual bool fits(const MatchContext&, NodeId) { return true; }
  virtual ValueId write(Emitter& e) = 0;
  ValueId reduced(Emitter& e, OpKind kind, ValueId x) const {
    return e.built("reduced", [&](const Site& at) { return add_reduction(at, kind, x, axes_, keeps_); });
  }
  // Without the axes that were reduced, where the node drops them.
  ValueId dropped(Emitter& e, ValueId y) const {
    if (keeps_) return y;
    return e.built("dropped", [&](const Site& at) { return add_squeeze(at, y, axes_); });
  }
  static ValueId number(Emitter& e, double x) {
    return e.scalar(DType::Float, static_cast<double>(static_cast<float>(x)));
  }

  ValueId x_;
  std::span<const DimId> dims_;
  std::vector<std::int64_t> axes_;
  bool keeps_ = true;
  std::optional<std::int64_t> terms_;
};

class MeanPool final : public Reduction {
 public:
  std::string_view name() const override { return "mean-pool"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::ReduceMean>; }

 private:
  bool fits(const MatchContext&, NodeId) override {
    // ONNX Runtime pools along three axes at most.
    if (!terms_ || dims_.size() < 3 || dims_.size() > 5 || axes_.size() != dims_.size() - 2) return false;
    return axes_.front() == 2;  // sorted, each once
  }
  ValueId write(Emitter& e) override { return dropped(e, e.node(OpKind::GlobalAveragePool, {x_}, "mean")); }
};

template <OpKind kKind> class Product final : public Reduction {
 public:
  static constexpr bool kMean = kKind == OpKind::ReduceMean;
  std::string_view name() const override { return kMean ? "mean-product" : "sum-product"; }
  std::span<const OpKind> roots() const override { return kRootKinds<kKind>; }

 private:
  bool fits(const MatchContext& c, NodeId n) override {
    return terms_ && c.model.opset(n) >= 9 && axes_.size() == 1 && axes_.front() + 1 == std::ssize(dims_);
  }
  ValueId write(Emitter& e) override {
    const float one = kMean ? 1.0F / static_cast<float>(*terms_) : 1.0F;
    const std::vector<float> column(static_cast<std::size_t>(*terms_), one);
    const std::int64_t dims[] = {*terms_, 1};
    const TensorId t = e.model().make_tensor(
        DType::Float, dims,
        std::string(reinterpret_cast<const char*>(column.data()), column.size() * sizeof one));
    return dropped(e, e.node(OpKind::MatMul, {x_, e.constant(t, "column")}, "product"));
  }
};

template <OpKind kKind> class ByCount final : public Reduction {
 public:
  static constexpr bool kMean = kKind == OpKind::ReduceMean;
  std::string_view name() const override { return kMean ? "mean-sum" : "sum-mean"; }
  std::span<const OpKind> roots() const override { return kRootKinds<kKind>; }

 private:
  bool fits(const MatchContext&, NodeId) override { return terms_.has_value(); }
  ValueId write(Emitter& e) override {
    const auto count = static_cast<double>(*terms_);
    const ValueId y = reduced(e, kMean ? OpKind::ReduceSum : OpKind::ReduceMean, x_);
    return e.node(OpKind::Mul, {y, number(e, kMean ? 1 / count : count)}, "scaled");
  }
};

template <OpKind kKind> class BySum final : public Reduction {
 public:
  std::string_view name() const override {
    return kKind == OpKind::ReduceL1       ? "reduce-l1"
           : kKind == OpKind::ReduceL2     ? "reduce-l2"
           : kKind == OpKind::ReduceLogSum ? "reduce-log"
                                           : "reduce-square";
  }
  std::span<const OpKind> roots() const override { return kRootKinds<kKind>; }

 private:
  ValueId write(Emitter& e) override {
    ValueId x = x_;
    if (kKind == OpKind::ReduceL1) x = e.node(OpKind::Abs, {x}, "size");
    else if (kKind != OpKind::ReduceLogSum) x = e.node(OpKind::Mul, {x, x}, "square");
    const ValueId sum = reduced(e, OpKind::ReduceSum, x);
    if (kKind == OpKind::ReduceL2) return e.node(OpKind::Sqrt, {sum}, "root");
    return kKind == OpKind::ReduceLogSum ? e.node(OpKind::Log, {sum}, "log") : sum;
  }
};

class MinMax final : public Reduction {
 public:
  std::string_view name() const override { return "min-max"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::ReduceMin>; }

 private:
  ValueId write(Emitter& e) override {
    const ValueId most = reduced(e, OpKind::ReduceMax, e.node(OpKind::Neg, {x_}, "negative"));
    return e.node(OpKind::Neg, {most}, "least");
  }
};

constexpr Expansion kReductionExpansions[] = {
    expansion<MeanPool, Exact::No>(),
    expansion<Product<OpKind::ReduceMean>, Exact::No>(),
    expansion<Product<OpKind::ReduceSum>, Exact::No>(),
    expansion<ByCount<OpKind::ReduceMean>, Exact::No>(),
    expansion<ByCount<OpKind::ReduceSum>, Exact::No>(),
    expansion<BySum<OpKind::ReduceL1>, Exact::No>(),
    expansion<BySum<OpKind::ReduceL2>, Exact::No>(),
    expansion<BySum<OpKind::ReduceSumSquare>, Exact::No>(),
    expansion<BySum<OpKind::ReduceLogSum>, Exact::No>(),
    expansion<MinMax, Exact::No>(),
};

}  // namespace

std::span<const Expansion> reduction_expansions() { return kReductionExpansions; }

}  // namespace graphopt
