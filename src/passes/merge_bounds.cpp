// merge-bounds: makes one Clip of two operators that limit what they read, and removes limits that
// change nothing.
//
// Problem: layers end in activations and begin with clamps; exporters write Relu6 as Min(Max(x, 0), 6) or as
// Relu and Clip. Each one is a launch of its own.
// Method: peephole. Relu, Clip, and Max and Min with one constant number each limit x to an interval; NaN
// passes. Two rules:
//   needless   the interval holds all that the operand can be (which another limit, Abs or Sqrt made): the
//              operator goes. Or an operand's interval holds it: the operand's operand is read.
//   merged     both sides of both intervals together have a bound: a Clip by the narrower ones.
// The interval of a Clip without a bound ends at the lowest or greatest finite number, as ONNX says and ONNX
// Runtime computes: it makes the greatest float of +Inf. That of a Relu, Max or Min is open there. So a
// Relu never becomes a Clip that has no upper bound where none was, nor the reverse.
// Exact: an element within both intervals stays; any other becomes the bound that it meets last. That needs
// intervals that meet: those that cross or lie apart make one number of all, and are left alone where that is
// a zero, of which a Clip would keep the sign that x has. Where x and a bound are zeros of
// different sign, Relu and Clip keep x (in ONNX Runtime, vectors and tails alike; measured by
// tests/property/bounds.py), but Max and Min keep this or that by position, and so does a Relu that ONNX
// Runtime computes as a Max (ops/facts_kernels.h): such a limit becomes a Clip only at -O2, and what may
// change is the sign of a zero. Integers are compared as integers; bounds
// that are attributes are floats, and bind floats alone.
// Lowers: launches. Ends: each rewrite removes an operator.
// Left alone: bounds that are computed, NaN, or for a caller to override; a Max or Min that broadcasts x;
// element types for which ONNX Runtime has no Clip in the opset; limits of which something else reads the
// first.
//
//   r = Relu (x)
//   y = Clip (r, low, high)      with <float low = {-1}, float high = {6}>
//                                                                 =>      y = Clip (x, zero, high)

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ops/attributes.h"
#include "ops/constants.h"
#include "ops/facts_kernels.h"
#include "passes/rule_pass.h"
#include "rewrite/build.h"
#include "rewrite/match.h"

