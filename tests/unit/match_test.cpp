// The pattern matcher, feature by feature: what fits, what does not, which orders are tried, which miss is
// told.
#include "rewrite/match.h"

#include <gtest/gtest.h>

#include <string>

#include "infer_case.h"
#include "ir/reader_access.h"
#include "onnx/reader.h"

namespace graphopt {
namespace {

using namespace pattern;

struct Given : InferCase {
  using InferCase::InferCase;
  MatchContext view(Why* why = nullptr) const { return {*model, *facts, options, model->dims, why}; }
  // Without reasons, parts of the pattern say first whether their value may fit, and a kept one which
  // producers it needs: that loses no match.
  template <class P> bool fits(const std::string& result, const P& p, Why* why = nullptr) const {
    Why unread;
    const bool fitting = matches(view(why != nullptr ? why : &unread), value(result), p);
    EXPECT_EQ(matches(view(), value(result), p), fitting) << "with reasons, and without";
    if (const NodeId n = model->value(value(result)).def; n && model->output(n, 0) == value(result)) {
      EXPECT_EQ(KeptPattern(p).matches_at(view(), n), fitting) << "kept";
    }
    return fitting;
  }
  PassOptions options;
  std::string name(ValueId v) const { return v ? std::string(model->text(model->value(v).name)) : "none"; }
};

std::string with_opset(int opset) {
  return "<ir_version: 10, opset_import: [\"\" : " + std::to_string(opset) + ", \"local\" : 1]>";
}

TEST(Match, OperatorsOperandsAndBindings) {
  const Given c("g (float[2] x, float[2] y) => (float[2] z) { n = Neg (x)  z = Sub (n, y) }");
  ValueId a, b, whole;
  NodeId neg;
  EXPECT_TRUE(c.fits("z", op(OpKind::Sub, op(OpKind::Neg, any(a)).bind(neg), any(b)).bind(whole)));
  EXPECT_EQ(c.name(a) + c.name(b) + c.name(whole), "xyz");
  EXPECT_EQ(neg, c.node_of("n"));
  EXPECT_FALSE(c.fits("z", op(OpKind::Sub, any(), op(OpKind::Neg, any())))) << "Sub has one order";
  EXPECT_FALSE(c.fits("z", op(OpKind::Add, any(), any())));
  EXPECT_FALSE(c.fits("x", op(OpKind::Neg, any()))) << "no producer";
  EXPECT_TRUE(c.fits("x", any()));
  EXPECT_TRUE(matches(c.view(), c.node_of("z"), op(OpKind::Sub, any(), any())));
}

TEST(Match, FromTheContextOfARule) {
  const Given c("g (float[2] x) => (float[2] y) { n = Neg (x)  y = Abs (n) }");
  Journal journal(Journal::kNoLimit);
  const PassOptions options;
  const PassContext context{*c.model, *c.facts, journal, options};
  const auto pattern = op(OpKind::Abs, op(OpKind::Neg, any()).attr(names::axis, 1));
  EXPECT_FALSE(matches(context.matching(), c.node_of("y"), pattern));
  EXPECT_TRUE(
      matches(context.matching(), c.node_of("y"), op(OpKind::Abs, op(OpKind::Neg, any()).single_use())));
}

TEST(Match, NumbersOfOperands) {
  const Given c(R"(g (float[2] x, float lo, float hi) => (float[2] z) {
    o = Clip (x)  l = Clip (x, lo)  h = Clip (x, , hi)  b = Clip (x, lo, hi)  z = Sum (o, l, h, b) })");
  EXPECT_TRUE(c.fits("o", op(OpKind::Clip, any())));
  EXPECT_FALSE(c.fits("l", op(OpKind::Clip, any())));
  EXPECT_FALSE(c.fits("h", op(OpKind::Clip, any())));
  EXPECT_TRUE(c.fits("h", op(OpKind::Clip, any(), absent(), any())));
  EXPECT_FALSE(c.fits("h", op(OpKind::Clip, any(), any(), any())));
  EXPECT_FALSE(c.fits("b", op(OpKind::Clip, any(), absent(), any())));
  EXPECT_TRUE(c.fits("o", op(OpKind::Clip, any(), absent(), absent())));
  EXPECT_TRUE(c.fits("b", op(OpKind::Clip, any()).and_more()));
  ValueId low = c.value("x"), high;
  EXPECT_TRUE(c.fits("h", op(OpKind::Clip, any(), maybe(low), maybe(high))));
  EXPECT_EQ(c.name(low) + c.name(high), "nonehi");
  const ValueId lo = c.value("lo");
  const auto bounded = op(OpKind::Clip, any(), optional(same(lo)), optional(any()));
  for (const char* each : {"o", "l", "h", "b"}) EXPECT_TRUE(c.fits(each, bounded)) << each;
  EXPECT_FALSE(c.fits("b", op(OpKind::Clip, any(), optional(same(high)), any())));
  EXPECT_FALSE(c.fits("h", op(OpKind::Clip, any(), any(low), any())));
}

TEST(Match, BothOrdersWhereTheTableSaysSo) {
  const Given c(R"(g (float[2] x, float[2] y) => (float[2] z) {
    n = Neg (x)  s = Sum (n, y, x)  a = Add (y, n)  d = Div (y, n)  z = Sum (s, a, d) })");
  ValueId other;
  EXPECT_TRUE(c.fits("a", op(OpKind::Add, op(OpKind::Neg, any()), any(other))));
  EXPECT_EQ(c.name(other), "y");
  EXPECT_TRUE(c.fits("a", op(OpKind::Add, any(other), op(OpKind::Neg, any()))));
  EXPECT_EQ(c.name(other), "y");
  EXPECT_FALSE(c.fits("d", op(OpKind::Div, op(OpKind::Neg, any()), any())));
  EXPECT_FALSE(c.fits("s", op(OpKind::Sum, any(), any(), op(OpKind::Neg, any())))) << "the third stays";
}

