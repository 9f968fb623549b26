// Normalizations whose statistics are over padded axes: Instance-, Layer-, Group- and RMSNormalization.
//
// The mean is the sum of true elements over their number, the variance the sum of squares of true elements
// less the mean over that number; RMSNormalization takes no mean off. What is normalized holds 0 in the
// padding. Types of 16 bits are computed in float. Rounds: kernels sum in another order, and may find the
// variance in one go. A group is summed by channel first, since its channels have a constant number.
//
//   y = InstanceNormalization (x, scale, b)    =>    d = Where (m, x - mean (Where (m, x, 0)), 0)
//                                                    y = d / Sqrt (mean (d * d) + epsilon) * scale + b
#include <numeric>

#include "buckets/repair/rules.h"

namespace graphopt::repairs {
namespace {

class Statistics {
 public:
  explicit Statistics(RepairContext& r) : r_(r), rank_(r.c.in(0).rank()) {}

  bool repair() {
    if (!find_axes()) return false;
    const DType type = r_.sum_type();
    if (type == DType::Undefined) return r_.refuse("its type has no sums");
    const PaddedValue& x = r_.c.in(0);
    const AxisMask padded = r_.c.padded_among(x, over_);
    if (!is_possible(padded)) return false;
    r_.text = "its statistics are those of " + r_.model.dims.print(count_) + " true elements";

    Emitter& at = r_.here;
    const ValueId wide = r_.as_sum_type(r_.model.input(r_.n, 0), "wide");
    count_value_ = r_.true_extent(count_, type, at);
    const auto masked = [&](ValueId v) { return r_.masks.replaced(r_.c, 0, padded, v, type, 0, at); };
    ValueId centered = masked(wide);
    if (r_.c.kind != OpKind::RMSNormalization) {
      const ValueId mean = mean_of(centered, OpKind::ReduceSum);
      centered = masked(at.node(OpKind::Sub, {wide, mean}, "centered"));
    }
    const ValueId variance = mean_of(centered, OpKind::ReduceSumSquare);
    const double epsilon = r_.c.attr_real(names::epsilon, 1e-5);
    const ValueId shifted = at.node(OpKind::Add, {variance, at.scalar(type, epsilon)}, "variance");
    const ValueId deviation = at.node(OpKind::Sqrt, {shifted}, "deviation");
    ValueId out = at.node(OpKind::Div, {centered, deviation}, "normalized");
    const ValueId scale = weight(1), bias = weight(2);
    const bool is_wide = type == x.type;
    if (!bias && is_wide) {
      r_.replace(OpKind::Mul, std::vector<ValueId>{out, scale});
      return true;
    }
    out = at.node(OpKind::Mul, {out, scale}, "scaled");
    if (is_wide) {
      r_.replace(OpKind::Add, std::vector<ValueId>{out, bias});
      return true;
    }
    if (bias) out = at.node(OpKind::Add, {out, bias}, "shifted");
    r_.replace(OpKind::Cast, std::vector<ValueId>{out},
               std::vector<IntAttr>{{names::to, static_cast<std::int64_t>(x.type)}});
    return true;
  }

 private:
  bool find_axes() {
    std::size_t first = 2;
    by_channel_ = r_.c.kind != OpKind::LayerNormalization && r_.c.kind != OpKind::RMSNormalization;
    if (!by_channel_) {
      const auto axis = normalize_axis(r_.c.attr(names::axis, -1), rank_);
      if (!axis) return r_.refuse("its axis is not known");
      first = static_cast<std::size_t>(*axis);
      for (const std::size_t i : {std::size_t{1}, std::size_t{2}})
        if (r_.c.has_output(i)) return r_.refuse("its statistics are results, too");
    } else if (r_.c.kind == OpKind::GroupNormalization) {
      if (r_.c.opset() < 21) return r_.refuse("before opset 21 its weights are those of groups");
      channels_ = r_.model.dims.value(r_.c.extent(0, 1)).value_or(0);
      groups_ = r_.c.attr(names::num_groups, 1);
      if (channels_ <= 0 || groups_ <= 0 || channels_ % groups_ != 0)
        return r_.refuse("its number of channels is not known");
    } else if (r_.c.kind != OpKind::InstanceNormalization) {
      return r_.refuse("no repair is known for the statistics of this operator");
    }
    for (std::size_t i = first; i < rank_; ++i) over_.push_back(i);
    return true;
  }

