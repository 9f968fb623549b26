// Patterns of rules, as a pass would write them: what each finds in models, and what it must leave alone.
//
// Only the matching side: a rule of a pass adds what the rewrite needs (element types, exactness,
// can_replace).
#include <gtest/gtest.h>

#include <algorithm>
#include <numbers>
#include <string>
#include <vector>

#include "infer_case.h"
#include "onnx/reader.h"
#include "rewrite/match.h"

namespace graphopt {
namespace {

using namespace pattern;
using enum OpKind;

// Whether a rule finds something at the node that makes 'y', in a model with these nodes.
template <bool (*Rule)(const MatchContext&, NodeId)> struct Found {
  std::string header = "<ir_version: 10, opset_import: [\"\" : 21]>";
  std::string inputs = "float[2,4] x", outputs = "float[] y", constants;

  bool operator()(const std::string& nodes) const {
    const InferCase c("g (" + inputs + ") => (" + outputs + ") <" + constants + "> {" + nodes + "}", {},
                      header);
    Why why;
    const NodeId root = c.node_of("y");
    const PassOptions options;
    const MatchContext context{*c.model, *c.facts, options, c.model->dims, &why};
    const bool found = Rule(context, root);
    if (!found) {
      EXPECT_TRUE(why && !why.text(*c.model).empty());
    }
    EXPECT_EQ(found, Rule(context.without_reasons(), root));
    return found;
  }
};

// --- Gelu: x/2 * (1 + erf(x / sqrt 2)) ---------------------------------------------------------------------
bool gelu(const MatchContext& c, NodeId root) {
  ValueId x;
  const auto half = scalar(0.5);
  const auto ratio =
      one_of(op(Div, any(x), scalar(std::numbers::sqrt2)), op(Mul, any(x), scalar(1 / std::numbers::sqrt2)));
  const auto sum = op(Add, op(Erf, ratio.single_use()).single_use(), scalar(1)).single_use();
  return matches(c, root,
                 one_of(op(Mul, op(Mul, sum, same(x)).single_use(), half),
                        op(Mul, op(Mul, sum, half).single_use(), same(x)),
                        op(Mul, sum, op(Mul, same(x), half).single_use()))) &&
         matches(c, root, any().where("has another shape", [&](const MatchContext& v, ValueId y) {
           return v.infer.same_shape(x, y);
         }));
}

TEST(MatchRules, GeluInAllOrders) {
  Found<gelu> found;
  found.constants = "float one = {1}, float half = {0.5}, float r = {1.41421356}, float i = {0.70710678}";
  const std::vector<std::string> ratios = {"d = Div (x, r) ", "d = Mul (x, i) ", "d = Mul (i, x) "};
  const std::vector<std::string> sums = {"a = Add (e, one) ", "a = Add (one, e) "};
  std::vector<std::string> products;
  for (const char* three : {"x a half", "x half a", "a half x"}) {
    const std::string t(three), p = t.substr(0, t.find(' ')), rest = t.substr(t.find(' ') + 1);
    const std::string q = rest.substr(0, rest.find(' ')), last = rest.substr(rest.find(' ') + 1);
    for (const std::string& inner : {p + ", " + q, q + ", " + p})
      for (const std::string& outer : {"p, " + last, last + ", p"})
        products.push_back("p = Mul (" + inner + ") y = Mul (" + outer + ")");
  }
  for (const std::string& ratio : ratios)
    for (const std::string& sum : sums)
      for (const std::string& product : products)
        EXPECT_TRUE(found(ratio + "e = Erf (d) " + sum + product)) << ratio << sum << product;
}

TEST(MatchRules, GeluLeftAlone) {
  Found<gelu> found;
  found.constants =
      "float one = {1}, float half = {0.5}, float r = {1.41421356}, float off = {1.414}, "
      "float[1,1,1] long = {0.5}";
  const std::string head = "d = Div (x, r) e = Erf (d) a = Add (e, one) ", tail = "p = Mul (x, a) ";
  EXPECT_TRUE(found(head + tail + "y = Mul (p, half)"));
  EXPECT_FALSE(found(head + tail + "y = Mul (p, one)")) << "another factor";
  EXPECT_FALSE(found("d = Div (x, off) e = Erf (d) a = Add (e, one) " + tail + "y = Mul (p, half)"));
  EXPECT_FALSE(found("d = Div (r, x) e = Erf (d) a = Add (e, one) " + tail + "y = Mul (p, half)"));
  EXPECT_FALSE(found(head + "z = Neg (x) p = Mul (z, a) y = Mul (p, half)")) << "another x";
  EXPECT_FALSE(found(head + tail + "y = Mul (p, long)")) << "a constant that raises the rank";
  EXPECT_FALSE(found("d = Div (x, r) e = Tanh (d) a = Add (e, one) " + tail + "y = Mul (p, half)"));
  found.outputs = "float[] y, float[] a";
  EXPECT_FALSE(found(head + tail + "y = Mul (p, half)")) << "the sum is an output";
}

// --- HardSwish: x * HardSigmoid (x), or x * Clip (x + 3, 0, 6) / 6 ----------------------------------------
bool hard_swish(const MatchContext& c, NodeId root) {
  ValueId x;
  const auto clipped =
      op(Clip, op(Add, any(x), scalar(3)).single_use(), scalar(0), scalar(6)).opset(11).single_use();
  const auto sigmoid =
      op(HardSigmoid, any(x)).single_use().where("is not x/6 + 1/2", [](const MatchContext& v, NodeId n) {
        return float_attr(v.model, n, names::alpha) == 1.0f / 6 &&
               float_attr(v.model, n, names::beta) == 0.5f;
      });
  return matches(c, root,
                 one_of(op(Mul, sigmoid, same(x)), op(Div, op(Mul, clipped, same(x)).single_use(), scalar(6)),
                        op(Mul, op(Div, clipped, scalar(6)).single_use(), same(x))));
}

TEST(MatchRules, HardSwish) {
  Found<hard_swish> found;
  found.constants = "float zero = {0}, float three = {3}, float six = {6}, float low = {-1}";
  EXPECT_TRUE(found("s = HardSigmoid <alpha = 0.16666667> (x) y = Mul (x, s)"));
  EXPECT_TRUE(found("s = HardSigmoid <alpha = 0.16666667, beta = 0.5> (x) y = Mul (s, x)"));
  EXPECT_FALSE(found("s = HardSigmoid (x) y = Mul (x, s)")) << "alpha is 0.2";
  EXPECT_FALSE(found("s = HardSigmoid <alpha = 0.16666667> (x) n = Neg (x) y = Mul (n, s)"));
  EXPECT_FALSE(found("s = HardSigmoid <alpha = 0.16666667> (x) y = Mul (s, s)"));
  EXPECT_TRUE(found("a = Add (three, x) c = Clip (a, zero, six) p = Mul (x, c) y = Div (p, six)"));
  EXPECT_TRUE(found("a = Add (x, three) c = Clip (a, zero, six) p = Div (c, six) y = Mul (p, x)"));
  EXPECT_FALSE(found("a = Add (x, three) c = Clip (a, low, six) p = Div (c, six) y = Mul (p, x)"));
  EXPECT_FALSE(found("a = Add (x, three) c = Clip (a, , six) p = Div (c, six) y = Mul (p, x)"));
  EXPECT_FALSE(found("a = Add (x, three) c = Clip (a, zero, six) p = Div (six, c) y = Mul (p, x)"));
  found.header = "<ir_version: 10, opset_import: [\"\" : 10]>";
  EXPECT_FALSE(
      found("a = Add (x, three) c = Clip <min = 0.0, max = 6.0> (a) p = Div (c, six) y = Mul (p, x)"));
}

// --- LayerNormalization: (x - mean) / sqrt (mean of squares + eps) * scale + bias --------------------------
bool layer_norm(const MatchContext& c, NodeId root) {
  ValueId x, d, scale, bias;
  double eps = 0;
  const auto over_last = [](const MatchContext& v, NodeId n) {
    const ValueId data = v.model.input(n, 0);
    const auto axes = axes_of(v.model, n);
    if (!axes || axes->size() != 1 || !v.infer.has_rank(data)) return false;
    return normalize_axis((*axes)[0], v.infer.dims(data).size()) ==
           static_cast<std::int64_t>(v.infer.dims(data).size()) - 1;
  };
  const auto mean = [&](auto of) {  // the axes are an attribute before opset 18
    return op(ReduceMean, of)
        .and_more()
        .attr(names::keepdims, 1)
        .where("is not over the last axis", over_last);
  };
  const auto normal = [&](std::uint32_t reads, auto square) {
    const auto centered = op(Sub, any(x), mean(same(x)).single_use()).uses(reads).bind(d);
    const auto variance = op(Add, mean(square.single_use()).single_use(), any_scalar(eps)).single_use();
    return op(Div, centered, op(Sqrt, variance).single_use()).single_use();
  };
  const auto either = one_of(normal(2, op(Pow, same(d), scalar(2))), normal(3, op(Mul, same(d), same(d))));
  const auto one_axis = [](const MatchContext& v, ValueId w) {
    return v.infer.has_rank(w) && v.infer.dims(w).size() == 1;
  };
  return matches(c, root,
                 op(Add, op(Mul, either, any(scale).where("has several axes", one_axis)).single_use(),
                    any(bias).where("has several axes", one_axis))) &&
         (eps > 0 || c.no(root, "has no positive epsilon"));
}

TEST(MatchRules, LayerNormalization) {
  Found<layer_norm> found;
  found.constants =
      "float two = {2}, float eps = {1e-5}, float none = {0}, int64[1] last = {-1}, "
      "int64[1] first = {0}, float[4] s = {1, 2, 3, 4}, float[4] b = {4, 3, 2, 1}";
  const std::string mean = "m = ReduceMean (x, last) d = Sub (x, m) ", square = "q = Pow (d, two) ";
  const std::string rest = "v = ReduceMean (q, last) e = Add (v, eps) r = Sqrt (e) n = Div (d, r) ";
  const std::string affine = "p = Mul (n, s) y = Add (p, b)";
  EXPECT_TRUE(found(mean + square + rest + affine));
  EXPECT_TRUE(found(mean + "q = Mul (d, d) " + rest + affine));
  EXPECT_FALSE(found(mean + square + rest + "z = Neg (d) p = Mul (n, s) y = Add (p, b)")) << "d is shared";
  EXPECT_TRUE(found(mean + square + rest + "p = Mul (s, n) y = Add (b, p)"));
  EXPECT_TRUE(found(mean + square + "v = ReduceMean (q, last) e = Add (eps, v) r = Sqrt (e) n = Div (d, r) " +
                    affine));
  EXPECT_FALSE(found("m = ReduceMean (x, first) d = Sub (x, m) " + square + rest + affine)) << "wrong axis";
  EXPECT_FALSE(found("m = ReduceMean (x) d = Sub (x, m) " + square + rest + affine)) << "all axes";
  EXPECT_FALSE(found("m = ReduceMean <keepdims = 0> (x, last) d = Sub (x, m) " + square + rest + affine));
  EXPECT_FALSE(found(mean + "q = Pow (d, eps) " + rest + affine)) << "another exponent";
  EXPECT_FALSE(found(mean + "q = Pow (x, two) " + rest + affine)) << "the square of x";
  EXPECT_FALSE(found(mean + square +
                     "v = ReduceMean (q, last) e = Add (v, none) r = Sqrt (e) n = Div (d, r) " + affine));
  EXPECT_FALSE(found(mean + square + rest + "p = Mul (n, m) y = Add (p, b)")) << "the scale is the mean";
  found.header = "<ir_version: 10, opset_import: [\"\" : 17]>";
  EXPECT_TRUE(
      found("m = ReduceMean <axes = [1]> (x) d = Sub (x, m) q = Pow (d, two) "
            "v = ReduceMean <axes = [-1]> (q) e = Add (v, eps) r = Sqrt (e) n = Div (d, r) " +
            affine));
}

// --- BatchNormalization of a Conv --------------------------------------------------------------------------
bool conv_batch_norm(const MatchContext& c, NodeId root) {
  ValueId x;
  TensorId weight, bias, scale, shift, mean, variance;
  return matches(
      c, root,
      op(BatchNormalization, op(Conv, any(x), constant(weight), optional(constant(bias))).single_use(),
         constant(scale), constant(shift), constant(mean), constant(variance))
          .opset(9)
          .only_result()
          .where("is in training mode", [](const MatchContext& v, NodeId n) {
            return int_attr(v.model, n, names::training_mode).value_or(0) == 0;
          }));
}

TEST(MatchRules, BatchNormalizationOfConv) {
  Found<conv_batch_norm> found;
  found.inputs = "float[1,1,4,4] x, float[1] f";
  found.constants = "float[1,1,1,1] w = {2}, float[1] b = {3}, float[1] s = {1}, float[1] m = {0}";
  EXPECT_TRUE(found("k = Conv (x, w) y = BatchNormalization (k, s, b, m, s)"));
  EXPECT_TRUE(found("k = Conv (x, w, b) y = BatchNormalization <epsilon = 0.1> (k, s, b, m, s)"));
  EXPECT_FALSE(found("k = Conv (x, w, f) y = BatchNormalization (k, s, b, m, s)")) << "a bias that varies";
  EXPECT_FALSE(found("k = Conv (x, w) y = BatchNormalization (k, s, f, m, s)"));
  EXPECT_FALSE(found("k = Conv (x, w) y, p, q = BatchNormalization <training_mode = 1> (k, s, b, m, s)"));
  EXPECT_FALSE(found("k = MaxPool <kernel_shape = [1, 1]> (x) y = BatchNormalization (k, s, b, m, s)"));
  found.outputs = "float[] y, float[] k";
  EXPECT_FALSE(found("k = Conv (x, w) y = BatchNormalization (k, s, b, m, s)")) << "the Conv is shared";
}

// --- Gemm: MatMul of two matrices, plus a bias -------------------------------------------------------------
bool gemm(const MatchContext& c, NodeId root) {
  ValueId a, b, bias;
  const auto matrix = [](const MatchContext& v, ValueId x) {
    return v.infer.has_rank(x) && v.infer.dims(x).size() == 2;
  };
  const auto fits = [&](const MatchContext& v,
                        ValueId x) {  // broadcasts to the result, and not the other way
    return v.infer.has_rank(x) && v.infer.dims(x).size() <= 2 && x != a;
  };
  return matches(
      c, root,
      op(Add,
         op(MatMul, any(a).where("is no matrix", matrix), any(b).where("is no matrix", matrix)).single_use(),
         any(bias).where("is no bias", fits)));
}

TEST(MatchRules, GemmOfMatMulAndAdd) {
  Found<gemm> found;
  found.inputs = "float[2,4] x, float[4,3] w, float[3] b, float[1,4,3] t, float[5,2,3] r";
  EXPECT_TRUE(found("p = MatMul (x, w) y = Add (p, b)"));
  EXPECT_TRUE(found("p = MatMul (x, w) y = Add (b, p)"));
  EXPECT_FALSE(found("p = MatMul (x, t) y = Add (p, b)")) << "a batch";
  EXPECT_FALSE(found("p = MatMul (x, w) y = Add (p, r)")) << "the bias has more axes";
  EXPECT_FALSE(found("p = MatMul (x, w) y = Add (p, p)")) << "the product is read twice";
  EXPECT_FALSE(found("p = MatMul (x, w) y = Sub (b, p)"));
  EXPECT_TRUE(found("p = MatMul (x, w) q = MatMul (x, w) z = Neg (q) y = Add (q, p)")) << "q is the bias";
  found.outputs = "float[] y, float[] p";
  EXPECT_FALSE(found("p = MatMul (x, w) y = Add (p, b)")) << "the product is an output";
}

// --- Pad into the Conv that reads it -----------------------------------------------------------------------
bool pad_conv(const MatchContext& c, NodeId root) {
  ValueId x, pads;
  const auto spatial = [](const MatchContext& v, ValueId p) {  // begins and ends; batch and channels stay
    const auto list = int_list(v.model, p);
    if (!list || list->size() < 4 || list->size() % 2 != 0) return false;
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}})
      if ((*list)[i] != 0 || (*list)[list->size() / 2 + i] != 0) return false;
    return std::ranges::all_of(*list, [](std::int64_t n) { return n >= 0; });
  };
  return matches(c, root,
                 op(Conv,
                    op(Pad, any(x), any(pads).where("pads other axes", spatial), optional(splat(0)))
                        .opset(11)
                        .attr(names::mode, "constant")
                        .single_use(),
                    any())
                     .and_more()
                     .attr(names::auto_pad, "NOTSET"));
}

