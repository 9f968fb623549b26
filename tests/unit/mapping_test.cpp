// The mapping of graphs whose counterparts are known by construction.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "infer_case.h"
#include "mapping/map_graphs.h"

namespace graphopt::mapping {
namespace {

std::string name_of(const Side& side, Index op) {
  for (const Index v : side.outputs(op))
    if (v != kNone) return std::string(side.name(v));
  return {};
}

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

}  // namespace
}  // namespace graphopt::mapping
