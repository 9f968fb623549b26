// cancel-quantization: leaves out a QuantizeLinear that gives back the integers that were dequantized.
//
// Problem: tools that quantize a model part by part put a QuantizeLinear after each DequantizeLinear, and
// weights are quantized once more with the scale that they have.
// Method: peephole, from the QuantizeLinear of a DequantizeLinear with the same type, scale and zero point:
// its readers read the integers.
// Exact: of an integer x of 8 or 16 bits k = x - zero is at most 65,535 in magnitude. k times a scale and
// divided by it is off by two roundings of 24 bits, 0.008 at most, and is rounded to k, plus zero to x. The
// scale is a constant, a normal number, and so far from the greatest float that k times it is finite.
// Lowers: nodes. Ends: each rewrite removes a QuantizeLinear.
// Left alone: scales that are computed or of another type than float, floats of 8 bits, integers of 32 bits,
// and of 4 bits, for which runtimes have few other kernels.
//
//   d = DequantizeLinear (x, s, z)
//   q = QuantizeLinear (d, s, z)
//   y = DequantizeLinear (q, s, z)      =>      y = DequantizeLinear (x, s, z)

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "ops/attributes.h"
#include "ops/constants.h"
#include "ops/node_facts.h"
#include "passes/rule_pass.h"

namespace graphopt {
namespace {

class CancelQuantization final : public ReplaceRule {
 public:
  static constexpr Counter kCounter{"cancelled", "QuantizeLinears of what was dequantized likewise"};
  std::string_view name() const override { return "quantize-of-dequantize"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::QuantizeLinear>; }

  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    const ValueId d = m.input(n, 0), y = m.output(n, 0);
    const NodeId q = d ? m.value(d).def : NodeId{};
    if (!q || !y || m.kind(q) != OpKind::DequantizeLinear || !attributes_known(m, q) ||
        !attributes_known(m, n))
      return c.no(n, "its operand is no DequantizeLinear");
    const ValueId x = m.input(q, 0);
    const DType type = x ? c.infer.dtype(x) : DType::Undefined;
    if (!is_int(type) || bits_of(type) > 16 || bits_of(type) < 8 || c.infer.dtype(y) != type)
      return c.no(n, "the integers have other types, or not 8 or 16 bits");
    if (c.infer.dtype(d) != DType::Float || !is_good_scale(m, m.input(n, 1)))
      return c.no(n, "the scale is no constant of type float, or too small or too large");
    if (!is_same(m, m.input(q, 1), m.input(n, 1)) || !has_same_zero(m, q, n) || !has_same_axis(c, q, n))
      return c.no(n, "the scale or the zero point is another one");
    if (int_attr(m, n, names::precision).value_or(0) != 0) return c.no(n, "it divides in another type");
    return replaces(c, n, x, "the integers cannot take the place of the result");
  }

 private:
  static bool is_same(const Model& m, ValueId a, ValueId b) {
    if (a == b) return true;
    const TensorId s = a ? m.constant_of(a) : TensorId{}, t = b ? m.constant_of(b) : TensorId{};
    return s && t && m.content_hash(s) == m.content_hash(t);
  }

  static bool is_good_scale(const Model& m, ValueId scale) {
    constexpr double kMost = 1e30;
    const TensorId t = scale ? m.constant_of(scale) : TensorId{};
    if (!t || m.tensor(t).dtype != DType::Float) return false;
    const auto scales = real_list(m, t);
    return scales && std::ranges::all_of(*scales, [](double s) {
             return std::isnormal(static_cast<float>(s)) && std::fabs(s) <= kMost;
           });
  }

  // An absent one is zeros.
  static bool has_same_zero(const Model& m, NodeId q, NodeId n) {
    const ValueId a = m.input(q, 2), b = m.input(n, 2);
    if (a && b) return is_same(m, a, b);
    const ValueId one = a ? a : b;
    return !one || holds(m, m.constant_of(one), 0.0, kMostElements);
  }

  static bool has_same_axis(const MatchContext& c, NodeId q, NodeId n) {
    const Model& m = c.model;
    if (int_attr(m, q, names::block_size).value_or(0) != int_attr(m, n, names::block_size).value_or(0))
      return false;
    if (m.tensor(m.constant_of(m.input(n, 1))).elements == 1) return true;
    const std::int64_t a = int_attr(m, q, names::axis).value_or(1),
                       b = int_attr(m, n, names::axis).value_or(1);
    if (a == b) return true;
    if (!c.infer.has_rank(m.input(n, 0))) return false;
    const std::size_t rank = c.infer.dims(m.input(n, 0)).size();
    return normalize_axis(a, rank) && normalize_axis(a, rank) == normalize_axis(b, rank);
  }
};

}  // namespace

extern constinit const PassInfo cancel_quantization = {
    .name = "cancel-quantization",
    .summary = "remove QuantizeLinears that give back what was dequantized",
    .exact = Exact::Yes,
    .level = 1,
    .make = make_pass<RulePass<CancelQuantization>>};

}  // namespace graphopt