TEST(MatchRules, PadIntoConv) {
  Found<pad_conv> found;
  found.inputs = "float[1,1,4,4] x, float[1,1,3,3] w";
  found.constants =
      "int64[8] p = {0, 0, 1, 1, 0, 0, 2, 2}, int64[8] c = {0, 1, 1, 1, 0, 0, 1, 1}, "
      "int64[8] n = {0, 0, -1, 0, 0, 0, 0, 0}, float zero = {0}, float one = {1}, "
      "int64[2] h = {2, 3}, float[1] b = {1}";
  EXPECT_TRUE(found("q = Pad (x, p) y = Conv (q, w)"));
  EXPECT_TRUE(found("q = Pad <mode = \"constant\"> (x, p, zero) y = Conv (q, w, b)"));
  EXPECT_FALSE(found("q = Pad (x, p, one) y = Conv (q, w)")) << "ones are padded";
  EXPECT_FALSE(found("q = Pad (x, c) y = Conv (q, w)")) << "a channel is padded";
  EXPECT_FALSE(found("q = Pad (x, n) y = Conv (q, w)")) << "rows are cut";
  EXPECT_FALSE(found("q = Pad <mode = \"edge\"> (x, p) y = Conv (q, w)"));
  EXPECT_FALSE(found("q = Pad (x, p, , h) y = Conv (q, w)")) << "axes are given";
  EXPECT_FALSE(found("q = Pad (x, p) y = Conv <auto_pad = \"SAME_UPPER\"> (q, w)"));
}

