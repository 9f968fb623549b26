// Expansions of elementwise operators.
//
// hard-swish     x * HardSigmoid (x) with 1/6 and 1/2: what the standard says HardSwish is
// hard-sigmoid   Clip (alpha * x + beta, 0, 1)
// gelu           0.5 * x * (1 + Erf (x / sqrt 2)), or the form with Tanh where the node asks for that
// swish          x * Sigmoid (alpha * x)
// ms-gelu, bias-gelu, fast-gelu, quick-gelu
//                those of com.microsoft: Gelu; of x + bias; with Tanh; x * Sigmoid (alpha * x)
// mish           x * Tanh (Softplus (x))
// softplus       Relu (x) + Log (1 + Exp (-|x|)), which does not overflow
// neg            x * -1
// reciprocal     1 / x
// clip           Min (Max (x, low), high)
// Exact: hard-swish, neg and reciprocal. A NaN stays one, whatever its sign.
// Rounds: with u the rounding unit, original and result lie within these distances, for finite x:
//   hard-sigmoid   4 u (1 + |alpha x| + |beta|)
//   gelu, swish, mish   32 u |x|, and so for those of com.microsoft; x is what the bias was added to
//   softplus       8 u (1 + |x|)
//   clip           0 may have the other sign where it equals a bound
// An infinity or NaN in x gives the same infinity or NaN.
// Left alone: types of 16 bits, of which a runtime may compute a chain in another type than its parts.
//
//   y = HardSwish (x)    =>    h = HardSigmoid <alpha = 1/6, beta = 0.5> (x)    y = Mul (x, h)
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "lower/expansion.h"
#include "ops/attributes.h"
#include "ops/constants.h"
#include "ops/node_facts.h"
#include "passes/raise_rule.h"

namespace graphopt {
namespace {

template <OpKind kKind> class Activation : public ExpansionRule {
 public:
  std::span<const OpKind> roots() const override { return kRootKinds<kKind>; }
  bool match(const MatchContext& c, NodeId n) override {
    type_ = c.infer.dtype(c.model.input(n, 0));
    // Before opset 7 binary operators do not broadcast a number.
    return c.model.opset(c.model.main(), kEmptyName) >= 7 && attributes_known(c.model, n) && fits(c, n);
  }
  void apply(PassContext& c, NodeId n) override {
    Emitter e = emit(c.model, n);
    give_result(c.model, n, write(e, c.model.input(n, 0)));
  }

 protected:
  virtual bool fits(const MatchContext&, NodeId) { return type_ == DType::Float; }
  virtual ValueId write(Emitter& e, ValueId x) = 0;
  // A constant of the operand's type, as near to the number as that can say it.
  ValueId constant(Emitter& e, double number) const {
    return e.scalar(type_, type_ == DType::Float ? static_cast<double>(static_cast<float>(number)) : number);
  }
  ValueId gelu(Emitter& e, ValueId x, bool tanh) const {
    ValueId inner;
    if (tanh) {  // sqrt (2 / pi) * (x + 0.044715 x^3)
      const ValueId square = e.node(OpKind::Mul, {x, x}, "square");
      const ValueId cube = e.node(OpKind::Mul, {square, x}, "cube");
      const ValueId small = e.node(OpKind::Mul, {cube, constant(e, 0.044715)}, "small");
      const ValueId sum = e.node(OpKind::Add, {x, small}, "sum");
      const ValueId angle = e.node(OpKind::Mul, {sum, constant(e, std::sqrt(2 / M_PI))}, "angle");
      inner = e.node(OpKind::Tanh, {angle}, "tanh");
    } else {
      inner = e.node(OpKind::Erf, {e.node(OpKind::Mul, {x, constant(e, std::sqrt(0.5))}, "angle")}, "erf");
    }
    const ValueId gate = e.node(OpKind::Add, {inner, constant(e, 1)}, "gate");
    return e.node(OpKind::Mul, {e.node(OpKind::Mul, {x, constant(e, 0.5)}, "half"), gate}, "product");
  }
  // x * Sigmoid (alpha * x)
  ValueId swish(Emitter& e, ValueId x, float alpha) const {
    const ValueId scaled = alpha == 1 ? x : e.node(OpKind::Mul, {x, constant(e, double{alpha})}, "scaled");
    return e.node(OpKind::Mul, {x, e.node(OpKind::Sigmoid, {scaled}, "gate")}, "product");
  }

  DType type_ = DType::Undefined;
};

class HardSwish final : public Activation<OpKind::HardSwish> {
 public:
  std::string_view name() const override { return "hard-swish"; }