// Before opset 7 an Add broadcasts by its attribute axis, which no pattern has in mind.
TEST(Match, OpsetsThatMeanSomethingElse) {
  const std::string text = "g (float[2] x) => (float[2] y) { y = Add (x, x) }";
  const auto add = op(OpKind::Add, any(), any());
  EXPECT_TRUE(Given(text, {}, with_opset(7)).fits("y", add));
  EXPECT_FALSE(Given(text, {}, with_opset(6)).fits("y", add));
  EXPECT_FALSE(Given(text, {}, with_opset(kNewestOpset + 1)).fits("y", add));
  EXPECT_TRUE(Given(text, {}, with_opset(13)).fits("y", add.opset(13)));
  EXPECT_FALSE(Given(text, {}, with_opset(13)).fits("y", add.opset(14)));
  EXPECT_FALSE(Given(text, {}, with_opset(13)).fits("y", add.opset(7, 12)));
  const std::string removed = "g (float[2] x, float[1] s) => (float[2] y) { y = Upsample (x, s) }";
  const auto upsample = op(OpKind::Upsample, any(), any());
  EXPECT_TRUE(Given(removed, {}, with_opset(9)).fits("y", upsample));
  EXPECT_FALSE(Given(removed, {}, with_opset(10)).fits("y", upsample));
}

// The inner Add fits at once with p = a, q = b; then the outer `same(p)` fails, and the inner order is
// undone.
TEST(Match, AnInnerOrderIsUndone) {
  const Given c(R"(g (float[2] a, float[2] b) => (float[2] z) {
    s = Add (a, b)  z = Sub (s, b)  w = Sub (s, a) })");
  ValueId p, q;
  const auto formula = op(OpKind::Sub, op(OpKind::Add, any(p), any(q)), same(p));
  EXPECT_TRUE(c.fits("z", formula));
  EXPECT_EQ(c.name(p) + c.name(q), "ba");
  EXPECT_TRUE(c.fits("w", formula));
  EXPECT_EQ(c.name(p) + c.name(q), "ab");
}

