// The mapping of graphs whose counterparts are known by construction.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "infer_case.h"
#include "mapping/map_graphs.h"
#include "mapping/names.h"
#include "mapping/uncross.h"

namespace graphopt::mapping {
namespace {

struct Mapped {
  std::map<std::string, std::string> pairs;  // by the first results
  double least_confidence = 1;
  std::vector<std::string> groups;  // "a b -> c, kind"
  bool is_one_model = false;
};

Mapped mapped(const std::string& a, const std::string& b) {
  const InferCase of_a(a), of_b(b);
  Mapped out;
  if (!of_a.model || !of_b.model) return out;
  const Mapping m = map_graphs(*of_a.model, *of_a.facts, *of_b.model, *of_b.facts, {});
  for (const Pair& p : m.scopes[0].pairs) {
    out.pairs[name_of(*m.scopes[0].a, p.a)] = name_of(*m.scopes[0].b, p.b);
    out.least_confidence = std::min(out.least_confidence, p.confidence);
  }
  for (const Group& g : m.scopes[0].groups) {
    std::string text;
    for (const Index op : g.a) text += name_of(*m.scopes[0].a, op) + " ";
    text += "->";
    for (const Index op : g.b) text += " " + name_of(*m.scopes[0].b, op);
    out.groups.push_back(text + ", " + std::string(word(g.kind)));
  }
  out.is_one_model = m.is_one_model;
  return out;
}

using Names = std::map<std::string, std::string>;

constexpr const char* kBlock = R"(
g (float[2,4] x) => (float[2,4] y) <float[4,4] w = {1,2,3,4, 5,6,7,8, 9,1,2,3, 4,5,6,7}> {
  q = MatMul (x, w)
  r = Relu (q)
  s = Sigmoid (q)
  m = Mul (r, s)
  y = Add (m, x)
})";

TEST(Mapping, NamesAndOrderDoNotCount) {
  const Mapped found = mapped(kBlock, R"(
h (float[2,4] x) => (float[2,4] y) {
  k = Constant <value = float[4,4] {1,2,3,4, 5,6,7,8, 9,1,2,3, 4,5,6,7}> ()
  i = Identity (k)
  a = MatMul (x, i)
  c = Sigmoid (a)
  b = Relu (a)
  d = Mul (c, b)
  y = Add (x, d)
})");
  EXPECT_EQ(found.pairs, (Names{{"q", "a"}, {"r", "b"}, {"s", "c"}, {"m", "d"}, {"y", "y"}}));
  EXPECT_EQ(found.least_confidence, 1);
  EXPECT_TRUE(found.groups.empty()) << found.groups.front();
  EXPECT_TRUE(found.is_one_model);
}

TEST(Mapping, WhatDoesNothingIsLookedThrough) {
  const Mapped found = mapped(kBlock, R"(
h (float[2,4] in) => (float[2,4] out)
  <float[4,4] w = {1,2,3,4, 5,6,7,8, 9,1,2,3, 4,5,6,7}, int64[2] s = {2,4}> {
  n = Identity (in)
  a = MatMul (n, w)
  t = Reshape (a, s)
  b = Relu (t)
  c = Sigmoid (a)
  d = Mul (b, c)
  e = Cast <to = 1> (d)
  out = Add (e, in)
})");
  EXPECT_EQ(found.pairs, (Names{{"q", "a"}, {"r", "b"}, {"s", "c"}, {"m", "d"}, {"y", "out"}}));
  EXPECT_EQ(found.groups.size(), 3U);
  for (const std::string& g : found.groups) EXPECT_TRUE(g.ends_with("only_in_b")) << g;
}

TEST(Mapping, GroupsHaveWhatIsNoPair) {
  const Mapped found = mapped(R"(
g (float[2,4] x) => (float[2,4] y) {
  a = Sigmoid (x)
  b = Mul (x, a)
  y = Tanh (b)
})",
                              R"(
h (float[2,4] x) => (float[2,4] y) {
  b = HardSwish (x)
  y = Tanh (b)
})");
  EXPECT_EQ(found.pairs, (Names{{"y", "y"}}));
  EXPECT_EQ(found.groups, (std::vector<std::string>{"a b -> b, fused"}));
}