  bool is_possible(AxisMask padded) {
    count_ = r_.count_of(over_);
    if (groups_ > 0) count_ = r_.model.dims.mul(count_, r_.model.dims.constant(channels_ / groups_));
    if (std::string why = r_.no_extent(count_); !why.empty()) return r_.refuse(why);
    if (r_.model.dims.range(count_).low < 1) return r_.refuse("it may normalize nothing");
    if (std::string why = r_.masks.obstacle(r_.c, 0, padded, 0); !why.empty()) return r_.refuse(why);
    if (r_.here.opset() < 13 && r_.sum_type() != r_.c.in(0).type && r_.c.in(0).type == DType::BFloat16)
      return r_.refuse("before opset 13 nothing is cast from bfloat16");
    for (const std::size_t i : {std::size_t{1}, std::size_t{2}})
      if (r_.c.has(i) && r_.c.in(i).padded != 0) return r_.refuse("its weights are padded");
    return r_.c.has(1) || r_.refuse("it has no weights");
  }

  // Extent 1 along the axes of the statistics.
  ValueId mean_of(ValueId x, OpKind sum_kind) {
    Emitter& at = r_.here;
    std::vector<std::int64_t> axes;
    for (const std::size_t a : over_) axes.push_back(static_cast<std::int64_t>(a));
    const auto summed = [&](OpKind kind, ValueId v, std::vector<std::int64_t> along) {
      return at.built("sum", [&](const Site& s) { return add_reduction(s, kind, v, along, true); });
    };
    ValueId sum = summed(sum_kind, x, axes);
    if (groups_ == 0) return at.node(OpKind::Div, {sum, count_value_}, "mean");
    const auto reshaped = [&](ValueId v, std::vector<std::int64_t> target) {
      return at.built("grouped", [&](const Site& s) { return add_reshape(s, v, target); });
    };
    sum = summed(OpKind::ReduceSum, reshaped(sum, {0, groups_, channels_ / groups_}), {2});
    const ValueId mean = at.node(OpKind::Div, {sum, count_value_}, "mean");
    const std::vector<std::int64_t> all{1, 1, channels_ / groups_};
    std::vector<std::int64_t> back(rank_, 1);
    back[0] = 0;
    back[1] = channels_;
    return reshaped(at.node(OpKind::Expand, {mean, at.numbers(all)}, "grouped"), back);
  }

  // Weights by channel get an axis of extent 1 for each axis of the statistics.
  ValueId weight(std::size_t i) {
    if (!r_.c.has(i)) return {};
    const ValueId v = r_.as_sum_type(r_.model.input(r_.n, i), "weight");
    if (!by_channel_ || rank_ <= 2) return v;
    std::vector<std::int64_t> axes;
    for (std::size_t a = 1; a + 1 < rank_; ++a) axes.push_back(static_cast<std::int64_t>(a));
    return r_.here.built("weight", [&](const Site& s) { return add_unsqueeze(s, v, axes); });
  }

  RepairContext& r_;
  std::size_t rank_;
  std::vector<std::size_t> over_;
  bool by_channel_ = true;
  std::int64_t channels_ = 0, groups_ = 0;  // groups_ > 0: of a GroupNormalization
  DimId count_;
  ValueId count_value_;
};

}  // namespace

bool true_statistics(RepairContext& r) { return Statistics(r).repair(); }

}  // namespace graphopt::repairs
