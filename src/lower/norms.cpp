// Expansions of normalizations.
//
// layer-norm      (x - mean) / Sqrt (variance + epsilon) * scale + bias, over the axes from `axis` on
// rms-norm        x / Sqrt (mean of x * x + epsilon) * scale
// instance-norm   the same as layer-norm for each channel over the axes behind it
// batch-norm      x * a + b, of numbers that are known: a = scale / sqrt (variance + epsilon),
//                 b = bias - mean * a
// Rounds: docs/rounding.md has the bound of raise-norms, which holds in this direction, too; batch-norm
// differs by at most 8 u (|x a| + |mean a| + |bias|). An infinity or NaN in x makes its block NaN, as before.
// Left alone: element types other than float: in 16 bits the standard computes inside in another type;
// results besides the first; parameters that are no constants, where they need another shape; a batch-norm
// whose numbers are not finite or that trains.
//
//   y = LayerNormalization (x, s, b)    =>    m = ReduceMean (x, {-1})    d = Sub (x, m)    q = Mul (d, d)
//   ...
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "lower/expansion.h"
#include "ops/attributes.h"
#include "ops/constants.h"
#include "ops/node_facts.h"

namespace graphopt {
namespace {

bool is_alone(const Model& m, NodeId n) {
  for (std::size_t i = 1; i < m.output_count(n); ++i)
    if (m.output(n, i) && m.use_count(m.output(n, i)) > 0) return false;
  return true;
}

class Norm : public ExpansionRule {
 protected:
  bool fits(const MatchContext& c, NodeId n, double epsilon) {
    const Model& m = c.model;
    if (c.infer.dtype(m.input(n, 0)) != DType::Float || !c.infer.has_rank(m.input(n, 0))) return false;
    if (!attributes_known(m, n) || !is_alone(m, n)) return false;
    epsilon_ = float_attr(m, n, names::epsilon).value_or(static_cast<float>(epsilon));
    rank_ = c.infer.dims(m.input(n, 0)).size();
    return std::isfinite(epsilon_) && epsilon_ >= 0;
  }
  void take_axes(std::size_t from) {
    axes_.clear();
    for (std::size_t i = from; i < rank_; ++i) axes_.push_back(static_cast<std::int64_t>(i));
  }
  ValueId mean(Emitter& e, ValueId x, std::string_view what) const {
    return e.built(what,
                   [&](const Site& at) { return add_reduction(at, OpKind::ReduceMean, x, axes_, true); });
  }
  // x / Sqrt (mean (x * x) + epsilon)
  ValueId divided(Emitter& e, ValueId x) const {
    const ValueId square = e.node(OpKind::Mul, {x, x}, "square");
    const ValueId variance = mean(e, square, "variance");
    const ValueId sum =
        e.node(OpKind::Add, {variance, e.scalar(DType::Float, double{epsilon_})}, "variance_epsilon");
    return e.node(OpKind::Div, {x, e.node(OpKind::Sqrt, {sum}, "deviation")}, "normalized");
  }
  ValueId centered(Emitter& e, ValueId x) const {
    return divided(e, e.node(OpKind::Sub, {x, mean(e, x, "mean")}, "centered"));
  }

