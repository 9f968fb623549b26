// The pairs of operators by footprint matrices.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "infer_case.h"
#include "mapping/literal.h"

namespace graphopt::mapping {
namespace {

using Names = std::map<std::string, std::string>;

std::string name_of(const Side& side, Index op) {
  for (const Index v : side.outputs(op))
    if (v != kNone) return std::string(side.name(v));
  return {};
}

struct Found {
  Names pairs;  // by the first results
  std::map<std::string, double> confidence;
  std::map<std::string, std::vector<std::pair<std::string, double>>> advice;
  std::size_t rounds = 0;
  std::uint64_t bytes = 0;
};

Found mapped(const InferCase& of_a, const InferCase& of_b, const LiteralOptions& options) {
  Found out;
  if (!of_a.model || !of_b.model) return out;
  Labels labels;
  Subject subject_a(*of_a.model, *of_a.facts), subject_b(*of_b.model, *of_b.facts);
  const Side a(subject_a, of_a.model->main(), labels), b(subject_b, of_b.model->main(), labels);
  const LiteralMapping m = map_literally(a, b, options);
  for (const Pair& p : m.pairs) {
    EXPECT_EQ(p.why, Why::Literal);
    out.pairs[name_of(a, p.a)] = name_of(b, p.b);
    out.confidence[name_of(a, p.a)] = p.confidence;
  }
  for (const Advice& advice : m.advice)
    for (const auto& [op, score] : advice.top)
      out.advice[name_of(a, advice.a)].emplace_back(name_of(b, op), score);
  out.rounds = m.rounds;
  out.bytes = literal_bytes(a, b);
  return out;
}

Found mapped(const std::string& a, const std::string& b, const LiteralOptions& options = {}) {
  return mapped(InferCase(a), InferCase(b), options);
}

// Of the pairs of graphs in tests/vectors/mapping: how many pairs there are, and the pairs that do not depend
// on how ties are broken. These are the same for whatever order of operators of equal depth the method starts
// from.
struct Vector {
  std::string file;
  std::size_t pairs = 0;
  Names certain;
};

const std::vector<Vector>& vectors() {
  static const std::vector<Vector> all = {
      {"01_symmetric_by_weights", 5, {{"y", "y"}}},
      {"02_symmetric_by_ends", 9, {{"y", "y"}}},
      {"03_fuse_conv_bn", 2, {{"c", "u0"}, {"y", "y"}}},
      {"04_decompose_layernorm", 3, {{"e", "u10"}, {"m", "u0"}, {"y", "y"}}},
      {"05_gemm_to_matmul_add", 1, {{"t", "u2"}}},
      {"06_inserted_noops",
       6,
       {{"m", "u2"}, {"m2", "u9"}, {"r", "u7"}, {"s", "u5"}, {"s2", "u11"}, {"y", "y"}}},
      {"07_slot_order_matters", 4, {{"d", "d"}, {"y", "y"}}},
      {"08_common_subexpression", 4, {{"y", "y"}}},
      {"09_interchangeable", 3, {{"y", "y"}}},
      {"10_one_block_more", 3, {{"p", "p"}, {"r1", "r1"}, {"y", "r2"}}},
      {"11_split_or_slice", 3, {{"y", "y"}}},
      {"12_different_models", 0, {}},
  };
  return all;
}

TEST(MappingLiteral, WhatNoTieDecidesIsFound) {
  const auto subject = [](const std::string& file) {
    std::ifstream in(GRAPHOPT_TESTS_DIR "/vectors/mapping/" + file);
    return InferCase({std::istreambuf_iterator<char>(in), {}}, {}, "");
  };
  for (const Vector& v : vectors()) {
    SCOPED_TRACE(v.file);
    const Found found = mapped(subject(v.file + "_a.onnxtxt"), subject(v.file + "_b.onnxtxt"), {});
    EXPECT_EQ(found.pairs.size(), v.pairs);
    for (const auto& [x, y] : v.certain) EXPECT_EQ(found.pairs.contains(x) ? found.pairs.at(x) : "", y) << x;
  }
}

TEST(MappingLiteral, NamesAndOrderDoNotCount) {
  const Found found = mapped(R"(
g (float[2,4] x) => (float[2,4] y) {
  r = Relu (x)
  s = Sigmoid (x)
  t = Sigmoid (s)
  m = Mul (r, t)
  y = Add (m, x)
})",
                             R"(
h (float[2,4] in) => (float[2,4] out) {
  a = Sigmoid (in)
  b = Sigmoid (a)
  c = Relu (in)
  d = Mul (b, c)
  out = Add (in, d)
})");
  EXPECT_EQ(found.pairs, (Names{{"r", "c"}, {"s", "a"}, {"t", "b"}, {"m", "d"}, {"y", "out"}}));
  for (const auto& [name, confidence] : found.confidence) EXPECT_EQ(confidence, 1) << name;
  EXPECT_EQ(found.rounds, 1U);
}

// The example of literal.h: one side of a partition is smaller, and what pads it moves.
TEST(MappingLiteral, PseudoOperatorsPadTheSmallerSide) {
  constexpr const char* kSmall = R"(
g (float[4] x) => (float[4] y) {
  p = Relu (x)
  y = Add (p, x)
})";
  constexpr const char* kLarge = R"(
h (float[4] x) => (float[4] y) {
  u = Relu (x)
  v = Relu (u)
  y = Add (v, x)
})";
  const Found found = mapped(kSmall, kLarge);
  EXPECT_EQ(found.pairs, (Names{{"p", "v"}, {"y", "y"}}));
  EXPECT_FLOAT_EQ(static_cast<float>(found.confidence.at("p")), 0.70710678F);
  EXPECT_EQ(found.confidence.at("y"), 1);
  EXPECT_TRUE(found.advice.empty());
  EXPECT_EQ(found.bytes, 3 * 3 * sizeof(float) + 2 * 2 * sizeof(double));

  const Found turned = mapped(kLarge, kSmall);
  EXPECT_EQ(turned.pairs, (Names{{"v", "p"}, {"y", "y"}}));
  EXPECT_EQ(turned.bytes, found.bytes);

  EXPECT_EQ(mapped(kSmall, kLarge, {.rounds = 0}).pairs, (Names{{"p", "u"}, {"y", "y"}}));
}