 private:
  ValueId write(Emitter& e, ValueId x) override {
    Model& m = e.model();
    const ValueId h = e.node(OpKind::HardSigmoid, {x}, "gate");
    m.set_attr(m.value(h).def, float_attribute(names::alpha, 1.0F / 6.0F));
    m.set_attr(m.value(h).def, float_attribute(names::beta, 0.5F));
    return e.node(OpKind::Mul, {x, h}, "product");
  }
};

class HardSigmoid final : public Activation<OpKind::HardSigmoid> {
 public:
  std::string_view name() const override { return "hard-sigmoid"; }

 private:
  bool fits(const MatchContext& c, NodeId n) override {
    alpha_ = float_attr(c.model, n, names::alpha).value_or(0);
    beta_ = float_attr(c.model, n, names::beta).value_or(0);
    return type_ == DType::Float && std::isfinite(alpha_) && std::isfinite(beta_);
  }
  ValueId write(Emitter& e, ValueId x) override {
    const ValueId scaled = e.node(OpKind::Mul, {x, constant(e, double{alpha_})}, "scaled");
    const ValueId shifted = e.node(OpKind::Add, {scaled, constant(e, double{beta_})}, "shifted");
    return e.built("clipped", [&](const Site& at) { return add_clip(at, shifted, type_, 0.0, 1.0); });
  }
  float alpha_ = 0, beta_ = 0;
};

class Gelu final : public Activation<OpKind::Gelu> {
 public:
  std::string_view name() const override { return "gelu"; }

 private:
  bool fits(const MatchContext& c, NodeId n) override {
    tanh_ = string_attr(c.model, n, names::approximate).value_or("none") == "tanh";
    return type_ == DType::Float;
  }
  ValueId write(Emitter& e, ValueId x) override { return gelu(e, x, tanh_); }
  bool tanh_ = false;
};

class Swish final : public Activation<OpKind::Swish> {
 public:
  std::string_view name() const override { return "swish"; }

 private:
  bool fits(const MatchContext& c, NodeId n) override {
    alpha_ = float_attr(c.model, n, names::alpha).value_or(1);
    return type_ == DType::Float && std::isfinite(alpha_);
  }
  ValueId write(Emitter& e, ValueId x) override { return swish(e, x, alpha_); }
  float alpha_ = 1;
};

class Mish final : public Activation<OpKind::Mish> {
 public:
  std::string_view name() const override { return "mish"; }

 private:
  ValueId write(Emitter& e, ValueId x) override {
    const ValueId soft = e.node(OpKind::Softplus, {x}, "soft");
    return e.node(OpKind::Mul, {x, e.node(OpKind::Tanh, {soft}, "gate")}, "product");
  }
};

class Softplus final : public Activation<OpKind::Softplus> {
 public:
  std::string_view name() const override { return "softplus"; }

 private:
  ValueId write(Emitter& e, ValueId x) override {
    const ValueId size = e.node(OpKind::Abs, {x}, "size");
    const ValueId power = e.node(OpKind::Exp, {e.node(OpKind::Neg, {size}, "negative")}, "power");
    const ValueId log = e.node(OpKind::Log, {e.node(OpKind::Add, {power, constant(e, 1)}, "sum")}, "log");
    return e.node(OpKind::Add, {e.node(OpKind::Relu, {x}, "positive"), log}, "soft");
  }
};

class Neg final : public Activation<OpKind::Neg> {
 public:
  std::string_view name() const override { return "neg"; }

