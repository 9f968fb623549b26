// merge-factors: makes one of two multiplications, or additions, with constants in a row.
//
// Problem: exporters write x / sqrt(d) * s, and shifts and scales of a preprocessing step by step.
// Method: peephole. x * a * b is x * (a b), x + a + b is x + (a + b), and alike with / and -; the constants
// broadcast, if the joint one is no larger than both together.
// Exact for Mul, Add and Sub of integers, which wrap. Floats round: x * (a b) has two roundings less far from
// the true product than 2 u each, so both differ by 4 u |x a b| at most (u: rounding unit), x + (a + b) and
// x + a + b by 4 u (|x| + |a| + |b|). Where a partial result of the original overflows or is denormal, the
// new one is nearer to the true one. A joint factor is finite and not denormal. Sums in which the constants
// cancel are left alone: x + 2^23 - 2^23 is meant to round.
// Lowers: nodes. Ends: each rewrite removes a node.
// Left alone: a first result that something else reads, constants that a caller may override.
//
//   a = Mul (x, two)
//   y = Mul (a, three)         =>      y = Mul (x, six)

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ops/constants.h"
#include "ops/fold.h"
#include "passes/rule_pass.h"
#include "rewrite/build.h"
#include "rewrite/match.h"

namespace graphopt {
namespace {

constexpr OpKind kArithmetic[] = {OpKind::Mul, OpKind::Div, OpKind::Add, OpKind::Sub};

// x op constant, with the constant as the second operand, or on either side where op is commutative.
struct Term {
  ValueId x;
  TensorId constant;
  bool inverse = false;   // Div, Sub
  bool additive = false;  // Add, Sub
};

class MergeFactors final : public Rule {
 public:
  static constexpr Counter kCounter{"merged", "constants that went into that of the node in front"};
  std::string_view name() const override { return "factors"; }
  std::span<const OpKind> roots() const override { return kArithmetic; }

  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    if (c.why == nullptr && !follows_arithmetic(m, n)) return false;
    const auto second = term_of(c, n);
    if (!second) return c.no(n, "no operand is a constant factor or term");
    const NodeId q = m.value(second->x).def;
    const auto first = q ? term_of(c, q) : std::nullopt;
    if (!first || first->additive != second->additive)
      return c.no(n, "no node with a constant factor, or term, makes the other operand");
    if (m.single_user(second->x) != n) return c.no(n, "something else reads the first result");
    const DType type = c.infer.dtype(first->x);
    if (!takes(type, *first, *second)) return c.no(n, "the element type does not allow it");
    if (is_float(type) && keeps_bits(c.options.strictness)) return c.no(n, "floats would round once less");
    x_ = first->x;
    // (x / a) / b and (x - a) - b keep the operator, with the product or sum.
    const bool both = first->inverse && second->inverse;
    kind_ = second->additive ? (both ? OpKind::Sub : OpKind::Add) : (both ? OpKind::Div : OpKind::Mul);
    return joins(c, n, *first, *second);
  }

  void apply(PassContext& c, NodeId n) override {
    Model& m = c.model;
    const GraphId g = m.node(n).graph;
    const ValueId result = m.detach_output(n, 0);
    const std::string base = std::string(m.text(m.value(result).name)) + "_constant";
    const std::array<ValueId, 2> operands{x_, m.add_initializer(g, base, m.add_tensor(std::move(joint_)))};
    add_operator({m, g, n, {}, {&result, 1}}, kind_, operands);
  }

 private:
  static bool is_arithmetic(OpKind kind) {
    return std::ranges::find(kArithmetic, kind) != std::end(kArithmetic);
  }
  // Most products and sums do not: this is asked first, since it needs no table and no constant.
  static bool follows_arithmetic(const Model& m, NodeId n) {
    for (std::size_t i = 0; i < std::min<std::size_t>(m.input_count(n), 2); ++i) {
      const ValueId v = m.input(n, i);
      const NodeId producer = v ? m.value(v).def : NodeId{};
      if (producer && is_arithmetic(m.kind(producer))) return true;
    }
    return false;
  }