// --- Cast of a Cast ----------------------------------------------------------------------------------------
bool cast_chain(const MatchContext& c, NodeId root) {
  ValueId x;
  std::int64_t between = 0, to = 0;
  const auto widens = [](DType from, DType by) {  // keeps every number of `from`
    return by == DType::Double && (from == DType::Float || from == DType::Float16 || from == DType::Int32);
  };
  return matches(c, root,
                 op(Cast, op(Cast, any(x)).bind_attr(names::to, between)).bind_attr(names::to, to)) &&
         (widens(c.infer.dtype(x), static_cast<DType>(between)) || c.no(root, "the first Cast may round"));
}

TEST(MatchRules, CastOfCast) {
  Found<cast_chain> found;
  found.inputs = "float[4] x, int64[4] i, int32[4] j";
  EXPECT_TRUE(found("c = Cast <to = 11> (x) y = Cast <to = 10> (c)"));
  EXPECT_TRUE(found("c = Cast <to = 11> (j) y = Cast <to = 7> (c)"));
  EXPECT_FALSE(found("c = Cast <to = 11> (i) y = Cast <to = 7> (c)")) << "int64 does not fit in a double";
  EXPECT_FALSE(found("c = Cast <to = 10> (x) y = Cast <to = 1> (c)"));
  EXPECT_FALSE(found("c = Neg (x) y = Cast <to = 1> (c)"));
  EXPECT_FALSE(found("c = Cast <to = 11, scale = 2> (x) y = Cast <to = 10> (c)")) << "an unknown attribute";
}