namespace graphopt {
namespace {

constexpr std::int64_t kClipOfDefaults = 6, kBoundsByOperand = 11;
constexpr OpKind kLimits[] = {OpKind::Relu, OpKind::Clip, OpKind::Max, OpKind::Min};

// (x, 0) for a floating type and (0, i) for an integer type: both orders are that of the numbers.
using Number = std::pair<double, std::int64_t>;
constexpr Number kZero{0, 0};

struct Bound {
  Number number;
  ValueId operand = {};  // of rank 0, that holds the number; none: a new one is needed
  bool given = true;     // false: what an absent bound means, or nothing where the interval is open
};

struct Interval {
  ValueId x;
  Bound low, high;
  bool keeps_zeros = true;  // of x where a bound is the other zero
};

// The numbers of an element type.
struct NumberLine {
  bool real = false;
  Number least, lowest, greatest, most;  // least and most: infinities where there are any
};

template <class T> NumberLine integers() {
  const Number low{0, std::numeric_limits<T>::min()}, high{0, std::numeric_limits<T>::max()};
  return {false, low, low, high, high};
}
NumberLine reals(double greatest) {
  const double infinity = std::numeric_limits<double>::infinity();
  return {true, {-infinity, 0}, {-greatest, 0}, {greatest, 0}, {infinity, 0}};
}

// Nothing for types that are not limited, and for uint64, whose numbers int64 does not hold.
std::optional<NumberLine> numbers_of(DType type) {
  switch (type) {
    case DType::Float16: return reals(65504);
    case DType::Float: return reals(static_cast<double>(std::numeric_limits<float>::max()));
    case DType::Double: return reals(std::numeric_limits<double>::max());
    case DType::Int8: return integers<std::int8_t>();
    case DType::UInt8: return integers<std::uint8_t>();
    case DType::Int32: return integers<std::int32_t>();
    case DType::UInt32: return integers<std::uint32_t>();
    case DType::Int64: return integers<std::int64_t>();
    default: return std::nullopt;
  }
}

bool has_clip(std::int64_t opset, DType type) {
  return (opset >= kBoundsByOperand || type == DType::Float) && runs_as_one_node(OpKind::Clip, opset, type);
}

std::optional<Number> number_of(const Model& m, ValueId v, bool real) {
  if (real) {
    const auto x = real_scalar(m, v);
    return x && !std::isnan(*x) ? std::optional(Number(*x, 0)) : std::nullopt;
  }
  const auto i = int_scalar(m, v);
  return i ? std::optional(Number(0, *i)) : std::nullopt;
}

// Fills in the bounds of a Clip; false where one is no known number.
bool read_clip(const Model& m, NodeId n, DType type, const NumberLine& t, Interval& out) {
  const std::pair<Bound*, NameId> sides[] = {{&out.low, names::min}, {&out.high, names::max}};
  for (std::size_t i = 0; i < 2; ++i) {
    const auto& [bound, name] = sides[i];
    *bound = {.number = i == 0 ? t.lowest : t.greatest, .given = false};
    if (m.opset(n) < kBoundsByOperand) {
      if (m.opset(n) < kClipOfDefaults || type != DType::Float) return false;
      if (!has_attr(m, n, name)) continue;
      const auto number = float_attr(m, n, name);
      if (!number || std::isnan(*number)) return false;
      *bound = {.number = {static_cast<double>(*number), 0}};
    } else if (const ValueId v = m.input(n, i + 1)) {
      const auto number = number_of(m, v, t.real);
      if (!number) return false;
      *bound = {.number = *number, .operand = v};
    }
  }
  return true;
}

// Reads a node as a limit, or refuses.
bool read_limit(const MatchContext& c, NodeId n, Interval& out) {
  using namespace pattern;
  const Model& m = c.model;
  const OpKind kind = m.kind(n);
  const ValueId y = m.output(n, 0);
  if (!matches(c, n, op(kind, any()).and_more())) return false;
  const DType type = c.infer.dtype(y);
  const auto t = numbers_of(type);
  if (!t) return c.no(n, "its element type has no limits here");
  out = {.x = m.input(n, 0), .low = {t->least, {}, false}, .high = {t->most, {}, false}};
  if (kind == OpKind::Relu) {
    out.low = {.number = {0, 0}};
    out.keeps_zeros = !relu_is_max(kind, type, m.opset(n));
    return true;
  }
  if (kind == OpKind::Clip) {
    if (!read_clip(m, n, type, *t, out)) return c.no(n, "a bound is no known number");
  } else {
    if (m.input_count(n) != 2 || !m.input(n, 1)) return c.no(n, "it has not two operands");
    const std::size_t slot = m.constant_of(m.input(n, 1)) ? 1 : 0;
    const auto number = number_of(m, m.input(n, slot), t->real);
    if (!number) return c.no(n, "no operand is a constant number");
    out.x = m.input(n, 1 - slot);
    if (!c.infer.same_shape(out.x, y)) return c.no(n, "it may change the dims");
    const bool scalar = m.tensor(m.constant_of(m.input(n, slot))).dims.empty();
    Bound& bound = kind == OpKind::Max ? out.low : out.high;
    bound = {.number = *number, .operand = scalar ? m.input(n, slot) : ValueId{}};
    out.keeps_zeros = !t->real || number->first != 0;
  }
  if (out.low.number <= out.high.number) return true;
  // Every number becomes the upper bound, also a zero of the other sign.
  if (!out.high.given || (t->real && out.high.number == kZero)) return c.no(n, "its bounds cross");
  out.low = out.high;
  return true;
}

bool is_limit(OpKind kind) { return std::ranges::find(kLimits, kind) != std::end(kLimits); }

// Returns the node of the same graph that makes v.
NodeId producer(const Model& m, NodeId n, ValueId v) {
  const NodeId def = v ? m.value(v).def : NodeId{};
  return def && m.node(def).graph == m.node(n).graph ? def : NodeId{};
}

// Returns whether every number of the inner interval is in the outer one, and stays what it is there.
bool contains(const Interval& outer, const Interval& inner) {
  const auto at_most = [&](const Number& a, const Number& b) {
    return a < b || (a == b && (outer.keeps_zeros || a != kZero));
  };
  return at_most(outer.low.number, inner.low.number) && at_most(inner.high.number, outer.high.number);
}

// Limits that bind nothing.
class NeedlessLimit final : public ReplaceRule {
 public:
  static constexpr Counter kCounter{"needless", "limits that another one, Abs or Sqrt makes needless"};
  std::string_view name() const override { return "needless-limit"; }
  std::span<const OpKind> roots() const override { return kLimits; }

  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    source_ = {};
    if (same_operands(m, n))
      return replaces(c, n, m.input(n, 0), "the operand cannot take its result's place");
    Interval outer;
    if (!read_limit(c, n, outer)) return false;
    const NodeId def = producer(m, n, outer.x);
    const auto t = numbers_of(c.infer.dtype(m.output(n, 0)));
    Interval inner;
    const bool limited = def && is_limit(m.kind(def)) && read_limit(c.without_reasons(), def, inner);
    if (!limited) inner = {.x = {}, .low = {def && has_sign(c, def) ? kZero : t->least}, .high = {t->most}};
    if (contains(outer, inner)) return replaces(c, n, outer.x, "the operand cannot take its result's place");
    if (!limited || m.single_user(outer.x) != n || m.is_fixed(inner.x))
      return c.no(n, "its operand may be outside of its bounds");
    // Where both end at zeros, the inner one may choose which.
    const bool strict = !t->real || ((inner.low.number < outer.low.number || inner.low.number != kZero) &&
                                     (outer.high.number < inner.high.number || inner.high.number != kZero));
    if (!strict || !contains(inner, outer)) return c.no(n, "no bound makes another one needless");
    from_ = outer.x;
    to_ = inner.x;
    return true;
  }

