// raise-norms: writes normalizations that are spelled in primitives as the operator that ONNX has for them.
//
// Problem: before opset 17 a LayerNormalization was nine nodes, before 23 an RMSNormalization was six, and
// exporters still write them so. A runtime that does not recognize just this spelling reads the tensor nine
// times (measured in ONNX Runtime, 64 x 128 x 384 floats: 3.4 times slower).
// Method: peephole from the division, where the model's own opset has the operator.
//   layer-norm  d / Sqrt (ReduceMean (d^2) + epsilon) with d = x - ReduceMean (x); then * scale, + bias
//   rms-norm    the same with d = x, without bias, from opset 23 on
// Scale and bias are looked for among the readers; without a scale the operator gets ones. In a function's
// body epsilon may be an attribute of the calls, all of which must give a positive one. Rounds: with u the
// rounding unit (of float16 where x has that type), n the extent of a row, X the greatest |x| in it and s its
// root, the result y and the original differ by at most
//   layer-norm  4 (n + 8) u (X / s) (1 + |y|) |scale| + 4 u |bias|
//   rms-norm    4 (n + 8) u |y|
// for finite x of which no sum or square overflows (else one of both may have an infinity or NaN), and where
// (n + 8) u X / s < 1/4 (else no digit of either is right). An infinity
// or NaN in x makes NaN of the row in both. Both forms round the mean, which costs X / s; none loses more
// than that, since ONNX Runtime's kernel subtracts the mean before it squares, as the primitives do (measured
// with means of 10^2 to 10^5 deviations, against numbers of 64 bits of precision: 1 to 8 times nearer to the
// true number than the primitives). At its default level ONNX Runtime puts the same kernel in place of most
// spellings itself, so that results stay the same there.
// Lowers: nodes. Ends: each rewrite removes at least one node.
// Left alone: values inside that something else reads; axes that are not the last ones; an epsilon that is
// not positive; rows that may be empty, which ONNX Runtime's kernel refuses; no scale where the number of
// ones is not known, or the file would grow by more than --fold-limit; double, for which the operators
// compute in float by the standard; element types without a kernel (has_raised_kernel). Also x / ReduceL2
// (x): LpNormalization is 0 where that is NaN. And the root of a sum of squares: ReduceL2 and ReduceSumSquare
// take up to four times as long in ONNX Runtime.
//
//   m = ReduceMean (x, axes)       with <int64[1] axes = {-1}>
//   d = Sub (x, m)
//   q = Mul (d, d)
//   v = ReduceMean (q, axes)
//   w = Add (v, 0.00001)
//   s = Sqrt (w)
//   r = Div (d, s)
//   t = Mul (r, scale)
//   y = Add (t, bias)          =>      y = LayerNormalization <axis = -1, epsilon = 0.00001> (x, scale, bias)

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ops/attributes.h"
#include "ops/constants.h"
#include "ops/node_facts.h"
#include "passes/affine_map.h"
#include "passes/raise_rule.h"
#include "rewrite/match.h"

namespace graphopt {
namespace {

using namespace pattern;

// x * x or x ^ 2.
template <class P> auto square(P x) { return one_of(op(OpKind::Pow, x, scalar(2)), op(OpKind::Mul, x, x)); }

// The axes of a reduction whose rank is known, sorted; nothing where they are not constant, or none is
// written.
std::optional<std::vector<std::int64_t>> axes_in(const MatchContext& c, NodeId reduction) {
  const Model& m = c.model;
  const ValueId x = m.input(reduction, 0);
  const auto written = axes_of(m, reduction);
  if (!written || written->empty()) return std::nullopt;
  auto axes = normalize_axes(*written, c.infer.dims(x).size());
  if (axes) std::ranges::sort(*axes);
  return axes;
}

// The attribute of the calling node of which a Constant in a function's body has its number; none for others.
NameId attribute_behind(const Model& m, ValueId v) {
  const NodeId def = m.value(v).def;
  if (!def || m.kind(def) != OpKind::Constant || m.attrs(def).size() != 1) return {};
  const Attr& a = m.attrs(def)[0];
  return a.name == names::value_float ? a.ref : NameId{};
}

// Whether all calls of the function in whose body the node is give the attribute a positive number.
bool is_positive_in_calls(const Model& m, NodeId n, NameId attribute) {
  GraphId body = m.node(n).graph;
  while (m.graph(body).parent) body = m.graph(body).parent;
  const FunctionId f = m.graph(body).function;
  const auto is_positive = [&](std::span<const Attr> given, bool absent) {
    const auto at = std::ranges::find(given, attribute, &Attr::name);
    return at == given.end() ? absent : at->kind == AttrKind::Float && !at->ref && at->f > 0;
  };
  const bool by_default = f && is_positive(m.function(f).defaults, false);
  for (std::uint32_t i = 0; i < m.node_count(); ++i) {
    const NodeId call{i};
    if (!m.alive(call) || m.op(call).function != f) continue;
    if (!is_positive(m.attrs(call), by_default)) return false;
  }
  return f.valid();
}

// From the node that divides by the deviation; scale and bias are looked for among its readers.
class RaiseNormalization : public RaiseRule {
 public:
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::Div, OpKind::Mul>; }