// --- Slice of a Slice, of different axes -------------------------------------------------------------------
bool slice_chain(const MatchContext& c, NodeId root) {
  ValueId x, inner, outer;
  const auto slice = [](auto of, ValueId& axes) {
    return op(Slice, of, any(), any(), any(axes), optional(any())).opset(10);
  };
  const auto apart = [&](const MatchContext& v, ValueId y) {
    if (!v.infer.has_rank(y)) return false;
    auto all = int_list(v.model, inner);
    const auto more = int_list(v.model, outer);
    if (!all || !more) return false;
    all->insert(all->end(), more->begin(), more->end());
    return normalize_axes(*all, v.infer.dims(y).size()).has_value();
  };
  return matches(c, root,
                 slice(slice(any(x), inner).single_use(), outer).where("slices an axis twice", apart));
}

TEST(MatchRules, SliceOfSlice) {
  Found<slice_chain> found;
  found.constants = "int64[1] zero = {0}, int64[1] one = {1}, int64[1] last = {-1}, int64[1] two = {2}";
  EXPECT_TRUE(found("s = Slice (x, zero, one, zero) y = Slice (s, zero, two, one)"));
  EXPECT_TRUE(found("s = Slice (x, zero, one, zero, one) y = Slice (s, zero, two, last)"));
  EXPECT_FALSE(found("s = Slice (x, zero, one, one) y = Slice (s, zero, two, last)")) << "one axis twice";
  EXPECT_FALSE(found("s = Slice (x, zero, one) y = Slice (s, zero, two, last)")) << "axes are not given";
  EXPECT_FALSE(found("s = Slice (x, zero, one, zero) t = Neg (s) y = Slice (t, zero, two, last)"));
  found.outputs = "float[] y, float[] s";
  EXPECT_FALSE(found("s = Slice (x, zero, one, zero) y = Slice (s, zero, two, one)"))
      << "the inner one stays";
}