  void apply(PassContext& c, NodeId n) override {
    Model& m = c.model;
    if (source_) return ReplaceRule::apply(c, n);
    m.set_operand(n, m.input(n, 0) == from_ ? 0 : 1, to_);
  }

 private:
  // Max (x, x), of any number of operands.
  static bool same_operands(const Model& m, NodeId n) {
    if ((m.kind(n) != OpKind::Max && m.kind(n) != OpKind::Min) || m.input_count(n) < 2) return false;
    for (std::size_t i = 1; i < m.input_count(n); ++i)
      if (m.input(n, i) != m.input(n, 0)) return false;
    return m.input(n, 0).valid() && attributes_known(m, n);
  }

  // Neither is below a zero; the Abs of an integer may be, where it wraps.
  static bool has_sign(const MatchContext& c, NodeId def) {
    const OpKind kind = c.model.kind(def);
    return (kind == OpKind::Abs || kind == OpKind::Sqrt) && is_float(c.infer.dtype(c.model.output(def, 0)));
  }

  ValueId from_, to_;
};

class MergeLimits final : public Rule {
 public:
  static constexpr Counter kCounter{"merged", "pairs of limits that became a Clip"};
  std::string_view name() const override { return "merge-limits"; }
  std::span<const OpKind> roots() const override { return kLimits; }

  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    const ValueId y = m.output(n, 0);
    Interval inner, outer;
    if (!read_limit(c, n, outer)) return false;
    const NodeId def = producer(m, n, outer.x);
    if (!def || !is_limit(m.kind(def))) return c.no(n, "its operand is no other limit");
    if (m.single_user(outer.x) != n) return c.no(n, "something else reads its operand");
    if (!read_limit(c, def, inner)) return false;
    if (m.is_fixed(inner.x)) return c.no(n, "an annotation names the value, or a kernel writes to it");
    type_ = c.infer.dtype(y);
    x_ = inner.x;
    const bool above = inner.low.number > outer.high.number, below = outer.low.number > inner.high.number;
    if (above || below) {
      // All become the bound that is nearer, which a Clip from it to itself gives unless it is a zero.
      low_ = high_ = above ? outer.high : outer.low;
      if (!low_.given || (is_float(type_) && low_.number == kZero)) return c.no(n, "the intervals lie apart");
    } else {
      // A bound that is no limit at all gives way to one that is written, also to an infinite one.
      low_ = outer.low.number > inner.low.number || is_open(def, false, m) ? outer.low : inner.low;
      high_ = outer.high.number < inner.high.number || is_open(def, true, m) ? outer.high : inner.high;
      const bool low_open = is_open(def, false, m) && is_open(n, false, m);
      const bool high_open = is_open(def, true, m) && is_open(n, true, m);
      if ((low_open || high_open) && is_float(type_)) return c.no(n, "a Clip bounds both sides");
    }
    if (!has_clip(m.opset(n), type_)) return c.no(n, "there is no Clip of the element type");
    if (keeps_bits(c.options.strictness) && (!inner.keeps_zeros || !outer.keeps_zeros))
      return c.no(n, "the sign of a zero may change, which -O1 and --exact do not allow");
    return true;
  }