  static std::optional<Term> term_of(const MatchContext& c, NodeId n) {
    using namespace pattern;
    const Model& m = c.model;
    const OpKind kind = m.kind(n);
    if (!is_arithmetic(kind)) return std::nullopt;
    Term t;
    t.inverse = kind == OpKind::Div || kind == OpKind::Sub;
    t.additive = kind == OpKind::Add || kind == OpKind::Sub;
    if (!matches(c.without_reasons(), n, op(kind, any(t.x), constant(t.constant))) || m.constant_of(t.x))
      return std::nullopt;
    return t;
  }

  static bool takes(DType type, const Term& first, const Term& second) {
    if (type == DType::Float16 || type == DType::Float || type == DType::Double) return true;
    const bool whole = type == DType::Int32 || type == DType::Int64;
    return whole && (first.additive || (!first.inverse && !second.inverse));
  }

  bool joins(const MatchContext& c, NodeId n, const Term& first, const Term& second) {
    const Model& m = c.model;
    const auto a = unpacked(m, first.constant), b = unpacked(m, second.constant);
    if (!a || !b || a->elements > kMostElements || b->elements > kMostElements)
      return c.no(n, "the constants are too large");
    const bool alike = first.inverse == second.inverse;
    const OpKind join =
        second.additive ? (alike ? OpKind::Add : OpKind::Sub) : (alike ? OpKind::Mul : OpKind::Div);
    // Where only the first one divides or subtracts, its constant is the second operand.
    const bool swapped = first.inverse && !second.inverse;
    Folded joint = evaluate(m, {join, kNewestOpset}, {swapped ? &*b : &*a, swapped ? &*a : &*b});
    if (!joint) return c.no(n, "the constants cannot be joined");
    joint_ = std::move(joint.results[0]);
    if (joint_.elements > std::max<std::int64_t>(a->elements + b->elements, 1))
      return c.no(n, "the joint constant would be larger than both");
    return !is_float(joint_.dtype) || sound(m, *a, *b, second.additive) ||
           c.no(n, "the joint constant is not finite, denormal, or a difference");
  }

  // Returns whether no joint number lost what the two had.
  bool sound(const Model& m, const Tensor& a, const Tensor& b, bool additive) const {
    const auto joint = doubles(m, joint_), x = doubles(m, a), y = doubles(m, b);
    if (joint.empty()) return false;  // all three have one type and, broadcast, as many elements
    for (std::size_t i = 0; i < joint.size(); ++i) {
      const double size = std::fabs(joint[i]);
      if (!std::isfinite(size)) return false;
      if (additive ? size < std::max(std::fabs(x[i]), std::fabs(y[i])) / 2
                   : size < least_normal(joint_.dtype) && x[i] != 0 && y[i] != 0)
        return false;
    }
    return true;
  }
  // Returns the elements of a tensor of floats, broadcast to the joint dims; none where that fails.
  std::vector<double> doubles(const Model& m, const Tensor& t) const {
    const Attr to = int_attribute(names::to, static_cast<std::int64_t>(DType::Double));
    const Tensor dims = int64_tensor(joint_.dims);
    const Folded wide = evaluate(m, {OpKind::Cast, kNewestOpset, std::span(&to, 1)}, {&t});
    const Folded full =
        wide ? evaluate(m, {OpKind::Expand, kNewestOpset}, {&wide.results[0], &dims}) : Folded{};
    if (full.results.empty()) return {};
    const Bytes raw = full.results[0].raw;
    std::vector<double> out(raw.size() / sizeof(double));
    if (!out.empty()) std::memcpy(out.data(), raw.data(), raw.size());  // memcpy takes no null pointer
    return out;
  }
  static double least_normal(DType type) {
    if (type == DType::Float16) return 0x1p-14;
    return type == DType::Float ? double{std::numeric_limits<float>::min()}
                                : std::numeric_limits<double>::min();
  }

  ValueId x_;
  OpKind kind_ = OpKind::Mul;
  Tensor joint_;
};

}  // namespace

extern constinit const PassInfo merge_factors = {
    .name = "merge-factors",
    .summary = "make one of two constant factors, or terms, in a row",
    .exact = Exact::Yes,
    .level = 1,
    .make = make_pass<RulePass<MergeFactors>>,
    .rounds_from = 2};

}  // namespace graphopt
