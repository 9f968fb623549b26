// Expansions of Gather and GatherND into each other, and with indices of another type.
//
// gather-narrow   a Gather by int64 indices as one by int32 indices, which a Cast makes
// gather-nd       a Gather as a GatherND by indices with a last axis of one entry; where the axis is not the
//                 first, a Transpose before brings it there and one behind brings it back
// nd-gather       a GatherND by one index each as a Gather along the first axis
// nd-flat         a GatherND by several indices each, along axes of known lengths, as a Gather along one axis
//                 in their place: index i, j of lengths a, b is i * b + j
// Exact: the same elements at the same places. An index that is inside an axis keeps its value as an int32:
// the axis is known to be shorter than 2^31. A negative one counts from the end in both operators; in nd-flat
// indices must be constant, where that is settled at once. Of an index outside of the axis, with which the
// original fails, the Cast may make one inside: that a Gather fails is no effect that is kept
// (rewrite/dead.h). Left alone: indices of other types; batch_dims; a GatherND whose number of indices is not
// known.
//
//   y = Gather <axis = 0> (x, i)    =>    u = Unsqueeze (i, {-1})    y = GatherND (x, u)
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include "lower/expansion.h"
#include "ops/attributes.h"
#include "ops/constants.h"
#include "ops/node_facts.h"

namespace graphopt {
namespace {

// What a Gather and a GatherND share.
class GatherRule : public ExpansionRule {
 protected:
  bool knows_operands(const MatchContext& c, NodeId n) {
    const Model& m = c.model;
    x_ = m.input(n, 0);
    indices_ = m.input(n, 1);
    if (!attributes_known(m, n) || !c.infer.has_rank(x_) || !c.infer.has_rank(indices_)) return false;
    type_ = c.infer.dtype(indices_);
    rank_ = c.infer.dims(x_).size();
    entries_ = c.infer.dims(indices_).size();
    return type_ == DType::Int64 || type_ == DType::Int32;
  }

  ValueId x_, indices_;
  DType type_ = DType::Undefined;
  std::size_t rank_ = 0, entries_ = 0;  // axes of the operand, and of the indices
};

class GatherNarrow final : public GatherRule {
 public:
  std::string_view name() const override { return "gather-narrow"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::Gather>; }
  bool match(const MatchContext& c, NodeId n) override {
    if (!knows_operands(c, n) || type_ != DType::Int64) return false;
    const auto axis = normalize_axis(int_attr(c.model, n, names::axis).value_or(0), rank_);
    if (!axis) return false;
    const DimId extent = c.infer.dims(x_)[static_cast<std::size_t>(*axis)];
    return extent && c.model.dims.range(extent).high <= std::numeric_limits<std::int32_t>::max();
  }
  void apply(PassContext& c, NodeId n) override {
    c.model.set_operand(n, 1, emit(c.model, n).cast(indices_, DType::Int32, "indices"));
  }
};

class GatherAsND final : public GatherRule {
 public:
  std::string_view name() const override { return "gather-nd"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::Gather>; }
  bool match(const MatchContext& c, NodeId n) override {
    if (c.model.opset(n) < 11 || !knows_operands(c, n)) return false;
    const auto axis = normalize_axis(int_attr(c.model, n, names::axis).value_or(0), rank_);
    if (axis) axis_ = static_cast<std::size_t>(*axis);
    return axis.has_value();
  }
  void apply(PassContext& c, NodeId n) override {
    Model& m = c.model;
    Emitter e = emit(m, n);
    ValueId x = x_, indices = indices_;
    if (axis_ > 0) {
      std::vector<std::int64_t> order{static_cast<std::int64_t>(axis_)};
      for (std::size_t i = 0; i < rank_; ++i)
        if (i != axis_) order.push_back(static_cast<std::int64_t>(i));
      x = transposed(e, x, order, "front");
    }
    if (type_ != DType::Int64) indices = e.cast(indices, DType::Int64, "indices");
    const std::int64_t last[] = {static_cast<std::int64_t>(entries_)};
    indices = e.built("entries", [&](const Site& at) { return add_unsqueeze(at, indices, last); });
    ValueId y = e.node(OpKind::GatherND, {x, indices}, "gathered");
    if (axis_ > 0 && entries_ > 0) {
      // The result has the axes of the indices first.
      std::vector<std::int64_t> order;
      for (std::size_t i = 0; i < axis_; ++i) order.push_back(static_cast<std::int64_t>(entries_ + i));
      for (std::size_t i = 0; i < entries_; ++i) order.push_back(static_cast<std::int64_t>(i));
      for (std::size_t i = axis_; i + 1 < rank_; ++i)
        order.push_back(static_cast<std::int64_t>(entries_ + i));
      y = transposed(e, y, order, "back");
    }
    give_result(m, n, y);
  }

