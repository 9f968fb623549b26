// constant-shapes: writes targets of Reshape and Expand, and sizes of Resize, as constants.
//
// Problem: exporters compute a target at run time (Shape -> Gather -> Unsqueeze -> Concat), although most of
// it is known: the chain costs nodes and hides the shape from every later pass and runtime.
// Method: inference knows the dims of the result. Of a Reshape each becomes
//   a number     if it is one (at least 1);
//   0            if it equals the operand's dim at the same index, proven for all sizes;
//   -1           otherwise, at most once.
// Each entry of an Expand's target becomes 1 where it is the operand's dim, and else its number. The sizes of
// a Resize become scales where each is a multiple of the operand's dim.
// Exact: the same dims. -1 is the number of elements divided by the product of the other dims, which is
// undefined where that product is 0. So with a -1 every copied dim must be provably at least 1, or the
// original must have -1 at the same position, so that it is undefined for the same extents. A dim 0 in the
// target is refused (0 would copy). Expand broadcasts: 1 gives the operand's dim, whatever that is. A runtime
// divides the sizes of a Resize by dims in float; of integers up to 2^24 the quotient is the scale, and the
// product of scale and dim the size.
// Lowers: nodes, once the chain that computed the target is dead. Ends: a constant does not match again.
// Left alone: opset < 5 (the target is an attribute), results of unknown rank, targets with two dims that are
// known only at run time, an Expand with an entry that may differ from the operand's dim; in a body without
// sequences, a target with which a runtime would refuse a node.
//
//   s = Shape (x)  b = Gather (s, i)  t = Concat <axis = 0> (b, r)       <int64[2] t = {0, 12}>
//   y = Reshape (x, t)                                             =>    y = Reshape (x, t)

#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "infer/refused_constants.h"
#include "ops/attributes.h"
#include "ops/constants.h"
#include "ops/deformation.h"
#include "passes/rule_pass.h"

namespace graphopt {
namespace {

class ExpandTarget final : public Rule {
 public:
  static constexpr Counter kCounter{"expanded", "Expand targets that became constants"};
  std::string_view name() const override { return "expand-target"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::Expand>; }

  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    const ValueId x = m.input(n, 0), target = m.input(n, 1);
    if (!x || !target || m.constant_of(target)) return false;
    if (m.node(n).graph != m.main())
      return c.no(n, "it is in a body, where a runtime checks constants at load");
    const SymbolicTensor* written = c.infer.symbolic(target);
    if (!c.infer.has_rank(x) || written == nullptr || written->dims.size() != 1)
      return c.no(n, "the rank of the operand or the target is not known");
    const auto from = c.infer.dims(x);
    const std::vector<DimId>& entries = written->elements;
    target_.clear();
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const std::size_t behind = entries.size() - i;  // axes count from the last one
      const DimId own = behind <= from.size() ? from[from.size() - behind] : DimId{};
      const auto number = entries[i] ? m.dims.value(entries[i]) : std::nullopt;
      if (own && entries[i] && m.dims.equal(own, entries[i]) == Tri::Yes) target_.push_back(1);
      else if (number && *number >= 0) target_.push_back(*number);
      else return c.no(n, "an entry of the target is known only at run time");
    }
    return true;
  }

  void apply(PassContext& c, NodeId n) override {
    Model& m = c.model;
    const std::string base = std::string(m.text(m.value(m.output(n, 0)).name)) + "_shape";
    m.set_operand(n, 1, m.add_initializer(m.node(n).graph, base, m.make_int64s(target_)));
  }

 private:
  std::vector<std::int64_t> target_;
};

class ResizeScales final : public Rule {
 public:
  static constexpr Counter kCounter{"scaled", "Resizes whose sizes became constant scales"};
  std::string_view name() const override { return "resize-scales"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::Resize>; }