 protected:
  // d / Sqrt (ReduceMean (d^2) + epsilon), where d is bound to deviation_ by the pattern `d`.
  template <class P> KeptPattern divided_by_root(P d) {
    const auto squares = square(same(deviation_)).single_use().bind(squares_);
    const auto mean = op(OpKind::ReduceMean, squares).and_more().single_use().bind(mean_);
    const auto sum = op(OpKind::Add, mean, any(epsilon_)).single_use();
    const auto root = one_of(op(OpKind::Sqrt, sum), op(OpKind::Pow, sum, scalar(0.5))).single_use();
    const auto inverse = one_of(op(OpKind::Reciprocal, root), op(OpKind::Div, scalar(1), root),
                                op(OpKind::Pow, sum, scalar(-0.5)));
    return KeptPattern(one_of(op(OpKind::Div, d, root), op(OpKind::Mul, d, inverse.single_use())));
  }

  // Whether the reduction is over the last axes, of which there is at least one element, and keeps them.
  bool reduces_last(const MatchContext& c, NodeId n, NodeId reduction) {
    const Model& m = c.model;
    const auto axes = axes_in(c, reduction);
    if (!axes) return c.no(n, "the axes of a mean are not known");
    const std::span<const DimId> dims = c.infer.dims(m.input(reduction, 0));
    for (std::size_t i = 0; i < axes->size(); ++i)
      if ((*axes)[i] != static_cast<std::int64_t>(dims.size() - axes->size() + i))
        return c.no(n, "the axes of a mean are not the last ones");
    if (int_attr(m, reduction, names::keepdims) != 1) return c.no(n, "a mean does not keep the axes");
    row_ = dims.last(axes->size());
    return std::ranges::all_of(row_, [&](DimId d) { return m.dims.range(d).low >= 1; }) ||
           c.no(n, "a row may be empty");
  }

  // Finds the readers that scale and shift, and checks what the operator wants of all that was found.
  bool completes(const MatchContext& c, NodeId n, OpKind kind, bool has_bias) {
    const Model& m = c.model;
    const DType type = c.infer.dtype(x_);
    const auto number = real_scalar(m, epsilon_);
    const NameId attribute = attribute_behind(m, epsilon_);
    if (!number && !attribute) return c.no(n, "epsilon is not known");
    if (!(number ? *number > 0 : is_positive_in_calls(m, n, attribute)))
      return c.no(n, "epsilon is not positive");
    epsilon_attribute_ = float_attribute(names::epsilon, static_cast<float>(number.value_or(0)));
    epsilon_attribute_.ref = attribute;
    last_ = n;
    scale_ = parameter_of_reader(c, OpKind::Mul);
    bias_ = scale_ && has_bias ? parameter_of_reader(c, OpKind::Add) : ValueId{};
    if (!scale_) {
      std::int64_t bytes = bits_of(type) / 8;  // of the ones
      for (const DimId d : row_) {
        const auto extent = c.dims.value(d);
        if (!extent || *extent > static_cast<std::int64_t>(c.options.fold_limit) / bytes)
          return c.no(n, "nothing scales, and ones in its place are too many or not known");
        bytes *= *extent;
      }
      if (!m.can_hold_constant(m.node(n).graph, type)) return c.no(n, "a constant cannot be written here");
    }
    // There are kernels for other types, too, but the standard computes their normalizations in float.
    if (type != DType::Float && type != DType::Float16)
      return c.no(n,
                  "the standard computes normalizations in float, which may be less than the primitives do");
    return may_raise(c, n, kind, x_, m.output(n, 0));
  }