TEST(Mapping, EqualOperatorsInARowKeepTheirOrder) {
  const InferCase a(R"(
g (float[4] x) => (float[4] y) { r = Relu (x)  c = Cast <to = 1> (r)  d = Cast <to = 1> (c)  y = Exp (d) })"),
      b(R"(
h (float[4] x) => (float[4] y) { r = Exp (x)  s = Cast <to = 1> (r)  t = Cast <to = 1> (s)  y = Relu (t) })");
  ASSERT_TRUE(a.model && b.model);
  const Mapping m = map_graphs(*a.model, *a.facts, *b.model, *b.facts, {});
  const Side &of_a = *m.scopes[0].a, &of_b = *m.scopes[0].b;
  const auto found = [&](const Side& side, std::string_view name) {
    Index i = 0;
    while (name_of(side, i) != name) ++i;
    return i;
  };
  const Index c = found(of_a, "c"), d = found(of_a, "d"), s = found(of_b, "s"), t = found(of_b, "t");
  for (const Why why : {Why::Neighbours, Why::Given}) {
    Matching crossed(of_a, of_b);
    ASSERT_TRUE(crossed.add(c, t, 0.9, why) && crossed.add(d, s, 0.9, Why::Neighbours));
    uncross(crossed);
    const bool stays = why == Why::Given;
    EXPECT_EQ(crossed.mate(0, c), stays ? t : s);
    EXPECT_EQ(crossed.mate(1, s), stays ? d : c);
    EXPECT_EQ(crossed.pairs()[1].b, stays ? s : t);
  }
}

TEST(Mapping, GraphsWithoutOperatorsAreAlike) {
  constexpr const char* kEmpty = "g (float[2] x) => (float[2] x) {}";
  const Mapped found = mapped(kEmpty, kEmpty);
  EXPECT_TRUE(found.is_one_model);
  EXPECT_TRUE(found.pairs.empty());
  EXPECT_FALSE(mapped(kEmpty, kBlock).is_one_model);
}

// Equal constants everywhere and branches that nothing tells apart: pairs, and what is not sure is said.
TEST(Mapping, BranchesAlikeAreNotSure) {
  const auto text = [](const std::string& a, const std::string& b) {
    return "g (float[2,4] x) => (float[2,8] y) <float[4,4] w = {1,2,3,4, 5,6,7,8, 9,1,2,3, 4,5,6,7}> {\n" +
           a + " = MatMul (x, w)\n" + b + " = MatMul (x, w)\ny = Concat <axis = 1> (" + a + ", " + b + ")\n}";
  };
  const Mapped found = mapped(text("p", "q"), text("u", "v"));
  EXPECT_EQ(found.pairs.size(), 3U);
  EXPECT_EQ(found.pairs.at("y"), "y");
  EXPECT_TRUE(found.is_one_model);
}

// A normalization alone and its primitives: no pair, and the weights say that they are one.
TEST(Mapping, WeightsTellWhereNoOperatorIsLeft) {
  const auto text = [](const std::string& weights, bool whole) {
    const std::string scale =
        "float[16] w = {" + weights + ", 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5, 10.5, 11.5, 12.5, 13.5}";
    return whole ? "g (float[2,16] x) => (float[2,16] y) <" + scale + "> { y = LayerNormalization (x, w) }"
                 : "h (float[2,16] x) => (float[2,16] y) <" + scale +
                       R"(, int64[1] a = {-1}, float e = {0.00001}> {
  m = ReduceMean (x, a)  d = Sub (x, m)  q = Mul (d, d)  v = ReduceMean (q, a)
  s = Add (v, e)  r = Sqrt (s)  n = Div (d, r)  t = Reshape (w, a)  y = Mul (n, t) })";
  };
  const std::string weights = "0.1, 0.2, 0.3, 0.4", others = "0.5, 0.6, 0.7, 0.8";
  const Mapped found = mapped(text(weights, true), text(weights, false));
  EXPECT_TRUE(found.pairs.empty());
  EXPECT_TRUE(found.is_one_model);
  EXPECT_EQ(found.groups, (std::vector<std::string>{"y -> m t d q v s r n y, decomposed"}));
  EXPECT_TRUE(mapped(text(others, true), text(weights, false)).is_one_model);  // most numbers are the same
  EXPECT_FALSE(
      mapped("g (float[2,16] x) => (float[2,16] y) { y = Gelu (x) }", text(weights, false)).is_one_model);
}