  float epsilon_ = 0;
  std::size_t rank_ = 0;
  std::vector<std::int64_t> axes_;
};

template <OpKind kKind> class BlockNorm final : public Norm {
 public:
  static constexpr bool kCenters = kKind == OpKind::LayerNormalization;
  std::string_view name() const override { return kCenters ? "layer-norm" : "rms-norm"; }
  std::span<const OpKind> roots() const override { return kRootKinds<kKind>; }
  bool match(const MatchContext& c, NodeId n) override {
    if (!fits(c, n, 1e-5)) return false;
    const auto axis = normalize_axis(int_attr(c.model, n, names::axis).value_or(-1), rank_);
    if (!axis || int_attr(c.model, n, names::stash_type).value_or(1) != 1) return false;
    take_axes(static_cast<std::size_t>(*axis));
    return true;
  }
  void apply(PassContext& c, NodeId n) override {
    Model& m = c.model;
    Emitter e = emit(m, n);
    const ValueId x = m.input(n, 0);
    ValueId y = e.node(OpKind::Mul, {kCenters ? centered(e, x) : divided(e, x), m.input(n, 1)}, "scaled");
    if (const ValueId bias = m.input(n, 2)) y = e.node(OpKind::Add, {y, bias}, "shifted");
    give_result(m, n, y);
  }
};

// The elements of a constant of floats with one axis.
std::optional<std::vector<float>> floats(const Model& m, ValueId v) {
  const TensorId t = m.constant_of(v);
  if (!t || m.tensor(t).dtype != DType::Float || m.tensor(t).dims.size() != 1) return std::nullopt;
  const auto numbers = real_list(m, t);
  if (!numbers) return std::nullopt;
  return std::vector<float>(numbers->begin(), numbers->end());
}

// A constant of these numbers, with 1 behind their axis for each of so many axes.
ValueId per_channel(Emitter& e, const std::vector<float>& numbers, std::size_t axes, std::string_view what) {
  std::vector<std::int64_t> dims{static_cast<std::int64_t>(numbers.size())};
  dims.resize(1 + axes, 1);
  return e.constant(e.model().make_tensor(DType::Float, dims,
                                          std::string(reinterpret_cast<const char*>(numbers.data()),
                                                      numbers.size() * sizeof(float))),
                    what);
}

class InstanceNorm final : public Norm {
 public:
  std::string_view name() const override { return "instance-norm"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::InstanceNormalization>; }
  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    if (!fits(c, n, 1e-5) || rank_ < 3) return false;
    const auto scale = floats(m, m.input(n, 1)), bias = floats(m, m.input(n, 2));
    if (!scale || !bias) return false;
    scale_ = *scale;
    bias_ = *bias;
    take_axes(2);
    return true;
  }
  void apply(PassContext& c, NodeId n) override {
    Model& m = c.model;
    Emitter e = emit(m, n);
    const ValueId y = centered(e, m.input(n, 0));
    const ValueId scaled = e.node(OpKind::Mul, {y, per_channel(e, scale_, rank_ - 2, "scale")}, "scaled");
    give_result(m, n, e.node(OpKind::Add, {scaled, per_channel(e, bias_, rank_ - 2, "bias")}, "shifted"));
  }

 private:
  std::vector<float> scale_, bias_;
};

class BatchNorm final : public Norm {
 public:
  std::string_view name() const override { return "batch-norm"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::BatchNormalization>; }
  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    if (!fits(c, n, 1e-5) || rank_ < 2 || m.opset(n) < 9 ||
        int_attr(m, n, names::training_mode).value_or(0) != 0)
      return false;
    std::optional<std::vector<float>> lists[4];
    for (std::size_t i = 0; i < 4; ++i) {
      lists[i] = floats(m, m.input(n, i + 1));
      if (!lists[i] || lists[i]->size() != lists[0]->size()) return false;
    }
    factors_.clear();
    offsets_.clear();
    for (std::size_t k = 0; k < lists[0]->size(); ++k) {
      const double deviation = std::sqrt(double{(*lists[3])[k]} + double{epsilon_});
      const double factor = double{(*lists[0])[k]} / deviation;
      const double offset = double{(*lists[1])[k]} - double{(*lists[2])[k]} * factor;
      factors_.push_back(static_cast<float>(factor));
      offsets_.push_back(static_cast<float>(offset));
      if (!(deviation > 0) || !std::isfinite(factors_.back()) || !std::isfinite(offsets_.back()))
        return false;
    }
    return true;
  }
  void apply(PassContext& c, NodeId n) override {
    Emitter e = emit(c.model, n);
    const ValueId scaled =
        e.node(OpKind::Mul, {c.model.input(n, 0), per_channel(e, factors_, rank_ - 2, "scale")}, "scaled");
    give_result(c.model, n,
                e.node(OpKind::Add, {scaled, per_channel(e, offsets_, rank_ - 2, "bias")}, "shifted"));
  }

 private:
  std::vector<float> factors_, offsets_;
};

constexpr Expansion kNormExpansions[] = {
    expansion<BlockNorm<OpKind::LayerNormalization>, Exact::No>(),
    expansion<BlockNorm<OpKind::RMSNormalization>, Exact::No>(),
    expansion<InstanceNorm, Exact::No>(),
    expansion<BatchNorm, Exact::No>(),
};

}  // namespace

std::span<const Expansion> norm_expansions() { return kNormExpansions; }

}  // namespace graphopt
