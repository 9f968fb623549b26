// Expansions of normalizations.
//
// layer-norm      (x - mean) / Sqrt (variance + epsilon) * scale + bias, over the axes from `axis` on
// rms-norm        x / Sqrt (mean of x * x + epsilon) * scale
// simplified-norm the same, ONNX Runtime's own operator
// skip-layer-norm, skip-rms-norm
//                 those of com.microsoft: of x + skip + bias, a sum that may be a result, too
// instance-norm   as layer-norm, for each channel over the axes behind it
// group-norm      InstanceNormalization of the groups as channels, and then scale and bias
// batch-norm      x * a + b, of numbers that are known: a = scale / sqrt (variance + epsilon),
//                 b = bias - mean * a
// Rounds: docs/rounding.md has the bound of raise-norms, which holds in this direction, too; batch-norm
// differs by at most 8 u (|x a| + |mean a| + |bias|). An infinity or NaN in x makes NaN and 0 of its block as
// before.
// Types: float. layer-norm and rms-norm take float16 with stash_type float, which computes inside in float,
// as the expansion does, between Casts; the result is rounded once, and differs by 4 u of float16 more. Left
// alone: results besides the first (and the sum); parameters that are no constants, where they need another
// shape; a batch-norm whose numbers are not finite or that trains.
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
#include "passes/raise_rule.h"

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
    if (c.infer.dtype(m.input(n, 0)) != DType::Float || !is_alone(m, n)) return false;
    return knows(c, n, epsilon);
  }
  bool knows(const MatchContext& c, NodeId n, double epsilon) {
    const Model& m = c.model;
    if (!c.infer.has_rank(m.input(n, 0)) || !attributes_known(m, n)) return false;
    if (m.opset(m.main(), kEmptyName) < 7) return false;  // no number is broadcast
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
  std::string_view name() const override {
    return kCenters ? "layer-norm" : kKind == OpKind::RMSNormalization ? "rms-norm" : "simplified-norm";
  }
  std::span<const OpKind> roots() const override { return kRootKinds<kKind>; }
  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    const DType type = c.infer.dtype(m.input(n, 0));
    half_ = type == DType::Float16;
    if ((type != DType::Float && !half_) || !is_alone(m, n) || !knows(c, n, 1e-5)) return false;
    for (std::size_t i = 1; i < m.input_count(n); ++i)
      if (m.input(n, i) && c.infer.dtype(m.input(n, i)) != type) return false;
    const auto axis = normalize_axis(int_attr(m, n, names::axis).value_or(-1), rank_);
    if (!axis || int_attr(m, n, names::stash_type).value_or(1) != 1) return false;
    take_axes(static_cast<std::size_t>(*axis));
    return true;
  }
  void apply(PassContext& c, NodeId n) override {
    Model& m = c.model;
    Emitter e = emit(m, n);
    const auto wide = [&](ValueId v, std::string_view what) {
      return half_ ? e.cast(v, DType::Float, what) : v;
    };
    const ValueId x = wide(m.input(n, 0), "wide");
    const ValueId unit = kCenters ? centered(e, x) : divided(e, x);
    ValueId y = e.node(OpKind::Mul, {unit, wide(m.input(n, 1), "scale")}, "scaled");
    if (const ValueId bias = m.input(n, 2)) y = e.node(OpKind::Add, {y, wide(bias, "bias")}, "shifted");
    give_result(m, n, half_ ? e.cast(y, DType::Float16, "narrow") : y);
  }

 private:
  bool half_ = false;
};

