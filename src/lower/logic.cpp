// Expansions of comparisons, logic and choices.
//
// and, or, xor, not    arithmetic of 0 and 1: a product, a sum, a difference, 1 - a, and a Cast back
// is-nan               Not (Equal (x, x)): a NaN alone does not equal itself
// or-equal             GreaterOrEqual and LessOrEqual as Or of the strict comparison and Equal
// compare-max          comparisons of integers: a > b where Max (a, b) - b is not 0, a < b where
//                      Max (a, b) - a is not, and a = b where a - b is 0
// max-where            Max and Min of two integers as a Where
// where-sum            Where (c, a, b) as c * a + (1 - c) * b
// Exact: a Cast makes 0 and 1 of truth values, and true of all numbers but 0; float holds all that and and
// its like compute. Integers wrap, and a difference that wraps is 0 only for equal numbers. In where-sum one
// product is 0 and the other the number itself: for integers, and for floats that are known, finite and no
// -0, of which both products and their sum are exact. Left alone: comparisons and Max of floats, of which a
// NaN or the difference of infinities would be another; a Where of floats that are computed.
//
//   y = And (a, b)    =>    f = Cast (a)    g = Cast (b)    p = Mul (f, g)    y = Cast (p)
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "lower/expansion.h"
#include "ops/attributes.h"
#include "ops/constants.h"
#include "ops/node_facts.h"

namespace graphopt {
namespace {

bool is_plain_integer(DType t) { return t == DType::Int32 || t == DType::Int64; }

class LogicRule : public ExpansionRule {
 public:
  bool match(const MatchContext& c, NodeId n) override {
    // Before opset 7 operands are not broadcast. Float is the type that devices compute in.
    const Model& m = c.model;
    if (m.opset(m.main(), kEmptyName) < 9 || !attributes_known(m, n)) return false;
    kind_ = m.kind(n);
    for (std::size_t i = 0; i < kOperands; ++i) operands_[i] = m.input(n, i);
    type_ = c.infer.dtype(operands_[0]);
    return fits(c, n);
  }
  void apply(PassContext& c, NodeId n) override {
    Emitter e = emit(c.model, n);
    give_result(c.model, n, write(e));
  }

 protected:
  static constexpr std::size_t kOperands = 3;
  virtual bool fits(const MatchContext& c, NodeId n) = 0;
  virtual ValueId write(Emitter& e) = 0;
  // 1 - x, of 0 and 1
  static ValueId inverse(Emitter& e, ValueId x, DType type) {
    return e.node(OpKind::Sub, {e.scalar(type, 1), x}, "inverse");
  }

  OpKind kind_ = OpKind::Opaque;
  std::array<ValueId, kOperands> operands_;
  DType type_ = DType::Undefined;
};

template <OpKind kKind> class Arithmetic final : public LogicRule {
 public:
  std::string_view name() const override {
    return kKind == OpKind::And ? "and" : kKind == OpKind::Or ? "or" : kKind == OpKind::Xor ? "xor" : "not";
  }
  std::span<const OpKind> roots() const override { return kRootKinds<kKind>; }

 private:
  bool fits(const MatchContext&, NodeId) override { return type_ == DType::Bool; }
  ValueId write(Emitter& e) override {
    const ValueId a = e.cast(operands_[0], DType::Float, "number");
    ValueId y;
    if (kKind == OpKind::Not) {
      y = inverse(e, a, DType::Float);
    } else {
      const ValueId b = e.cast(operands_[1], DType::Float, "number");
      const OpKind how = kKind == OpKind::And ? OpKind::Mul : kKind == OpKind::Or ? OpKind::Add : OpKind::Sub;
      y = e.node(how, {a, b}, "computed");
    }
    return e.cast(y, DType::Bool, "truth");
  }
};

class IsNaNEqual final : public LogicRule {
 public:
  std::string_view name() const override { return "is-nan"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::IsNaN>; }

 private:
  // Equal takes floats from opset 11 on.
  bool fits(const MatchContext& c, NodeId n) override {
    return (type_ == DType::Float || type_ == DType::Double) && c.model.opset(n) >= 11;
  }
  ValueId write(Emitter& e) override {
    return e.node(OpKind::Not, {e.node(OpKind::Equal, {operands_[0], operands_[0]}, "itself")}, "nan");
  }
};

class OrEqual final : public LogicRule {
 public:
  std::string_view name() const override { return "or-equal"; }
  std::span<const OpKind> roots() const override {
    return kRootKinds<OpKind::GreaterOrEqual, OpKind::LessOrEqual>;
  }