  void apply(PassContext& c, NodeId n) override {
    Model& m = c.model;
    if (m.kind(n) != OpKind::Clip) m.set_op(n, standard_op(m, OpKind::Clip));
    if (m.opset(n) < kBoundsByOperand) {
      const ValueId operand[] = {x_};
      m.set_operands(n, operand);
      write_attribute(m, n, names::min, low_);
      write_attribute(m, n, names::max, high_);
      return;
    }
    std::vector<ValueId> operands{x_, value_of(m, n, low_, "_min"), value_of(m, n, high_, "_max")};
    while (!operands.back()) operands.pop_back();
    m.set_operands(n, operands);
  }

 private:
  static bool is_open(NodeId n, bool above, const Model& m) {
    const OpKind kind = m.kind(n);
    return kind != OpKind::Clip && (kind == OpKind::Min) != above;
  }

  static void write_attribute(Model& m, NodeId n, NameId name, const Bound& bound) {
    if (bound.given) {
      Attr a;
      a.name = name;
      a.kind = AttrKind::Float;
      a.f = static_cast<float>(bound.number.first);
      m.set_attr(n, a);
    } else if (has_attr(m, n, name)) {
      m.remove_attr(n, name);
    }
  }

  ValueId value_of(Model& m, NodeId n, const Bound& bound, std::string_view what) const {
    if (!bound.given || bound.operand) return bound.operand;
    const std::int64_t whole[] = {bound.number.second};
    const TensorId t = is_float(type_) ? make_scalar(m, type_, bound.number.first)
                                       : m.make_tensor(type_, {}, *int_payload(type_, whole));
    const std::string base = std::string(m.text(m.value(m.output(n, 0)).name)) + std::string(what);
    return m.add_initializer(m.node(n).graph, base, t);
  }

  ValueId x_;
  Bound low_, high_;
  DType type_ = DType::Undefined;
};

}  // namespace

extern constinit const PassInfo merge_bounds = {
    .name = "merge-bounds",
    .summary = "make one Clip of Relu, Clip, Min and Max in a row",
    .exact = Exact::Yes,
    .level = 1,
    .make = make_pass<RulePass<NeedlessLimit, MergeLimits>>,
    .rounds_from = 2};

}  // namespace graphopt