 private:
  bool fits(const MatchContext&, NodeId) override {
    return type_ == DType::Float || type_ == DType::Double || type_ == DType::Int32 || type_ == DType::Int64;
  }
  ValueId write(Emitter& e, ValueId x) override {
    return e.node(OpKind::Mul, {x, constant(e, -1)}, "negative");
  }
};

class Reciprocal final : public Activation<OpKind::Reciprocal> {
 public:
  std::string_view name() const override { return "reciprocal"; }

 private:
  bool fits(const MatchContext&, NodeId) override { return type_ == DType::Float || type_ == DType::Double; }
  ValueId write(Emitter& e, ValueId x) override {
    return e.node(OpKind::Div, {constant(e, 1), x}, "inverse");
  }
};

class Clip final : public Activation<OpKind::Clip> {
 public:
  std::string_view name() const override { return "clip"; }

 private:
  bool fits(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    if (type_ != DType::Float || m.opset(n) < 11) return false;  // before that, bounds are attributes
    low_ = m.input(n, 1);
    high_ = m.input(n, 2);
    for (const ValueId bound : {low_, high_}) {
      const auto number = bound ? real_scalar(m, bound) : std::optional(0.0);
      if (!number || !std::isfinite(*number)) return false;
    }
    return true;
  }
  // With bounds in the wrong order all results are the upper one, as in the original. An absent bound is the
  // border of the type, which an infinity is beyond.
  ValueId write(Emitter& e, ValueId x) override {
    constexpr double kMost = std::numeric_limits<float>::max();
    const ValueId above = e.node(OpKind::Max, {x, low_ ? low_ : constant(e, -kMost)}, "above");
    return e.node(OpKind::Min, {above, high_ ? high_ : constant(e, kMost)}, "below");
  }
  ValueId low_, high_;
};

// Those of com.microsoft; with a bias, which is added before.
template <OpKind kKind> class MsGelu final : public Activation<kKind> {
 public:
  static constexpr bool kTanh = kKind == OpKind::MsFastGelu;
  std::string_view name() const override {
    return kTanh ? "fast-gelu" : kKind == OpKind::MsBiasGelu ? "bias-gelu" : "ms-gelu";
  }

 private:
  bool fits(const MatchContext& c, NodeId n) override {
    bias_ = c.model.input(n, 1);
    return this->type_ == DType::Float;
  }
  ValueId write(Emitter& e, ValueId x) override {
    if (bias_) x = e.node(OpKind::Add, {x, bias_}, "biased");
    if (kTanh || e.opset() < 20) return this->gelu(e, x, kTanh);
    return e.node(OpKind::Gelu, {x}, "gelu");
  }
  ValueId bias_;
};

class QuickGelu final : public Activation<OpKind::MsQuickGelu> {
 public:
  std::string_view name() const override { return "quick-gelu"; }

 private:
  bool fits(const MatchContext& c, NodeId n) override {
    alpha_ = float_attr(c.model, n, names::alpha).value_or(1.702F);
    return type_ == DType::Float && std::isfinite(alpha_);
  }
  ValueId write(Emitter& e, ValueId x) override { return swish(e, x, alpha_); }
  float alpha_ = 1.702F;
};

constexpr Expansion kActivationExpansions[] = {
    expansion<HardSwish, Exact::Yes>(),
    expansion<HardSigmoid, Exact::No>(),
    expansion<Gelu, Exact::No>(),
    expansion<Swish, Exact::No>(),
    expansion<Mish, Exact::No>(),
    expansion<Softplus, Exact::No>(),
    expansion<Neg, Exact::Yes>(),
    expansion<Reciprocal, Exact::Yes>(),
    expansion<Clip, Exact::No>(),
    expansion<MsGelu<OpKind::MsGelu>, Exact::No>(),
    expansion<MsGelu<OpKind::MsBiasGelu>, Exact::No>(),
    expansion<MsGelu<OpKind::MsFastGelu>, Exact::No>(),
    expansion<QuickGelu, Exact::No>(),
};

}  // namespace

std::span<const Expansion> activation_expansions() { return kActivationExpansions; }

}  // namespace graphopt