// --- Where (Not (c), x, y) ---------------------------------------------------------------------------------
bool where_not(const MatchContext& c, NodeId root) {
  ValueId condition, x, y;
  return matches(c, root, op(Where, op(Not, any(condition)), any(x), any(y)));
}

TEST(MatchRules, WhereOfNot) {
  Found<where_not> found;
  found.inputs = "bool[4] c, float[4] x, float[4] z";
  EXPECT_TRUE(found("n = Not (c) y = Where (n, x, z)"));
  EXPECT_TRUE(found("n = Not (c) y = Where (n, x, x)"));
  EXPECT_FALSE(found("y = Where (c, x, z)"));
  EXPECT_FALSE(found("n = And (c, c) y = Where (n, x, z)"));
  EXPECT_FALSE(found("n = Identity (c) y = Where (n, x, z)"));
  EXPECT_FALSE(found("n = Not (c) y = Where (c, n, n)"));
}

// --- Mul by 1, Add of -0 (Add of 0 makes 0 of -0) ----------------------------------------------------------
bool neutral(const MatchContext& c, NodeId root) {
  ValueId x;
  const auto of_integers = any(x).where(
      "is not of integers", [](const MatchContext& v, ValueId i) { return is_int(v.infer.dtype(i)); });
  const auto pattern =
      one_of(op(Mul, any(x), splat(1)), op(Div, any(x), splat(1)), op(Add, any(x), splat(-0.0)),
             op(Sub, any(x), splat(0)), op(Add, of_integers, splat(0)));
  return matches(c, root, pattern) &&
         (c.infer.same_shape(x, c.model.output(root, 0)) || c.no(root, "has another shape"));
}