TEST(MappingLiteral, WhatIsInOneGraphOnlyHasAdvice) {
  constexpr const char* kFused = R"(
g (float[2,4] x) => (float[2,4] y)
  <float[4,4] w = {1,2,3,4, 5,6,7,8, 9,1,2,3, 4,5,6,7}, float[4] c = {1,2,3,4}> {
  r = Relu (x)
  g = Gemm (r, w, c)
  y = Sigmoid (g)
})";
  constexpr const char* kSplit = R"(
h (float[2,4] x) => (float[2,4] y)
  <float[4,4] w = {1,2,3,4, 5,6,7,8, 9,1,2,3, 4,5,6,7}, float[4] c = {1,2,3,4}> {
  r = Relu (x)
  m = MatMul (r, w)
  a = Add (m, c)
  y = Sigmoid (a)
})";
  using Top = std::vector<std::pair<std::string, double>>;
  const Found found = mapped(kFused, kSplit);
  EXPECT_EQ(found.pairs, (Names{{"r", "r"}, {"y", "y"}}));
  ASSERT_EQ(found.advice.size(), 1U);
  EXPECT_EQ(found.advice.at("g"), (Top{{"m", 0.5}, {"a", 0.5}}));
  EXPECT_EQ(mapped(kFused, kSplit, {.top_k = 1}).advice.at("g"), (Top{{"m", 0.5}}));
  EXPECT_TRUE(mapped(kFused, kSplit, {.top_k = 0}).advice.empty());
  const Found turned = mapped(kSplit, kFused);
  EXPECT_EQ(turned.advice.size(), 2U);
  EXPECT_EQ(turned.advice.at("a"), (Top{{"g", 0.5}}));
}