  void write(PassContext& c, OpKind kind) {
    Model& m = c.model;
    if (!scale_) {
      std::vector<std::int64_t> dims;
      for (const DimId d : row_) dims.push_back(*m.dims.value(d));
      std::int64_t elements = 1;
      for (const std::int64_t d : dims) elements *= d;
      const DType type = c.infer.dtype(x_);
      auto ones = real_payload(type, std::vector<double>(static_cast<std::size_t>(elements), 1));
      const std::string base = std::string(m.text(m.value(m.output(last_, 0)).name)) + "_scale";
      scale_ = m.add_initializer(m.node(last_).graph, base, m.make_tensor(type, dims, std::move(*ones)));
    }
    std::vector<ValueId> operands{x_, scale_};
    if (bias_) operands.push_back(bias_);
    Attr axis;
    axis.name = names::axis;
    axis.kind = AttrKind::Int;
    axis.i = -static_cast<std::int64_t>(row_.size());
    const std::array attributes{axis, epsilon_attribute_};
    raise(m, last_, kind, operands, attributes);
  }

  ValueId x_, deviation_, squares_, epsilon_;
  NodeId mean_;
  std::span<const DimId> row_;  // what is normalized together

 private:
  // The other operand of the only reader of last_'s result, if the reader is of this kind and the operand has
  // the dims of a row. last_ becomes the reader.
  ValueId parameter_of_reader(const MatchContext& c, OpKind kind) {
    const Model& m = c.model;
    const ValueId r = m.output(last_, 0);
    const NodeId reader = m.single_user(r);
    if (!reader) return {};
    ValueId other;
    if (!matches(c.without_reasons(), reader, op(kind, same(r), any(other)))) return {};
    if (c.infer.dtype(other) != c.infer.dtype(x_)) return {};
    const bool fits = std::ranges::equal(c.infer.dims(other), row_,
                                         [&](DimId a, DimId b) { return c.dims.equal(a, b) == Tri::Yes; });
    if (!fits) return {};
    last_ = reader;
    return other;
  }

  NodeId last_;  // it makes the result
  ValueId scale_, bias_;
  Attr epsilon_attribute_;
};

class RaiseLayerNorm final : public RaiseNormalization {
 public:
  static constexpr Counter kCounter{"layer_norms", "LayerNormalizations that were written with ReduceMean"};
  std::string_view name() const override { return "layer-norm"; }

  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    if (!spelled_.matches_at(c, n)) return false;
    // Read by this node, and by the square once or twice.
    const bool twice = m.kind(m.value(squares_).def) == OpKind::Mul;
    if (m.use_count(deviation_) != (twice ? 3 : 2) || m.is_fixed(deviation_))
      return c.no(n, "something else reads the deviation");
    if (axes_in(c, first_) != axes_in(c, mean_)) return c.no(n, "the means are over other axes");
    if (!reduces_last(c, n, first_) || !reduces_last(c, n, mean_)) return false;
    return completes(c, n, OpKind::LayerNormalization, true);
  }
  void apply(PassContext& c, NodeId) override { write(c, OpKind::LayerNormalization); }

 private:
  KeptPattern spelling() {
    const auto mean = op(OpKind::ReduceMean, same(x_)).and_more().single_use().bind(first_);
    return divided_by_root(op(OpKind::Sub, any(x_), mean).bind(deviation_));
  }

  NodeId first_;  // the mean of x
  const KeptPattern spelled_{spelling()};
};

class RaiseRmsNorm final : public RaiseNormalization {
 public:
  static constexpr Counter kCounter{"rms_norms", "RMSNormalizations that were written with ReduceMean"};
  std::string_view name() const override { return "rms-norm"; }

  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    if (!spelled_.matches_at(c, n)) return false;
    const NodeId def = m.value(deviation_).def;
    if (def && m.kind(def) == OpKind::Sub) return c.no(n, "it may be the end of a LayerNormalization");
    x_ = deviation_;
    return reduces_last(c, n, mean_) && completes(c, n, OpKind::RMSNormalization, false);
  }
  void apply(PassContext& c, NodeId) override { write(c, OpKind::RMSNormalization); }

 private:
  const KeptPattern spelled_{divided_by_root(any(deviation_))};
};

}  // namespace

extern constinit const PassInfo raise_norms = {
    .name = "raise-norms",
    .summary = "write LayerNormalization and RMSNormalization for their primitives",
    .exact = Exact::No,
    .level = 2,
    .make = make_pass<RulePass<RaiseLayerNorm, RaiseRmsNorm>>};

}  // namespace graphopt