TEST(MatchRules, NeutralElements) {
  Found<neutral> found;
  found.inputs = "float[2,4] x, int64[2,4] i, float one_in";
  found.constants =
      "float one = {1}, float[4] ones = {1, 1, 1, 1}, float zero = {0}, float minus = {-0.0}, "
      "float off = {1.0000001}, float[1,1,1] long = {1}, int64 nil = {0}, float[4] most = {1, 1, 1, 2}";
  EXPECT_TRUE(found("y = Mul (x, one)"));
  EXPECT_TRUE(found("y = Mul (ones, x)"));
  EXPECT_TRUE(found("y = Div (x, ones)"));
  EXPECT_TRUE(found("y = Add (minus, x)"));
  EXPECT_TRUE(found("y = Add (nil, i)"));
  EXPECT_TRUE(found("y = Sub (x, zero)"));
  EXPECT_FALSE(found("y = Add (x, zero)")) << "-0 would stay -0";
  EXPECT_FALSE(found("y = Div (one, x)"));
  EXPECT_FALSE(found("y = Mul (x, off)"));
  EXPECT_FALSE(found("y = Mul (x, most)"));
  EXPECT_FALSE(found("y = Mul (x, long)")) << "the rank grows";
  EXPECT_FALSE(found("y = Mul (x, one_in)")) << "an input";
  found.header = "<ir_version: 8, opset_import: [\"\" : 6]>";
  EXPECT_FALSE(found("y = Mul <broadcast = 1> (x, one)"));
}

}  // namespace
}  // namespace graphopt
