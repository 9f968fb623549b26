// raise-activations: writes activations that are spelled in primitives as the operator that ONNX has for
// them.
//
// Problem: where an opset had no operator for an activation, exporters wrote it in up to eight nodes, and
// many still do. A runtime that does not recognize just this spelling runs each node over the whole tensor.
// Method: peephole from the last node, where the model's own opset has the operator.
//   mish          x * Tanh (Softplus (x)), from opset 18 on
//   hard-sigmoid  Clip (x + c, 0, d) / d, Clip (a * x + b, 0, 1)
//   hard-swish    x * HardSigmoid (x) with 1/6 and 1/2, or x * Clip (x + 3, 0, 6) / 6, from opset 14 on
//   gelu          0.5 * x * (1 + Erf (x / sqrt 2)), and the form with Tanh, from opset 20 on
// Rounds: the formula is the same, its numbers are rounded at other places. With u the rounding unit,
// original and result lie within these distances of each other, for finite x:
//   mish, hard-*  8 u (1 + |x|) (1 + |c / d|); finite results where x * Clip overflows
//   gelu          32 u |x|, of which most is what two kernels for Erf or Tanh differ by; finite results where
//                 x * (1 + erf) overflows, and 0.5 is multiplied afterwards
// An infinity or NaN in x gives the same infinity or NaN.
// Lowers: nodes. Ends: each rewrite removes at least one node.
// Left alone: values inside that something else reads; constants that are off by more than rounding them to a
// float, or that a caller may override; constants that may change dims; element types without a kernel
// (has_raised_kernel), so no Swish. Also Log (Exp (x) + 1): Softplus takes four times as long in ONNX
// Runtime. ONNX Runtime fuses a bias with Gelu as with the primitives.
//
//   d = Div (x, 1.41421354)
//   e = Erf (d)
//   a = Add (e, 1)
//   p = Mul (x, a)
//   y = Mul (p, 0.5)           =>      y = Gelu (x)

#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "ops/attributes.h"
#include "ops/constants.h"
#include "ops/node_facts.h"
#include "passes/raise_rule.h"
#include "rewrite/match.h"

namespace graphopt {
namespace {

using namespace pattern;

// x * number, or x / (1 / number).
template <class P> auto scaled(P x, double number) {
  return one_of(op(OpKind::Mul, x, scalar_near(number, kNear)),
                op(OpKind::Div, x, scalar_near(1 / number, kNear)));
}

// The product of three factors in any order; `inner` is put around the product of two.
template <class A, class B, class C> auto product(A a, B b, C c) {
  return one_of(op(OpKind::Mul, op(OpKind::Mul, a, b).single_use(), c),
                op(OpKind::Mul, op(OpKind::Mul, a, c).single_use(), b),
                op(OpKind::Mul, a, op(OpKind::Mul, b, c).single_use()));
}

// The bounds of a Clip; an absent one is infinite, one that is not known makes nothing.
std::optional<std::pair<double, double>> bounds_of(const Model& m, NodeId clip) {
  const bool written = m.opset(clip) < 11;
  const auto bound = [&](NameId name, std::size_t slot, double absent) -> std::optional<double> {
    if (written) {
      if (!has_attr(m, clip, name)) return absent;
      const auto f = float_attr(m, clip, name);
      return f ? std::optional<double>(*f) : std::nullopt;
    }
    const ValueId v = m.input(clip, slot);
    return v ? real_scalar(m, v) : std::optional(absent);
  };
  const double infinity = std::numeric_limits<double>::infinity();
  const auto low = bound(names::min, 1, -infinity), high = bound(names::max, 2, infinity);
  if (!low || !high) return std::nullopt;
  return std::pair(*low, *high);
}

// A Clip from `low` to a number, which is bound.
template <class P> auto clip(P x, double low, double& high) {
  return op(OpKind::Clip, x)
      .and_more()
      .where("has other bounds", [low, &high](const MatchContext& c, NodeId n) {
        const auto bounds = bounds_of(c.model, n);
        if (bounds) high = bounds->second;
        return bounds && bounds->first == low && std::isfinite(high);
      });
}

class RaiseMish final : public RaiseRule {
 public:
  static constexpr Counter kCounter{"mish", "Mish that were products with a Tanh"};
  std::string_view name() const override { return "mish"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::Mul>; }

  bool match(const MatchContext& c, NodeId n) override {
    return spelled_.matches_at(c, n) && may_raise(c, n, OpKind::Mish, x_, c.model.output(n, 0));
  }
  void apply(PassContext& c, NodeId n) override { raise(c.model, n, OpKind::Mish, std::span(&x_, 1), {}); }