constexpr const char* kLoop = R"(
g (int64 n, bool o, float[2] x, float[2] z) => (float[2] y) {
  c = Abs (z)
  y = Loop <body = b (int64 i, bool k, float[2] s) => (bool l, float[2] t) {
    l = Identity (k)
    p = Sin (s)
    t = Mul (p, c)
  }> (n, o, x)
})";

TEST(Mapping, BodiesOfPairsAreMapped) {
  const InferCase a(kLoop), b(R"(
g (int64 n, bool o, float[2] x, float[2] z) => (float[2] y) {
  cc = Abs (z)
  y = Loop <body = b (int64 i1, bool k1, float[2] s1) => (bool l1, float[2] t1) {
    p1 = Sin (s1)
    t1 = Mul (cc, p1)
    l1 = Identity (k1)
  }> (n, o, x)
})");
  const Mapping m = map_graphs(*a.model, *a.facts, *b.model, *b.facts, {});
  ASSERT_EQ(m.scopes.size(), 2U);
  const auto prefixes = prefixes_of(m);
  EXPECT_EQ(prefixes[0][1], "y/body/");
  std::map<std::string, std::string> pairs;
  for (const Pair& p : m.scopes[1].pairs) {
    pairs[name_of(*m.scopes[1].a, p.a)] = name_of(*m.scopes[1].b, p.b);
    EXPECT_EQ(p.confidence, 1) << name_of(*m.scopes[1].a, p.a);  // c and cc are one value
  }
  EXPECT_EQ(pairs, (Names{{"l", "l1"}, {"p", "p1"}, {"t", "t1"}}));
}

TEST(Mapping, OperatorsOfBodiesAreFoundByName) {
  const InferCase a(kLoop);
  const Model& m = *a.model;
  EXPECT_EQ(m.kind(find_operator(m, "c")), OpKind::Abs);
  EXPECT_EQ(m.kind(find_operator(m, "y/body/p")), OpKind::Sin);
  EXPECT_FALSE(find_operator(m, "y/body/"));
  EXPECT_FALSE(find_operator(m, "y/other/p"));
  EXPECT_FALSE(find_operator(m, "p"));
  const auto pair = find_pair(m, m, "y/body/p=c");
  ASSERT_TRUE(pair);
  EXPECT_EQ(m.kind(pair->a), OpKind::Sin);
  EXPECT_EQ(m.kind(pair->b), OpKind::Abs);
  EXPECT_FALSE(find_pair(m, m, "c"));
  EXPECT_FALSE(find_pair(m, m, "c="));
}

Mapping mapped_with(const InferCase& a, const InferCase& b, const char* pair) {
  MapOptions options;
  options.given.push_back(find_pair(*a.model, *b.model, pair).value());
  return map_graphs(*a.model, *a.facts, *b.model, *b.facts, options);
}

TEST(Mapping, GivenPairsHoldUnlessConstantsContradict) {
  const InferCase alike("g (float[2] x) => (float[2] y) { p = Relu (x)  q = Relu (x)  y = Add (p, q) }");
  const Mapping free = mapped_with(alike, alike, "p=q");
  EXPECT_TRUE(free.refused.empty());
  const auto given = std::ranges::find(free.scopes[0].pairs, Why::Given, &Pair::why);
  ASSERT_NE(given, free.scopes[0].pairs.end());
  EXPECT_EQ(name_of(*free.scopes[0].a, given->a), "p");
  EXPECT_EQ(name_of(*free.scopes[0].b, given->b), "q");
  EXPECT_EQ(given->confidence, 1);

  const InferCase weighted(R"(
g (float[4] x) => (float[2] y)
  <float[4,2] v = {1,2,3,4, 5,6,7,8}, float[4,2] w = {1,2,3,4, 5,6,7,9}> {
  p = MatMul (x, v)  q = MatMul (x, w)  y = Add (p, q)
})");
  const Mapping bound = mapped_with(weighted, weighted, "p=q");
  ASSERT_EQ(bound.refused.size(), 1U);
  EXPECT_TRUE(bound.refused[0].reads_a);
  EXPECT_TRUE(mapped_with(weighted, weighted, "p=p").refused.empty());
}

}  // namespace
}  // namespace graphopt::mapping
