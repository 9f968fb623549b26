// Expansions of elementwise arithmetic into simpler operators.
//
// pairs          Sum, Max and Min of several operands as a chain of Add, or of Max and Min of two; Mean is
//                the sum times one over their number
// p-relu         Max (x, 0) + slope * Min (x, 0), for a slope that is known, finite and not 0
// power          Pow with the exponent 2, 3 or -1 as products or Reciprocal
// relu           Relu as Max (x, 0)
// sub-add        Sub as Add of the product with -1
// absolute       Abs as Max (x, x * -1)
// clip-integer   Clip of integers as Min (Max (x, low), high)
// Exact: clip-integer, and sub-add: x * -1 turns the sign over, and a - b is a + -b.
// Rounds: pairs by at most 2 (n + 1) u times the sum (or mean) of the n magnitudes, Max and Min in the sign
// of a zero; power by 8 u of the result, and where x * x leaves the range of normal numbers; p-relu, relu and
// absolute in the sign of a zero.
// Left alone: types of 16 bits; a Pow of 0.5, which is +infinity for -infinity, where Sqrt is a NaN.
//
//   y = Sum (a, b, c)    =>    s = Add (a, b)    y = Add (s, c)
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "lower/expansion.h"
#include "ops/attributes.h"
#include "ops/constants.h"
#include "ops/node_facts.h"

namespace graphopt {
namespace {

class ArithmeticRule : public ExpansionRule {
 public:
  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    kind_ = m.kind(n);
    x_ = m.input(n, 0);
    type_ = c.infer.dtype(x_);
    return m.opset(m.main(), kEmptyName) >= 8 && attributes_known(m, n) && fits(c, n);
  }
  void apply(PassContext& c, NodeId n) override {
    Emitter e = emit(c.model, n);
    give_result(c.model, n, write(e, c.model, n));
  }

 protected:
  virtual bool fits(const MatchContext&, NodeId) { return type_ == DType::Float; }
  virtual ValueId write(Emitter& e, const Model& m, NodeId n) = 0;
  ValueId number(Emitter& e, double x) const {
    return e.scalar(type_, type_ == DType::Float ? static_cast<double>(static_cast<float>(x)) : x);
  }

  OpKind kind_ = OpKind::Opaque;
  ValueId x_;
  DType type_ = DType::Undefined;
};

class Pairs final : public ArithmeticRule {
 public:
  std::string_view name() const override { return "pairs"; }
  std::span<const OpKind> roots() const override {
    return kRootKinds<OpKind::Sum, OpKind::Mean, OpKind::Max, OpKind::Min>;
  }

 private:
  bool fits(const MatchContext& c, NodeId n) override {
    mean_ = kind_ == OpKind::Mean;
    const bool same = kind_ == OpKind::Max || kind_ == OpKind::Min;
    count_ = c.model.input_count(n);
    return type_ == DType::Float && count_ >= (same ? 3U : 2U) && count_ <= std::size_t{kMostParts};
  }
  ValueId write(Emitter& e, const Model& m, NodeId n) override {
    const OpKind pair = kind_ == OpKind::Max || kind_ == OpKind::Min ? kind_ : OpKind::Add;
    ValueId y = x_;
    for (std::size_t i = 1; i < count_; ++i) y = e.node(pair, {y, m.input(n, i)}, "pair");
    return mean_ ? e.node(OpKind::Mul, {y, number(e, 1.0 / static_cast<double>(count_))}, "mean") : y;
  }
  bool mean_ = false;
  std::size_t count_ = 0;
};

class PReluParts final : public ArithmeticRule {
 public:
  std::string_view name() const override { return "p-relu"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::PRelu>; }