 private:
  ValueId x_;
  const KeptPattern spelled_{
      op(OpKind::Mul, any(x_), op(OpKind::Tanh, op(OpKind::Softplus, same(x_)).single_use()).single_use())};
};

class RaiseHardSigmoid final : public RaiseRule {
 public:
  static constexpr Counter kCounter{"hard_sigmoids", "HardSigmoids that were written with Clip"};
  std::string_view name() const override { return "hard-sigmoid"; }
  std::span<const OpKind> roots() const override {
    return kRootKinds<OpKind::Div, OpKind::Mul, OpKind::Clip>;
  }

  bool match(const MatchContext& c, NodeId n) override {
    return spelled(c, n) && may_raise(c, n, OpKind::HardSigmoid, x_, c.model.output(n, 0));
  }

  void apply(PassContext& c, NodeId n) override {
    const std::array attributes{float_attribute(names::alpha, static_cast<float>(alpha_)),
                                float_attribute(names::beta, static_cast<float>(beta_))};
    raise(c.model, n, OpKind::HardSigmoid, std::span(&x_, 1), attributes);
  }

 private:
  // Clip (x + offset, 0, high), times or divided by the factor.
  KeptPattern clipped_first(OpKind last) {
    const auto shifted = op(OpKind::Add, any(x_), any_scalar(offset_)).single_use();
    return KeptPattern(op(last, clip(shifted, 0, high_).single_use(), any_scalar(factor_)));
  }
  KeptPattern clipped_last() {
    const auto times = one_of(op(OpKind::Mul, any(x_), any_scalar(factor_)).bind(scale_),
                              op(OpKind::Div, any(x_), any_scalar(factor_)).bind(scale_));
    return KeptPattern(clip(op(OpKind::Add, times.single_use(), any_scalar(offset_)).single_use(), 0, high_));
  }

  bool spelled(const MatchContext& c, NodeId n) {
    const OpKind last = c.model.kind(n);
    if (last == OpKind::Clip) {
      if (!clipped_last_.matches_at(c, n)) return false;
      if (high_ != 1) return c.no(n, "the upper bound is not 1");
      alpha_ = c.model.kind(scale_) == OpKind::Div ? 1 / factor_ : factor_;
      beta_ = offset_;
    } else {
      if (!(last == OpKind::Div ? divided_ : multiplied_).matches_at(c, n)) return false;
      alpha_ = last == OpKind::Div ? 1 / factor_ : factor_;
      if (!(std::fabs(alpha_ * high_ - 1) <= kNear)) return c.no(n, "the upper bound does not become 1");
      beta_ = offset_ * alpha_;
    }
    // A denormal factor, or one that is infinite as a float, would lose digits.
    return (alpha_ >= kLeast && alpha_ <= 1 / kLeast && std::fabs(beta_) <= 1 / kLeast) ||
           c.no(n, "the slope is not a positive number of moderate size");
  }

  static constexpr double kLeast = 1e-30;
  ValueId x_;
  NodeId scale_;
  double high_ = 0, factor_ = 0, offset_ = 0;  // the numbers in the model
  double alpha_ = 0, beta_ = 0;
  const KeptPattern clipped_last_{clipped_last()}, divided_{clipped_first(OpKind::Div)},
      multiplied_{clipped_first(OpKind::Mul)};
};

class RaiseHardSwish final : public RaiseRule {
 public:
  static constexpr Counter kCounter{"hard_swishes", "HardSwishes that were written with HardSigmoid or Clip"};
  std::string_view name() const override { return "hard-swish"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::Mul, OpKind::Div>; }

  bool match(const MatchContext& c, NodeId n) override {
    high_ = 0;
    if (!spelled_.matches_at(c, n)) return false;
    if (high_ != 0 && high_ != 6) return c.no(n, "the upper bound is not 6");
    return may_raise(c, n, OpKind::HardSwish, x_, c.model.output(n, 0));
  }

  void apply(PassContext& c, NodeId n) override {
    raise(c.model, n, OpKind::HardSwish, std::span(&x_, 1), {});
  }