  bool match(const MatchContext& c, NodeId n) override {
    constexpr std::int64_t kExact = 1 << 24;  // floats hold all integers up to it
    const Model& m = c.model;
    const ValueId x = m.input(n, 0), y = m.output(n, 0), sizes = m.input(n, 3);
    if (!sizes || m.constant_of(sizes)) return false;
    if (m.node(n).graph != m.main()) return c.no(n, "it is in a body, where a runtime checks scales at load");
    const auto mode = string_attr(m, n, names::coordinate_transformation_mode).value_or("half_pixel");
    const auto policy = string_attr(m, n, names::keep_aspect_ratio_policy).value_or("stretch");
    if (!attributes_known(m, n) || has_attr(m, n, names::axes) || policy != "stretch" ||
        mode == "tf_crop_and_resize")
      return c.no(n, "it resizes some axes, keeps a ratio or crops");
    if (!c.infer.has_rank(x) || !c.infer.has_rank(y) || c.infer.dims(x).size() != c.infer.dims(y).size())
      return c.no(n, "a rank is not known");
    const auto from = c.infer.dims(x), to = c.infer.dims(y);
    scales_.clear();
    for (std::size_t i = 0; i < from.size(); ++i) {
      const DimId ratio = from[i] && to[i] ? c.dims.exact_div(to[i], from[i], true) : DimId{};
      const auto scale = ratio ? c.dims.value(ratio) : std::nullopt;
      if (!scale || *scale < 1) return c.no(n, "an extent is not known to be a multiple of the operand's");
      if (c.dims.range(to[i]).high > kExact)
        return c.no(n, "an extent may be larger than floats can hold (--dim gives a bound)");
      scales_.push_back(static_cast<float>(*scale));
    }
    return !scales_.empty();
  }

  void apply(PassContext& c, NodeId n) override {
    Model& m = c.model;
    std::string raw(scales_.size() * sizeof(float), '\0');
    std::memcpy(raw.data(), scales_.data(), raw.size());
    const std::int64_t dims[] = {static_cast<std::int64_t>(scales_.size())};
    const std::string base = std::string(m.text(m.value(m.output(n, 0)).name)) + "_scales";
    const TensorId scales = m.make_tensor(DType::Float, dims, std::move(raw));
    const ValueId operands[] = {m.input(n, 0), m.input(n, 1),
                                m.add_initializer(m.node(n).graph, base, scales)};
    m.set_operands(n, operands);
  }

 private:
  std::vector<float> scales_;
};

class ConstantTarget final : public Rule {
 public:
  static constexpr Counter kCounter{"written", "Reshape targets that became constants"};
  std::string_view name() const override { return "target"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::Reshape>; }

  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    const ValueId x = m.input(n, 0), target = m.input(n, 1), y = m.output(n, 0);
    // Before opset 5 there is no second operand.
    if (!target || m.constant_of(target)) return false;
    if (!m.can_hold_constant(m.node(n).graph, DType::Int64))
      return c.no(n, "the graph's opset has no constants of integers");
    if (!c.infer.has_rank(x) || !c.infer.has_rank(y)) return c.no(n, "a rank is not known");
    const auto from = c.infer.dims(x), to = c.infer.dims(y);
    const SymbolicTensor* written = c.infer.symbolic(target);
    auto numbers =
        reshape_target(m.dims, from, to, [&m](DimId a, DimId b) { return m.dims.equal(a, b) == Tri::Yes; });
    if (!numbers) return c.no(n, "two dims are known only at run time, or one may be 0");
    target_ = std::move(numbers->numbers);
    if (is_refused(c, n, target)) return c.no(n, "a runtime would refuse a node that reads the result");
    if (numbers->defined()) return true;
    const std::size_t at = *numbers->open;
    return (written && at < written->elements.size() && m.dims.is_constant(written->elements[at], -1)) ||
           c.no(n, "a -1 would have no meaning where a copied dim is 0");
  }

  void apply(PassContext& c, NodeId n) override {
    Model& m = c.model;
    const std::string base = std::string(m.text(m.value(m.output(n, 0)).name)) + "_shape";
    const ValueId target = m.add_initializer(m.node(n).graph, base, m.make_int64s(target_));
    m.set_operand(n, 1, target);
    if (has_attr(m, n, names::allowzero)) m.remove_attr(n, names::allowzero);  // a 0 means copy now
  }

 private:
  // Asked in bodies without sequences only: elsewhere types are hidden at the end (rewrite/hide_types.h).
  bool is_refused(const MatchContext& c, NodeId n, ValueId target) {
    const Model& m = c.model;
    const GraphId g = m.node(n).graph;
    if (g == m.main() || m.opset(n) >= 11) return false;
    const std::optional<std::string> raw = int_payload(DType::Int64, target_);
    if (!raw) return true;
    if (!refused_) refused_.emplace(m, c.infer);
    const std::int64_t dims[] = {static_cast<std::int64_t>(target_.size())};
    return refused_->refuses({target, DType::Int64, dims, *raw});
  }

  std::vector<std::int64_t> target_;
  std::optional<RefusedConstants> refused_;  // of the model that the rule is run on
};

}  // namespace

extern constinit const PassInfo constant_shapes = {
    .name = "constant-shapes",
    .summary = "write targets of Reshape, Expand, Resize as constants",
    .exact = Exact::Yes,
    .level = 1,
    .make = make_pass<RulePass<ConstantTarget, ExpandTarget, ResizeScales>>,
    .new_operators = NewOperators::Never};

}  // namespace graphopt