 private:
  bool fits(const MatchContext& c, NodeId n) override {
    if (type_ != DType::Float) return false;
    slope_ = c.model.input(n, 1);
    const auto slopes = real_list(c.model, slope_);
    if (!slopes) return false;
    for (const double s : *slopes)
      if (!std::isfinite(s) || s == 0) return false;  // 0 times an infinity
    return true;
  }
  ValueId write(Emitter& e, const Model&, NodeId) override {
    const ValueId above = e.node(OpKind::Max, {x_, number(e, 0)}, "above");
    const ValueId below = e.node(OpKind::Min, {x_, number(e, 0)}, "below");
    return e.node(OpKind::Add, {above, e.node(OpKind::Mul, {below, slope_}, "scaled")}, "sum");
  }
  ValueId slope_;
};

class Power final : public ArithmeticRule {
 public:
  std::string_view name() const override { return "power"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::Pow>; }

 private:
  bool fits(const MatchContext& c, NodeId n) override {
    const ValueId by = c.model.input(n, 1);
    const auto exponent = real_scalar(c.model, by);
    if (type_ != DType::Float || !exponent || !c.model.tensor(c.model.constant_of(by)).dims.empty())
      return false;
    exponent_ = *exponent;
    return exponent_ == 2 || exponent_ == 3 || exponent_ == -1;
  }
  ValueId write(Emitter& e, const Model&, NodeId) override {
    if (exponent_ == -1) return e.node(OpKind::Reciprocal, {x_}, "inverse");
    const ValueId square = e.node(OpKind::Mul, {x_, x_}, "square");
    return exponent_ == 2 ? square : e.node(OpKind::Mul, {square, x_}, "cube");
  }
  double exponent_ = 0;
};

class ReluMax final : public ArithmeticRule {
 public:
  std::string_view name() const override { return "relu"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::Relu>; }

 private:
  ValueId write(Emitter& e, const Model&, NodeId) override {
    return e.node(OpKind::Max, {x_, number(e, 0)}, "above");
  }
};

class SubAdd final : public ArithmeticRule {
 public:
  std::string_view name() const override { return "sub-add"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::Sub>; }

 private:
  bool fits(const MatchContext&, NodeId) override { return type_ == DType::Float || type_ == DType::Double; }
  ValueId write(Emitter& e, const Model& m, NodeId n) override {
    return e.node(OpKind::Add, {x_, e.node(OpKind::Mul, {m.input(n, 1), number(e, -1)}, "negative")}, "sum");
  }
};

class AbsMax final : public ArithmeticRule {
 public:
  std::string_view name() const override { return "absolute"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::Abs>; }

 private:
  ValueId write(Emitter& e, const Model&, NodeId) override {
    return e.node(OpKind::Max, {x_, e.node(OpKind::Mul, {x_, number(e, -1)}, "negative")}, "size");
  }
};

class ClipInteger final : public ArithmeticRule {
 public:
  std::string_view name() const override { return "clip-integer"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::Clip>; }

 private:
  bool fits(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    low_ = m.input(n, 1);
    high_ = m.input(n, 2);
    if ((type_ != DType::Int32 && type_ != DType::Int64) || m.opset(n) < 12 || (!low_ && !high_))
      return false;
    const auto low = low_ ? int_scalar(m, low_) : std::optional(std::numeric_limits<std::int64_t>::min());
    const auto high = high_ ? int_scalar(m, high_) : std::optional(std::numeric_limits<std::int64_t>::max());
    return low && high;
  }
  ValueId write(Emitter& e, const Model&, NodeId) override {
    ValueId y = low_ ? e.node(OpKind::Max, {x_, low_}, "above") : x_;
    return high_ ? e.node(OpKind::Min, {y, high_}, "below") : y;
  }
  ValueId low_, high_;
};

constexpr Expansion kArithmeticExpansions[] = {
    expansion<Pairs, Exact::No>(),        expansion<PReluParts, Exact::No>(), expansion<Power, Exact::No>(),
    expansion<ReluMax, Exact::No>(),      expansion<SubAdd, Exact::Yes>(),    expansion<AbsMax, Exact::No>(),
    expansion<ClipInteger, Exact::Yes>(),
};

}  // namespace

std::span<const Expansion> arithmetic_expansions() { return kArithmeticExpansions; }

}  // namespace graphopt