 private:
  static constexpr double kSixth = 1.0 / 6;
  static bool sixth_and_half(const MatchContext& c, NodeId n) {
    const double alpha = float_attr(c.model, n, names::alpha).value_or(0);
    return float_attr(c.model, n, names::beta) == 0.5F && std::fabs(alpha * 6 - 1) <= kNear;
  }
  KeptPattern spellings() {
    const auto sigmoid =
        op(OpKind::HardSigmoid, same(x_)).single_use().where("has other numbers", sixth_and_half);
    const auto six = clip(op(OpKind::Add, same(x_), scalar(3)).single_use(), 0, high_).single_use();
    return KeptPattern(one_of(op(OpKind::Mul, any(x_), sigmoid),
                              scaled(op(OpKind::Mul, any(x_), six).single_use(), kSixth),
                              op(OpKind::Mul, scaled(any(x_), kSixth).single_use(), six)));
  }

  ValueId x_;
  double high_ = 0;  // 0: the spelling has no Clip
  const KeptPattern spelled_{spellings()};
};

class RaiseGelu final : public RaiseRule {
 public:
  static constexpr Counter kCounter{"gelus", "Gelus that were written with Erf or Tanh"};
  std::string_view name() const override { return "gelu"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::Mul, OpKind::Div>; }

  bool match(const MatchContext& c, NodeId n) override {
    return spelled(c, n) && may_raise(c, n, OpKind::Gelu, x_, c.model.output(n, 0));
  }

  void apply(PassContext& c, NodeId n) override {
    Attr approximate;
    approximate.name = names::approximate;
    approximate.kind = AttrKind::String;
    approximate.s = "tanh";
    raise(c.model, n, OpKind::Gelu, std::span(&x_, 1), std::span(&approximate, tanh_ ? 1 : 0));
  }

 private:
  static constexpr double kRoot = 0.70710678118654752, kSlope = 0.79788456080286536, kCubic = 0.044715;

  // 0.5 * x * (1 + of).
  template <class P> auto half_of(P of) {
    const auto sum = op(OpKind::Add, of, scalar(1)).single_use();
    return one_of(product(any(x_), sum, scalar(0.5)),
                  op(OpKind::Div, op(OpKind::Mul, any(x_), sum).single_use(), scalar(2)),
                  op(OpKind::Mul, op(OpKind::Div, any(x_), scalar(2)).single_use(), sum),
                  op(OpKind::Mul, any(x_), op(OpKind::Div, sum, scalar(2)).single_use()));
  }
  KeptPattern with_erf() {
    return KeptPattern(half_of(op(OpKind::Erf, scaled(same(x_), kRoot).single_use()).single_use()));
  }
  template <class P> KeptPattern with_tanh(P of) {
    return KeptPattern(half_of(op(OpKind::Tanh, of.single_use()).single_use()));
  }
  auto square() {
    return one_of(op(OpKind::Pow, same(x_), scalar(2)), op(OpKind::Mul, same(x_), same(x_))).single_use();
  }
  // k (x + c x^3).
  KeptPattern cubic() {
    const auto x = same(x_);
    const auto cube = one_of(op(OpKind::Pow, x, scalar(3)), op(OpKind::Mul, square(), x)).single_use();
    const auto third = op(OpKind::Mul, cube, scalar_near(kCubic, kNear)).single_use();
    return with_tanh(op(OpKind::Mul, op(OpKind::Add, x, third).single_use(), scalar_near(kSlope, kNear)));
  }
  // k x (1 + c x^2).
  KeptPattern quadratic() {
    const auto x = same(x_);
    const auto third = scalar_near(kCubic, kNear);
    const auto term =
        one_of(op(OpKind::Mul, square(), third), op(OpKind::Mul, op(OpKind::Mul, x, third).single_use(), x));
    return with_tanh(
        product(x, op(OpKind::Add, term.single_use(), scalar(1)).single_use(), scalar_near(kSlope, kNear)));
  }

  bool spelled(const MatchContext& c, NodeId n) {
    tanh_ = false;
    if (erf_.matches_at(c, n)) return true;
    tanh_ = true;
    return cubic_.matches_at(c, n) || quadratic_.matches_at(c, n);
  }

  ValueId x_;
  bool tanh_ = false;
  const KeptPattern erf_{with_erf()}, cubic_{cubic()}, quadratic_{quadratic()};
};

}  // namespace

extern constinit const PassInfo raise_activations = {
    .name = "raise-activations",
    .summary = "write Gelu, HardSwish ... for their primitives",
    .exact = Exact::No,
    .level = 2,
    .make = make_pass<RulePass<RaiseMish, RaiseHardSigmoid, RaiseHardSwish, RaiseGelu>>};

}  // namespace graphopt