// Orders of three nested nodes, of which one of eight fits; and a condition that only one order meets.
TEST(Match, OrdersAtSeveralDepthsAreUndone) {
  const Given c(R"(g (float[2] a, float[2] b, float[2] d) => (float[2] z) {
    s = Add (a, b)  t = Mul (d, s)  u = Add (t, a)  z = Sub (u, d) })");
  ValueId p, q, r;
  const auto formula =
      op(OpKind::Sub, op(OpKind::Add, any(q), op(OpKind::Mul, op(OpKind::Add, any(p), same(q)), any(r))),
         same(r));
  EXPECT_TRUE(c.fits("z", formula));
  EXPECT_EQ(c.name(p) + c.name(q) + c.name(r), "bad");
  const auto inner = op(OpKind::Add, any(p), any(q)).where("p is not b", [&] { return p == c.value("b"); });
  EXPECT_TRUE(c.fits("t", op(OpKind::Mul, inner, any(r))));
  EXPECT_EQ(c.name(p) + c.name(q), "ba");
  EXPECT_FALSE(c.fits("z", op(OpKind::Sub, op(OpKind::Add, any(p), any(q)), same(p))));
}

TEST(Match, AlternativesAreUndone) {
  const Given c(R"(g (float[2] a, float[2] b) => (float[2] z) {
    s = Sub (a, b)  z = Sub (s, b)  n = Neg (a)  k = Sub (n, b) })");
  ValueId p;
  const auto either = one_of(op(OpKind::Sub, any(p), any()), op(OpKind::Sub, any(), any(p)));
  EXPECT_TRUE(c.fits("z", op(OpKind::Sub, either, same(p))));
  EXPECT_EQ(c.name(p), "b");
  const auto first = one_of(op(OpKind::Abs, any(p)), op(OpKind::Neg, any(p)));
  EXPECT_TRUE(c.fits("k", op(OpKind::Sub, first, any())));
  EXPECT_FALSE(c.fits("z", op(OpKind::Sub, first, any())));
  EXPECT_TRUE(matches(c.view(), c.node_of("n"), first));
}

TEST(Match, UsesOfAResult) {
  const Given c(R"(g (float[2] x, bool t) => (float[2] z, float[2] out) {
    one = Neg (x)  two = Neg (x)  out = Neg (x)  inner = Neg (x)  square = Neg (x)
    z = Sum (one, two, two_, out, branch, sq)
    two_ = Abs (two)  sq = Mul (square, square)
    branch = If (t) <then_branch = g1 () => (float[2] p) { p = Abs (inner) },
                     else_branch = g2 () => (float[2] q) { q = Abs (x) }>
  })");
  const auto neg = op(OpKind::Neg, any());
  EXPECT_TRUE(c.fits("one", neg.single_use()));
  EXPECT_FALSE(c.fits("two", neg.single_use()));
  EXPECT_TRUE(c.fits("two", neg.uses(2)));
  EXPECT_FALSE(c.fits("out", neg.uses(2))) << "a graph output";
  EXPECT_FALSE(c.fits("inner", neg.single_use())) << "read in a body";
  ValueId v;
  EXPECT_TRUE(c.fits("sq", op(OpKind::Mul, any(v), same(v)))) << "one operand twice";
  EXPECT_TRUE(c.fits("square", neg.uses(2)));
  EXPECT_TRUE(c.fits("x", any()));
  ReaderAccess::value(*c.model, c.value("one")).pinned = true;
  EXPECT_FALSE(c.fits("one", neg.single_use()));
}