// Dims are part of what an operator is.
TEST(MappingLiteral, OtherDimsAreInOneGraphOnly) {
  const Found found = mapped("g (float[4] x) => (float[4] y) { y = Relu (x) }",
                             "h (float[5] x) => (float[5] y) { y = Relu (x) }");
  EXPECT_TRUE(found.pairs.empty());
  EXPECT_TRUE(found.advice.empty());  // nothing is similar to anything
}

TEST(MappingLiteral, AnEmptyGraphHasNoPairs) {
  constexpr const char* kEmpty = "g (float[2] x) => (float[2] x) {}";
  constexpr const char* kOne = "g (float[2] x) => (float[2] y) { y = Relu (x) }";
  for (const char* a : {kEmpty, kOne}) {
    const Found found = mapped(a, kEmpty);
    EXPECT_TRUE(found.pairs.empty());
    EXPECT_TRUE(found.advice.empty());
    EXPECT_EQ(found.rounds, 1U);
  }
  EXPECT_TRUE(mapped(kEmpty, kOne).pairs.empty());
  EXPECT_EQ(mapped(kEmpty, kEmpty).bytes, 0U);
}

TEST(MappingLiteral, AFixedPointEndsTheRounds) {
  constexpr const char* kA = R"(
g (float[4] x) => (float[4] y) {
  p = Relu (x)
  q = Sigmoid (p)
  y = Add (q, x)
})";
  constexpr const char* kB = R"(
h (float[4] x) => (float[4] y) {
  n = Relu (x)
  p = Relu (n)
  q = Sigmoid (p)
  y = Add (q, x)
})";
  const Found ten = mapped(kA, kB);
  EXPECT_EQ(ten.pairs, (Names{{"p", "p"}, {"q", "q"}, {"y", "y"}}));
  EXPECT_EQ(ten.rounds, 2U);  // one moves p, one finds nothing to move
  const Found two = mapped(kA, kB, {.rounds = 2}), hundred = mapped(kA, kB, {.rounds = 100});
  EXPECT_EQ(hundred.rounds, 2U);
  EXPECT_EQ(hundred.pairs, two.pairs);
  EXPECT_EQ(hundred.confidence, two.confidence);
  // Confidence is that of the last order, also where no round is left to compare it.
  const Found one = mapped(kA, kB, {.rounds = 1});
  EXPECT_EQ(one.rounds, 1U);
  EXPECT_EQ(one.confidence, ten.confidence);
}

// Four operators of each of two types; their results have the type in the name. Each reads two of the values
// before it.
std::string drawn(std::mt19937& rng) {
  std::vector<std::string> types = {"Add", "Add", "Add", "Add", "Mul", "Mul", "Mul", "Mul"};
  std::ranges::shuffle(types, rng);
  std::vector<std::string> values = {"x"};
  std::string outputs, nodes;
  for (const std::string& type : types) {
    const std::string name = type + std::to_string(values.size());
    const std::string &first = values[rng() % values.size()], &second = values[rng() % values.size()];
    outputs += (outputs.empty() ? "float[4] " : ", float[4] ") + name;
    nodes += name + " = " + type + " (" + first + ", " + second + ")\n";
    values.push_back(name);
  }
  return "g (float[4] x) => (" + outputs + ") {\n" + nodes + "}";
}

using Edges = std::set<std::pair<std::string, std::string>>;

// Which operators feed which, by names.
Edges edges_of(const InferCase& of) {
  Labels labels;
  Subject subject(*of.model, *of.facts);
  const Side side(subject, of.model->main(), labels);
  Edges out;
  for (Index i = 0; i < side.size(); ++i)
    for (const Index v : side.inputs(i))
      if (side.is_computed(v)) out.emplace(name_of(side, side.producer(v).op), name_of(side, i));
  return out;
}