// Those of com.microsoft that add first: x + skip + bias, which may be a result, too.
template <OpKind kKind> class SkipNorm final : public Norm {
 public:
  static constexpr bool kCenters = kKind == OpKind::MsSkipLayerNormalization;
  static constexpr std::size_t kSum = 3;  // the result
  std::string_view name() const override { return kCenters ? "skip-layer-norm" : "skip-rms-norm"; }
  std::span<const OpKind> roots() const override { return kRootKinds<kKind>; }
  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    for (std::size_t i = 1; i < m.output_count(n); ++i)
      if (i != kSum && m.output(n, i) && m.use_count(m.output(n, i)) > 0) return false;
    if (c.infer.dtype(m.input(n, 0)) != DType::Float || !knows(c, n, 1e-12) || rank_ < 2) return false;
    take_axes(rank_ - 1);
    return true;
  }
  void apply(PassContext& c, NodeId n) override {
    Model& m = c.model;
    Emitter e = emit(m, n);
    const ValueId scale = m.input(n, 2), shift = kCenters ? m.input(n, 3) : ValueId{};
    ValueId sum = e.node(OpKind::Add, {m.input(n, 0), m.input(n, 1)}, "sum");
    if (const ValueId bias = m.input(n, kCenters ? 4 : 3)) sum = e.node(OpKind::Add, {sum, bias}, "biased");
    if (const ValueId result = m.output_count(n) > kSum ? m.output(n, kSum) : ValueId{};
        result && m.use_count(result) > 0) {
      give_result(m, n, sum, kSum);
      sum = result;
    }
    ValueId y;
    if (kCenters && e.opset() >= 17) {
      const ValueId operands[] = {sum, scale, shift};
      y = e.node(OpKind::LayerNormalization, std::span(operands, shift ? 3 : 2), "normalized");
      m.set_attr(m.value(y).def, float_attribute(names::epsilon, epsilon_));
    } else {
      y = e.node(OpKind::Mul, {kCenters ? centered(e, sum) : divided(e, sum), scale}, "scaled");
      if (shift) y = e.node(OpKind::Add, {y, shift}, "shifted");
    }
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

class GroupNorm final : public Norm {
 public:
  std::string_view name() const override { return "group-norm"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::GroupNormalization>; }
  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    if (!fits(c, n, 1e-5) || rank_ < 3 || m.opset(n) < 21) return false;
    groups_ = int_attr(m, n, names::num_groups).value_or(0);
    const auto scale = floats(m, m.input(n, 1)), bias = floats(m, m.input(n, 2));
    if (groups_ < 1 || !scale || !bias) return false;
    scale_ = *scale;
    bias_ = *bias;
    target_ = {0};
    for (const DimId d : c.infer.dims(m.input(n, 0)).subspan(1)) {
      const auto number = number_of(m, d);
      // A number of elements that may be 0 says nothing about a -1.
      if (number ? *number < 1 : m.dims.range(d).low < 1) return false;
      target_.push_back(number.value_or(-1));
    }
    return target_[1] == std::ssize(scale_) && scale_.size() == bias_.size() && target_[1] % groups_ == 0 &&
           std::ranges::count(target_, -1) <= 1 && m.dims.range(c.infer.dims(m.input(n, 0))[0]).low >= 1;
  }
  void apply(PassContext& c, NodeId n) override {
    Model& m = c.model;
    Emitter e = emit(m, n);
    const std::int64_t blocks[] = {0, groups_, -1};
    const ValueId x = m.input(n, 0);
    const ValueId rows = e.built("rows", [&](const Site& at) { return add_reshape(at, x, blocks); });
    const std::vector<float> ones(static_cast<std::size_t>(groups_), 1.0F), zeros(ones.size(), 0.0F);
    const ValueId unit =
        e.node(OpKind::InstanceNormalization,
               {rows, per_channel(e, ones, 0, "ones"), per_channel(e, zeros, 0, "zeros")}, "normalized");
    m.set_attr(m.value(unit).def, float_attribute(names::epsilon, epsilon_));
    const ValueId y = e.built("shaped", [&](const Site& at) { return add_reshape(at, unit, target_); });
    const ValueId scaled = e.node(OpKind::Mul, {y, per_channel(e, scale_, rank_ - 2, "scale")}, "scaled");
    give_result(m, n, e.node(OpKind::Add, {scaled, per_channel(e, bias_, rank_ - 2, "bias")}, "shifted"));
  }

 private:
  std::int64_t groups_ = 1;
  std::vector<float> scale_, bias_;
  std::vector<std::int64_t> target_;
};

constexpr Expansion kNormExpansions[] = {
    expansion<BlockNorm<OpKind::MsSimplifiedLayerNormalization>, Exact::No>(),
    expansion<SkipNorm<OpKind::MsSkipLayerNormalization>, Exact::No>(),
    expansion<SkipNorm<OpKind::MsSkipSimplifiedLayerNormalization>, Exact::No>(),
    expansion<GroupNorm, Exact::No>(),
    expansion<BlockNorm<OpKind::LayerNormalization>, Exact::No>(),
    expansion<BlockNorm<OpKind::RMSNormalization>, Exact::No>(),
    expansion<InstanceNorm, Exact::No>(),
    expansion<BatchNorm, Exact::No>(),
};

}  // namespace

std::span<const Expansion> norm_expansions() { return kNormExpansions; }

}  // namespace graphopt