// A kernel in training mode writes the running mean: it is no constant, and what makes it stays.
TEST(Match, ResultsThatAreOverwritten) {
  const Given c(R"(g (float[1,2,3] x, float[2] s, float[2] m) => (float[1,2,3] y) {
    n = Neg (m)
    y = BatchNormalization (x, s, s, n, s)
  })");
  EXPECT_TRUE(c.fits("n", op(OpKind::Neg, any()).single_use()));
  c.model->set_overwrites(c.node_of("y"), 1u << 3);
  EXPECT_FALSE(c.fits("n", op(OpKind::Neg, any()).single_use()));
}

TEST(Match, NodesOfOuterGraphs) {
  const Given c(R"(g (float[2] x, bool t) => (float[2] z) {
    n = Neg (x)
    z = If (t) <then_branch = g1 () => (float[2] p) { p = Abs (n) },
                else_branch = g2 () => (float[2] q) { i = Neg (x)  q = Abs (i) }>
  })");
  EXPECT_FALSE(c.fits("p", op(OpKind::Abs, op(OpKind::Neg, any()))));
  EXPECT_TRUE(c.fits("p", op(OpKind::Abs, op(OpKind::Neg, any()).outer())));
  EXPECT_TRUE(c.fits("q", op(OpKind::Abs, op(OpKind::Neg, any())))) << "an outer value as operand is fine";
}

TEST(Match, SameValuesAndConstantsWithTheSameBits) {
  const Given c(R"(g (float[2] x, float[2] y) => (float[2] z)
    <float[2] k = {1, 2}, float[2] l = {1, 2}, float[2] o = {1, 3}, float[1,2] r = {1, 2}> {
    a = Sub (k, l)  b = Sub (k, o)  d = Sub (k, r)  e = Sub (x, x)  f = Sub (x, y)  z = Sum (a, b, e, f) })");
  ValueId v;
  const auto minus_itself = op(OpKind::Sub, any(v), same(v));
  EXPECT_TRUE(c.fits("a", minus_itself));
  EXPECT_FALSE(c.fits("b", minus_itself));
  EXPECT_FALSE(c.fits("d", minus_itself)) << "other dims";
  EXPECT_TRUE(c.fits("e", minus_itself));
  EXPECT_FALSE(c.fits("f", minus_itself));
}

TEST(Match, Numbers) {
  const Given c(R"(g (float[2] x, float[1] d = {2}) => (float[2] z)
    <float one = {1}, float[1,1] two = {2}, float[2] twos = {2, 2}, float[2] mixed = {2, 3},
     int64[1] three = {3}, double tenth = {0.1}> {
    z = Sum (x, one, two, twos, mixed, three, tenth, d) })");
  EXPECT_TRUE(c.fits("one", scalar(1.0)));
  EXPECT_FALSE(c.fits("one", scalar(1.0000001)));
  EXPECT_TRUE(c.fits("one", scalar_near(1.0000001, 1e-6)));
  EXPECT_FALSE(c.fits("one", scalar_near(1.00001, 1e-6)));
  EXPECT_TRUE(c.fits("two", scalar(2.0)));
  EXPECT_FALSE(c.fits("twos", scalar(2.0)));
  EXPECT_TRUE(c.fits("twos", splat(2.0)));
  EXPECT_TRUE(c.fits("one", splat(1.0)));
  EXPECT_FALSE(c.fits("mixed", splat(2.0)));
  EXPECT_TRUE(c.fits("three", scalar(3.0)));
  EXPECT_FALSE(c.fits("d", scalar(2.0))) << "an input's default may be overridden";
  EXPECT_FALSE(c.fits("x", scalar(2.0)));
  double real = 0;
  std::int64_t integer = 0;
  EXPECT_TRUE(c.fits("tenth", any_scalar(real)));
  EXPECT_EQ(real, 0.1);
  EXPECT_TRUE(c.fits("twos", any_splat(real)));
  EXPECT_EQ(real, 2.0);
  EXPECT_FALSE(c.fits("twos", any_scalar(real)));
  EXPECT_FALSE(c.fits("three", any_scalar(real)));
  EXPECT_TRUE(c.fits("three", any_scalar(integer)));
  EXPECT_EQ(integer, 3);
  EXPECT_FALSE(c.fits("one", any_scalar(integer)));
  TensorId t;
  EXPECT_TRUE(c.fits("mixed", constant(t)));
  EXPECT_EQ(t, c.model->constant_of(c.value("mixed")));
  EXPECT_FALSE(c.fits("x", constant(t)));
}