// Both sides have as many operators of each type, so that pairs say what stands at each position. A round is
// compared with all orders.
TEST(MappingLiteral, ARoundTakesTheBestOrderThatMovesLeast) {
  std::mt19937 rng(11);
  for (int i = 0; i < 20; ++i) {
    const InferCase a(drawn(rng)), b(drawn(rng));
    ASSERT_TRUE(a.model && b.model);
    const Edges of_a = edges_of(a), of_b = edges_of(b);
    for (std::size_t round = 0; round < 3; ++round) {
      const Found before = mapped(a, b, {.rounds = round}), after = mapped(a, b, {.rounds = round + 1});
      ASSERT_EQ(before.pairs.size(), 8U);
      const auto similarity = [&](const std::string& x, const std::string& y) {
        int common = 0, in_x = 0, in_y = 0;
        for (const auto& [n, m] : before.pairs) {
          const bool xn = of_a.contains({x, n}), nx = of_a.contains({n, x});
          const bool ym = of_b.contains({y, m}), my = of_b.contains({m, y});
          common += (xn && ym) + (nx && my);
          in_x += xn + nx;
          in_y += ym + my;
        }
        return common == 0 ? 0 : common / std::sqrt(in_x * in_y);
      };
      for (const auto& [x, y] : before.pairs) EXPECT_NEAR(before.confidence.at(x), similarity(x, y), 1e-6);
      for (const char type : {'A', 'M'}) {
        std::vector<std::string> xs, ys;
        for (const auto& [x, y] : before.pairs)
          if (x.front() == type) {
            xs.push_back(x);
            ys.push_back(y);
          }
        // Who stays counts far less than any difference of similarities, and more than what floats lose.
        const auto sum = [&](const auto& mate) {
          double out = 0;
          for (std::size_t k = 0; k < xs.size(); ++k)
            out += similarity(xs[k], mate(k)) + (before.pairs.at(xs[k]) == mate(k) ? 1e-4 : 0);
          return out;
        };
        const double found = sum([&](std::size_t k) { return after.pairs.at(xs[k]); });
        double best = 0;
        std::ranges::sort(ys);
        do best = std::max(best, sum([&](std::size_t k) { return ys[k]; }));
        while (std::ranges::next_permutation(ys).found);
        EXPECT_NEAR(found, best, 1e-5);
      }
    }
  }
}

// B is a chain, so that its operators tell the positions of A's.
TEST(MappingLiteral, DepthCountsTheLongestBranch) {
  std::string chain = "h (float[4] x) => (float[4] u9) {\nu0 = Relu (x)\n";
  for (int i = 1; i < 10; ++i)
    chain += "u" + std::to_string(i) + " = Relu (u" + std::to_string(i - 1) + ")\n";
  // Three Relu are before t on one branch, two on the other one. Before v there are operators, but none.
  const Found found = mapped(R"(
g (float[4] x) => (float[4] y) {
  r0 = Relu (x)
  r1 = Relu (r0)
  r2 = Relu (r1)
  s0 = Relu (x)
  s1 = Relu (s0)
  i = Add (r2, s1)
  t = Relu (i)
  q3 = Relu (r2)
  k = Tanh (q3)
  q4 = Relu (k)
  q5 = Relu (q4)
  j = Mul (t, q5)
  k0 = Tanh (x)
  k1 = Tanh (k0)
  k2 = Tanh (k1)
  k3 = Tanh (k2)
  k4 = Tanh (k3)
  v = Relu (k4)
  y = Sub (j, v)
})",
                             chain + "}", {.rounds = 0});
  const auto one_of = [&](const std::vector<std::string>& at, const std::string& name) {
    const std::string& found_at = found.pairs.at(name);
    EXPECT_TRUE(std::ranges::find(at, found_at) != at.end()) << name << " at " << found_at;
  };
  ASSERT_EQ(found.pairs.size(), 10U);
  for (const char* name : {"r0", "s0", "v"}) one_of({"u0", "u1", "u2"}, name);
  for (const char* name : {"r1", "s1"}) one_of({"u3", "u4"}, name);
  one_of({"u5"}, "r2");
  for (const char* name : {"t", "q3"}) one_of({"u6", "u7"}, name);
  one_of({"u8"}, "q4");
  one_of({"u9"}, "q5");
}

}  // namespace
}  // namespace graphopt::mapping