 private:
  static ValueId transposed(Emitter& e, ValueId x, std::span<const std::int64_t> order,
                            std::string_view what) {
    const ValueId y = e.node(OpKind::Transpose, {x}, what);
    e.model().set_attr_ints(e.model().value(y).def, names::perm, order);
    return y;
  }
  std::size_t axis_ = 0;
};

class NDAsGather final : public GatherRule {
 public:
  std::string_view name() const override { return "nd-gather"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::GatherND>; }
  bool match(const MatchContext& c, NodeId n) override {
    return knows_operands(c, n) && entries_ > 0 &&
           c.model.dims.is_constant(c.infer.dims(indices_).back(), 1) &&
           int_attr(c.model, n, names::batch_dims).value_or(0) == 0;
  }
  void apply(PassContext& c, NodeId n) override {
    Emitter e = emit(c.model, n);
    const std::int64_t last[] = {static_cast<std::int64_t>(entries_) - 1};
    const ValueId indices =
        e.built("entries", [&](const Site& at) { return add_squeeze(at, indices_, last); });
    give_result(c.model, n, e.gather(x_, indices, 0, "gathered"));
  }
};

class NDFlat final : public GatherRule {
 public:
  std::string_view name() const override { return "nd-flat"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::GatherND>; }
  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    if (!knows_operands(c, n) || entries_ == 0 || int_attr(m, n, names::batch_dims).value_or(0) != 0)
      return false;
    const TensorId t = m.constant_of(indices_);
    const auto numbers = t ? int_list(m, t) : std::nullopt;
    if (!numbers || numbers->empty()) return false;
    const std::vector<std::int64_t>& dims = m.tensor(t).dims;
    const auto count = static_cast<std::size_t>(dims.back());
    if (count < 2 || count > rank_) return false;
    dims_.assign(dims.begin(), dims.end() - 1);
    flat_.assign(numbers->size() / count, 0);
    target_ = {-1};
    for (std::size_t i = count; i < rank_; ++i) {
      const auto number = number_of(m, c.infer.dims(x_)[i]);
      if (!number || *number < 1) return false;
      target_.push_back(*number);
    }
    for (std::size_t k = 0; k < count; ++k) {
      const auto extent = number_of(m, c.infer.dims(x_)[k]);
      if (!extent || *extent < 1 || *extent > std::numeric_limits<std::int32_t>::max()) return false;
      for (std::size_t i = 0; i < flat_.size(); ++i) {
        std::int64_t at = (*numbers)[i * count + k];
        if (at < 0) at += *extent;
        if (at < 0 || at >= *extent) return false;
        flat_[i] = flat_[i] * *extent + at;
        if (flat_[i] > std::numeric_limits<std::int32_t>::max()) return false;
      }
    }
    return true;
  }
  void apply(PassContext& c, NodeId n) override {
    Model& m = c.model;
    Emitter e = emit(m, n);
    const ValueId rows = e.built("rows", [&](const Site& at) { return add_reshape(at, x_, target_); });
    const TensorId t = m.make_tensor(
        DType::Int64, dims_,
        std::string(reinterpret_cast<const char*>(flat_.data()), flat_.size() * sizeof flat_[0]));
    give_result(m, n, e.gather(rows, e.constant(t, "positions"), 0, "gathered"));
  }

 private:
  std::vector<std::int64_t> dims_, flat_, target_;
};

constexpr Expansion kGatherExpansions[] = {
    expansion<GatherNarrow, Exact::Yes>(),
    expansion<GatherAsND, Exact::Yes>(),
    expansion<NDAsGather, Exact::Yes>(),
    expansion<NDFlat, Exact::Yes>(),
};

}  // namespace

std::span<const Expansion> gather_expansions() { return kGatherExpansions; }

}  // namespace graphopt