TEST(Match, Attributes) {
  const Given c(R"(g (float[2,3] x) => (float[2,3] z) {
    a = Softmax <axis = 0> (x)  b = Softmax (x)  u = Softmax <mode = 1> (x)
    d = DepthToSpace <blocksize = 2, mode = "CRD"> (x)  z = Sum (a, b, u, d) })");
  const auto softmax = op(OpKind::Softmax, any());
  EXPECT_TRUE(c.fits("a", softmax.attr(names::axis, 0)));
  EXPECT_FALSE(c.fits("a", softmax.attr(names::axis, -1)));
  EXPECT_TRUE(c.fits("b", softmax.attr(names::axis, -1))) << "the default";
  EXPECT_FALSE(c.fits("u", softmax)) << "nobody knows what mode means";
  std::int64_t axis = 7;
  EXPECT_TRUE(c.fits("b", softmax.bind_attr(names::axis, axis)));
  EXPECT_EQ(axis, -1);
  EXPECT_FALSE(c.fits("b", softmax.bind_attr(names::blocksize, axis)));
  const auto depth = op(OpKind::DepthToSpace, any());
  EXPECT_TRUE(c.fits("d", depth.attr(names::mode, "CRD")));
  EXPECT_FALSE(c.fits("d", depth.attr(names::mode, "DCR")));
  EXPECT_FALSE(c.fits("x", any().attr(names::axis, 0))) << "no node";
}

// In a function an attribute may be what the caller gives.
TEST(Match, AttributesOfTheCaller) {
  const Given c(R"(g (float[2,3] x) => (float[2,3] z) { z = local.f <k = 1> (x) }
    <domain: "local", opset_import: ["" : 21]>
    f <k> (v) => (w) { s = Softmax <axis: int = @k> (v)  w = Softmax <axis = 0> (s) })");
  EXPECT_TRUE(c.fits("w", op(OpKind::Softmax, any())));
  EXPECT_FALSE(c.fits("w", op(OpKind::Softmax, op(OpKind::Softmax, any()))));
}

TEST(Match, OtherResults) {
  const Given c(R"(g (float[4] x, float[2] w) => (float[2] z) {
    a, b = Split <num_outputs = 2> (x)  d, e = Split <num_outputs = 2> (w)
    n = Neg (b)  m = Neg (a)  k = Neg (d)  z = Sum (n, m) })");
  const auto split = op(OpKind::Split, any());
  EXPECT_TRUE(c.fits("n", op(OpKind::Neg, split.result(1))));
  EXPECT_FALSE(c.fits("m", op(OpKind::Neg, split.result(1))));
  EXPECT_TRUE(c.fits("m", op(OpKind::Neg, split)));
  EXPECT_FALSE(c.fits("n", op(OpKind::Neg, split)));
  EXPECT_FALSE(c.fits("m", op(OpKind::Neg, split.only_result())));
  EXPECT_TRUE(c.fits("k", op(OpKind::Neg, split.only_result())));
}