 private:
  bool fits(const MatchContext& c, NodeId n) override {
    return (type_ == DType::Float || type_ == DType::Double || is_plain_integer(type_)) &&
           c.model.opset(n) >= 12;
  }
  ValueId write(Emitter& e) override {
    const OpKind strict = kind_ == OpKind::GreaterOrEqual ? OpKind::Greater : OpKind::Less;
    const ValueId more = e.node(strict, {operands_[0], operands_[1]}, "strict");
    const ValueId same = e.node(OpKind::Equal, {operands_[0], operands_[1]}, "equal");
    return e.node(OpKind::Or, {more, same}, "either");
  }
};

class CompareMax final : public LogicRule {
 public:
  std::string_view name() const override { return "compare-max"; }
  std::span<const OpKind> roots() const override {
    return kRootKinds<OpKind::Greater, OpKind::Less, OpKind::GreaterOrEqual, OpKind::LessOrEqual,
                      OpKind::Equal>;
  }

 private:
  // Max takes integers from opset 12 on.
  bool fits(const MatchContext& c, NodeId n) override {
    return is_plain_integer(type_) && c.model.opset(n) >= 12;
  }
  ValueId write(Emitter& e) override {
    const auto [a, b, none] = operands_;
    // What is not 0 where the comparison, or its opposite, holds.
    ValueId other = a;
    bool opposite = kind_ == OpKind::Equal;
    if (kind_ != OpKind::Equal) {
      opposite = kind_ == OpKind::GreaterOrEqual || kind_ == OpKind::LessOrEqual;
      other = e.node(OpKind::Max, {a, b}, "greater");
    }
    const bool from_b = kind_ == OpKind::Equal || kind_ == OpKind::Greater || kind_ == OpKind::LessOrEqual;
    const ValueId difference = e.node(OpKind::Sub, {other, from_b ? b : a}, "difference");
    const ValueId truth = e.cast(difference, DType::Bool, "truth");
    return opposite ? e.node(OpKind::Not, {truth}, "opposite") : truth;
  }
};

class MaxWhere final : public LogicRule {
 public:
  std::string_view name() const override { return "max-where"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::Max, OpKind::Min>; }

 private:
  bool fits(const MatchContext& c, NodeId n) override {
    return is_plain_integer(type_) && c.model.input_count(n) == 2;
  }
  ValueId write(Emitter& e) override {
    const auto [a, b, none] = operands_;
    const ValueId more = e.node(kind_ == OpKind::Max ? OpKind::Greater : OpKind::Less, {a, b}, "more");
    return e.node(OpKind::Where, {more, a, b}, "chosen");
  }
};

class WhereSum final : public LogicRule {
 public:
  std::string_view name() const override { return "where-sum"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::Where>; }

 private:
  bool fits(const MatchContext& c, NodeId) override {
    type_ = c.infer.dtype(operands_[1]);
    return is_plain_integer(type_) ||
           (type_ == DType::Float && is_kept(c.model, operands_[1]) && is_kept(c.model, operands_[2]));
  }
  static bool is_kept(const Model& m, ValueId v) {
    const auto numbers = real_list(m, v);
    return numbers && std::ranges::all_of(*numbers, [](double d) {
             return std::isfinite(d) && !(d == 0 && std::signbit(d));
           });
  }
  ValueId write(Emitter& e) override {
    const auto [c, a, b] = operands_;
    const Model& m = e.model();
    const ValueId yes = e.cast(c, type_, "chosen");
    const ValueId no = inverse(e, yes, type_);
    // A constant 0 adds nothing; but where it alone has the full shape, it is needed.
    if (const TensorId t = m.constant_of(a); t && m.tensor(t).elements == 1 && m.tensor(t).dims.empty() &&
                                             (real_scalar(m, a) == 0.0 || int_scalar(m, a) == 0))
      return positive(e, e.node(OpKind::Mul, {no, b}, "other"));
    const ValueId first = e.node(OpKind::Mul, {yes, a}, "first");
    return e.node(OpKind::Add, {first, e.node(OpKind::Mul, {no, b}, "other")}, "sum");
  }
  // Without a -0, which a product of 0 and a negative number is.
  ValueId positive(Emitter& e, ValueId x) const {
    return type_ == DType::Float ? e.node(OpKind::Add, {x, e.scalar(type_, 0)}, "sum") : x;
  }
};

constexpr Expansion kLogicExpansions[] = {
    expansion<Arithmetic<OpKind::And>, Exact::Yes>(),
    expansion<Arithmetic<OpKind::Or>, Exact::Yes>(),
    expansion<Arithmetic<OpKind::Xor>, Exact::Yes>(),
    expansion<Arithmetic<OpKind::Not>, Exact::Yes>(),
    expansion<IsNaNEqual, Exact::Yes>(),
    expansion<OrEqual, Exact::Yes>(),
    expansion<CompareMax, Exact::Yes>(),
    expansion<MaxWhere, Exact::Yes>(),
    expansion<WhereSum, Exact::Yes>(),
};

}  // namespace

std::span<const Expansion> logic_expansions() { return kLogicExpansions; }

}  // namespace graphopt