TEST(Match, PredicatesOverValuesNodesAndBindings) {
  const Given c("g (float[2] x) => (float[2] z) { n = Neg (x)  z = Abs (n) }");
  const auto of_rank = [](std::size_t rank) {
    return [rank](const MatchContext& v, ValueId x) {
      return v.infer.has_rank(x) && v.infer.dims(x).size() == rank;
    };
  };
  EXPECT_TRUE(c.fits("n", op(OpKind::Neg, any().where("has another rank", of_rank(1)))));
  EXPECT_FALSE(c.fits("n", op(OpKind::Neg, any().where("has another rank", of_rank(2)))));
  const auto first = [](const MatchContext& v, NodeId n) { return !v.model.prev_node(n); };
  EXPECT_TRUE(c.fits("n", op(OpKind::Neg, any()).where("is not the first node", first)));
  EXPECT_FALSE(c.fits("z", op(OpKind::Abs, any()).where("is not the first node", first)));
  EXPECT_FALSE(c.fits("x", any().where("is not the first node", first))) << "no node";
}

TEST(Match, AKeptPatternBindsAtEachNode) {
  const Given c("g (float[2] x) => (float[2] b, float[2] c) { a = Neg (x)  b = Abs (a)  c = Abs (x) }");
  ValueId v;
  const KeptPattern kept(op(OpKind::Abs, any(v)));
  EXPECT_TRUE(kept.matches_at(c.view(), c.node_of("b")));
  EXPECT_EQ(c.name(v), "a");
  EXPECT_TRUE(kept.matches_at(c.view(), c.node_of("c")));
  EXPECT_EQ(c.name(v), "x");
  EXPECT_FALSE(kept.matches_at(c.view(), c.node_of("a")));
}

// What it looks at before anything else are the producers that each of its alternatives needs.
TEST(Match, AKeptPatternOfWhichOneAlternativeNeedsNoProducer) {
  const Given c(R"(g (float[2] x, float[2] y) => (float[2] z, float[2] s, float[2] t, float[2] c) {
    n = Neg (x)  z = Add (x, y)  s = Add (y, n)  t = Abs (n)  l = Abs (y)  c = Clip (x, , l) })");
  const auto of_neg = op(OpKind::Add, op(OpKind::Neg, any()), any());
  EXPECT_TRUE(c.fits("s", of_neg));
  EXPECT_FALSE(c.fits("z", of_neg));
  EXPECT_TRUE(c.fits("z", one_of(of_neg, op(OpKind::Add, any(), any()))));
  EXPECT_TRUE(c.fits("t", one_of(of_neg, op(OpKind::Abs, op(OpKind::Neg, any())))));
  EXPECT_TRUE(c.fits("s", op(OpKind::Add, one_of(op(OpKind::Neg, any()), any()), any())));
  EXPECT_TRUE(c.fits("z", op(OpKind::Add, any(), optional(any()))));
  EXPECT_TRUE(c.fits("t", op(OpKind::Abs, any(), optional(op(OpKind::Neg, any())))));
  EXPECT_TRUE(c.fits("c", op(OpKind::Clip, any(), optional(any()), op(OpKind::Abs, any()))));
}

TEST(Match, TheNearestMissIsTold) {
  const Given c(R"(g (float[2] x) => (float[2] y, float[2] probe) <float one = {1}, float half = {0.5}> {
    e = Erf (x)  a = Add (one, e)  p = Mul (x, a)  y = Mul (half, p)  probe = Neg (a) })");
  ValueId x;
  const auto inner = [&](auto sum) { return op(OpKind::Mul, op(OpKind::Mul, any(x), sum), scalar(0.5)); };
  const auto sum = op(OpKind::Add, op(OpKind::Erf, any()), scalar(1.0));
  const auto told = [&](const auto& p, const std::string& result = "y") {
    Why why;
    EXPECT_FALSE(c.fits(result, p, &why));
    EXPECT_TRUE(why);
    return why.text(*c.model);
  };
  EXPECT_TRUE(c.fits("y", inner(sum)));
  EXPECT_EQ(told(inner(sum.single_use())), "'a' (Add): is read a different number of times");
  EXPECT_EQ(told(inner(op(OpKind::Add, op(OpKind::Tanh, any()), any()))), "'e' (Erf): expected Tanh");
  EXPECT_EQ(told(inner(op(OpKind::Add, op(OpKind::Erf, any()), scalar(2.0)))),
            "'one', read by 'a' (Add): is another number");
  EXPECT_EQ(told(op(OpKind::Div, any(), any())), "'y' (Mul): expected Div");
  EXPECT_EQ(told(op(OpKind::Neg, any(), any()), "probe"), "an operand of 'probe' (Neg): is absent");
  EXPECT_EQ(told(op(OpKind::Neg, any()), "x"), "'x': expected Neg");
  EXPECT_EQ(told(op(OpKind::Neg, any()).attr(names::axis, 1), "probe"),
            "'probe' (Neg): has another value of attribute 'axis'");
  // Of x and a, which are as near, the one with a producer is told.
  EXPECT_EQ(told(op(OpKind::Mul, op(OpKind::Mul, op(OpKind::Exp, any()), any()), any())),
            "'a' (Add): expected Exp");
}

TEST(Match, MissesOfSeveralPatternsAndOfTheRuleItself) {
  const Given c("g (float[2] x) => (float[2] y) { n = Neg (x)  y = Abs (n) }");
  Why why;
  EXPECT_FALSE(why);
  EXPECT_EQ(why.text(*c.model), "");
  EXPECT_FALSE(c.fits("y", op(OpKind::Abs, op(OpKind::Exp, any())), &why));
  EXPECT_FALSE(c.fits("y", op(OpKind::Exp, any()), &why)) << "less near";
  EXPECT_EQ(why.text(*c.model), "'n' (Neg): expected Exp");
  EXPECT_EQ(why.miss().node, c.node_of("n"));
  EXPECT_EQ(why.miss().matched, 1u);
  EXPECT_FALSE(c.fits("y", op(OpKind::Abs, op(OpKind::Sin, any())), &why)) << "as near: the first stays";
  EXPECT_EQ(why.text(*c.model), "'n' (Neg): expected Exp");
  EXPECT_FALSE(c.view(&why).no(c.node_of("n"), "has no kernel", 0)) << "less near";
  EXPECT_EQ(why.text(*c.model), "'n' (Neg): expected Exp");
  EXPECT_FALSE(c.view(&why).no(c.node_of("y"), "has no kernel"));
  EXPECT_EQ(why.text(*c.model), "'y' (Abs): has no kernel");
  EXPECT_EQ(why.text(*c.model, c.node_of("y")), "has no kernel") << "the place is the root";
  EXPECT_FALSE(c.view().no(c.node_of("y"), "has no kernel"));
  EXPECT_FALSE(c.view(&why).without_reasons().why);
}

// In the other order nothing has fitted but the root, so its miss is less near.
TEST(Match, AnUndoneOrderDoesNotCount) {
  const Given c("g (float[2] x) => (float[2] y) { n = Neg (x)  a = Abs (n)  s = Sin (x)  y = Add (a, s) }");
  Why why;
  const auto chain = op(OpKind::Abs, op(OpKind::Neg, op(OpKind::Exp, any())));
  EXPECT_FALSE(c.fits("y", op(OpKind::Add, chain, any()), &why));
  EXPECT_EQ(why.text(*c.model), "'x', read by 'n' (Neg): expected Exp");
}

TEST(Match, ARootWithoutResult) {
  const Given c("g (float[2] x) => (float[2] y) { y = Abs (x) }");
  c.model->set_graph_outputs(c.model->main(), {});
  const NodeId n = c.node_of("y");
  c.model->drop_output(n, 0);
  Why why;
  EXPECT_FALSE(matches(c.view(&why), n, op(OpKind::Abs, any())));
  EXPECT_EQ(why.text(*c.model), "'' (Abs): has no result");
}

}  // namespace
}  // namespace graphopt
