// Lists of regions and their way into functions and back.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>

#include "infer_case.h"
#include "ir/verify.h"
#include "onnx/reader.h"
#include "regions/region_functions.h"
#include "regions/region_list.h"

namespace graphopt {
namespace {

std::string name_of(const Model& m, NodeId n) { return std::string(m.text(m.value(m.output(n, 0)).name)); }

std::string text_of(const Model& m, const RegionList& list) {
  std::string out;
  for (const Region& r : list.regions) {
    out += out.empty() ? "" : " | ";
    out += r.anchor ? name_of(m, r.anchor) + ":" : "-:";
    for (const NodeId n : r.members) out += " " + name_of(m, n);
    out += " <";
    for (const ValueId v : r.inputs) out += " " + std::string(m.text(m.value(v).name));
    out += " >";
    for (const ValueId v : r.outputs) out += " " + std::string(m.text(m.value(v).name));
  }
  return out;
}

// Some node of each group that stands in a cycle of the quotient; empty: there is none. `group` by node.
template <class GroupOf> std::size_t left_over(const Model& m, GraphId g, GroupOf group) {
  std::map<std::uint64_t, std::set<std::uint64_t>> readers;
  std::map<std::uint64_t, std::size_t> waiting;
  for (NodeId n = m.first_node(g); n; n = m.next_node(n)) {
    waiting.try_emplace(group(n), 0);
    for (std::size_t i = 0; i < m.input_count(n); ++i) {
      const ValueId v = m.input(n, i);
      if (v && m.value(v).def && group(m.value(v).def) != group(n))
        readers[group(m.value(v).def)].insert(group(n));
    }
  }
  for (const auto& [from, to] : readers)
    for (const std::uint64_t r : to) ++waiting[r];
  std::vector<std::uint64_t> ready;
  for (const auto& [id, n] : waiting)
    if (n == 0) ready.push_back(id);
  std::size_t done = 0;
  for (; done < ready.size(); ++done)
    for (const std::uint64_t r : readers[ready[done]])
      if (--waiting[r] == 0) ready.push_back(r);
  return waiting.size() - done;
}

// A graph of n nodes on [4,4]: elementwise ones, MatMuls, Softmaxes, Transposes; each reads what is at most
// `reach` nodes back. Without anchors there are Transposes in their place, so that many clusters grow.
std::string random_graph(std::mt19937& rng, int n, int reach, bool anchors = true) {
  const auto pick = [&rng](int k) { return static_cast<int>(rng() % static_cast<unsigned>(k)); };
  std::string nodes;
  std::vector<std::string> values{"x"};
  std::set<std::string> unread;
  for (int k = 0; k < n; ++k) {
    const auto operand = [&] {
      const int last = static_cast<int>(values.size());
      const std::string v = values[static_cast<std::size_t>(last - 1 - pick(std::min(reach, last)))];
      unread.erase(v);
      return v;
    };
    const std::string out = "v" + std::to_string(k);
    int kind = pick(10);
    if (!anchors && (kind == 7 || kind == 8)) kind = 9;
    if (kind < 4) nodes += out + " = Add (" + operand() + ", " + operand() + ")\n";
    else if (kind < 7) nodes += out + " = Neg (" + operand() + ")\n";
    else if (kind == 7) nodes += out + " = MatMul (" + operand() + ", " + operand() + ")\n";
    else if (kind == 8) nodes += out + " = Softmax (" + operand() + ")\n";
    else nodes += out + " = Transpose <perm = [1, 0]> (" + operand() + ")\n";
    values.push_back(out);
    unread.insert(out);
  }
  std::string outputs;
  for (const std::string& v : unread) outputs += (outputs.empty() ? "" : ", ") + ("float[4,4] " + v);
  return "g (float[4,4] x) => (" + outputs + ") {\n" + nodes + "}";
}

TEST(RegionList, TakesTheAnchorAndWhatWorksOnItsData) {
  InferCase c(R"(g (float[N,4] x, float[4,4] w, float[4] b) => (float[N,4] y) {
    p = Neg (x)
    m = MatMul (p, w)
    a = Add (m, b)
    r = Relu (a)
    s = Softmax (r)
    y = Exp (s)
  })");
  const RegionList list = list_regions(*c.model, *c.facts, c.model->main());
  EXPECT_EQ(text_of(*c.model, list), "m: p m a r < x w b > r | s: s y < r > y");
  EXPECT_EQ(list.launches, 2u);
  EXPECT_EQ(list.order.size(), 6u);
}

TEST(RegionList, JoinsFreeElementwiseNodesOfOneShape) {
  InferCase c(R"(g (float[N,4] x, float[4] k) => (float[N,4] y, float[4] z) {
    a = Neg (x)
    z = Exp (k)
    b = Abs (a)
    y = Mul (b, z)
  })");
  const RegionList list = list_regions(*c.model, *c.facts, c.model->main());
  EXPECT_EQ(text_of(*c.model, list), "-: a b y < x z > y");  // z has another shape: alone, it is no region
  EXPECT_EQ(list.launches, 2u);
}

TEST(RegionList, DoesNotCloseACycleThroughAnAnchor) {
  // a and c would be one cluster, but a feeds the Transpose that c reads.
  InferCase c(R"(g (float[4,4] x) => (float[4,4] c) {
    a = Neg (x)
    t = Transpose <perm = [1, 0]> (a)
    c = Add (a, t)
  })");
  const RegionList list = list_regions(*c.model, *c.facts, c.model->main());
  EXPECT_TRUE(list.regions.empty()) << text_of(*c.model, list);
  EXPECT_EQ(list.left_groups, 0u);
  EXPECT_EQ(list.launches, 3u);
}

TEST(RegionList, ReshapesAndShapesStartNothing) {
  InferCase c(R"(g (float[N,4] x) => (float[M] y) {
    s = Shape (x)
    n = ReduceProd <keepdims = 1> (s)
    r = Reshape (x, n)
    y = Neg (r)
  })");
  const RegionList list = list_regions(*c.model, *c.facts, c.model->main());
  EXPECT_TRUE(list.regions.empty());
  EXPECT_EQ(list.launches, 1u);
}

TEST(RegionList, QuotientsOfRandomGraphsHaveNoCycle) {
  // With seed 11, 600 nodes and these reaches, the search that regions grow by misses a cycle in round 85.
  std::mt19937 rng(11);
  std::size_t regions = 0, clusters = 0;
  for (int round = 0; round < 200; ++round) {
    const int reach = 2 + static_cast<int>(rng() % 40);
    const bool large = round < 120;
    InferCase c(random_graph(rng, large ? 600 : 40, large ? reach : 2 + reach / 4,
                             large ? round < 100 : round % 2 == 0));
    const Model& m = *c.model;
    const RegionList list = list_regions(*c.model, *c.facts, m.main());
    std::map<NodeId, std::uint64_t> region;
    for (std::size_t r = 0; r < list.regions.size(); ++r) {
      EXPECT_GE(list.regions[r].members.size(), 2u);
      for (const NodeId n : list.regions[r].members)
        EXPECT_TRUE(region.emplace(n, r).second) << "a node is in two regions";
      clusters += !list.regions[r].anchor;
    }
    regions += list.regions.size();
    ASSERT_EQ(list.left_groups, 0u) << "round " << round;
    const auto group = [&](NodeId n) {
      return region.contains(n) ? region.at(n) : std::uint64_t{1} << 32 | n.index();
    };
    ASSERT_EQ(left_over(m, m.main(), group), 0u) << "round " << round;
    // The order is topological, and the members of a region stand in a row.
    std::map<NodeId, std::size_t> at;
    for (std::size_t i = 0; i < list.order.size(); ++i) at[list.order[i]] = i;
    ASSERT_EQ(at.size(), m.graph(m.main()).node_count);
    for (const NodeId n : list.order)
      for (std::size_t i = 0; i < m.input_count(n); ++i) {
        const NodeId def = m.value(m.input(n, i)).def;
        ASSERT_TRUE(!def || at[def] < at[n]);
      }
    for (const Region& r : list.regions)
      for (std::size_t i = 0; i < r.members.size(); ++i) ASSERT_EQ(at[r.members[i]], at[r.members[0]] + i);
  }
  EXPECT_GT(regions, 1000u);
  EXPECT_GT(clusters, 20u);
}

TEST(RegionFunctions, EqualBodiesShareOneFunctionWhateverTheOrderOfNodes) {
  // The two blocks are one up to names; the nodes of the second stand in another order.
  InferCase c(R"(g (float[4,4] x, float[4,4] w, float[4,4] k) => (float[4,4] y) {
    m = MatMul (x, w)
    p = Sigmoid (m)
    q = Tanh (m)
    a = Mul (q, p)
    s = Softmax (a)
    m2 = MatMul (s, k)
    q2 = Tanh (m2)
    p2 = Sigmoid (m2)
    a2 = Mul (q2, p2)
    y = Softmax (a2)
  })");
  Model& m = *c.model;
  const std::vector<std::string> names =
      make_region_functions(m, m.main(), list_regions(m, *c.facts, m.main()));
  ASSERT_EQ(names.size(), 2u);
  EXPECT_EQ(names[0], names[1]);
  EXPECT_EQ(m.function_count(), 1u);
  EXPECT_FALSE(verify(m));
  EXPECT_EQ(m.graph(m.main()).node_count, 4u);
}

TEST(RegionFunctions, BodiesThatDifferAnywhereAreTwo) {
  const char* const variants[] = {
      "b = LeakyRelu <alpha = 0.5> (n)\n z = Sub (b, w)",   // another attribute
      "b = LeakyRelu <alpha = 0.25> (n)\n z = Sub (w, b)",  // other wiring
      "b = LeakyRelu <alpha = 0.25> (n)\n z = Sub (b, b)",  // an operand twice
      "b = LeakyRelu <alpha = 0.25> (n)\n z = Add (b, w)",  // another operator
  };
  for (const std::string variant : variants) {
    InferCase c(R"(g (float[4,4] x, float[4,4] w) => (float[4,4] y, float[4,4] z) {
      m = MatMul (x, x)
      a = LeakyRelu <alpha = 0.25> (m)
      y = Sub (a, w)
      s = Softmax (y)
      n = MatMul (s, s)
      )" + variant +
                "\n}");
    Model& m = *c.model;
    const std::vector<std::string> names =
        make_region_functions(m, m.main(), list_regions(m, *c.facts, m.main()));
    ASSERT_EQ(names.size(), 2u) << variant;
    EXPECT_NE(names[0], names[1]) << variant;
  }
}

TEST(RegionFunctions, ComeApartAgain) {
  std::mt19937 rng(3);
  for (int round = 0; round < 30; ++round) {
    InferCase c(random_graph(rng, 60, 6));
    Model& m = *c.model;
    const std::uint32_t nodes = m.graph(m.main()).node_count;
    const RegionList list = list_regions(m, *c.facts, m.main());
    const std::string before = text_of(m, list);
    const std::size_t functions = make_region_functions(m, m.main(), list).size();
    ASSERT_FALSE(verify(m));
    ASSERT_EQ(inline_region_functions(m), functions);
    ASSERT_FALSE(verify(m));
    EXPECT_EQ(m.graph(m.main()).node_count, nodes);
    for (std::size_t f = 0; f < m.function_count(); ++f)
      EXPECT_FALSE(m.graph(m.function(FunctionId{f}).body).alive);
    // And once more, under the names that were there already.
    Inference again(m, {});
    again.run();
    const RegionList second = list_regions(m, again, m.main());
    EXPECT_EQ(second.regions.size(), list.regions.size());
    EXPECT_EQ(make_region_functions(m, m.main(), second).size(), functions);
    ASSERT_FALSE(verify(m));
  }
}

}  // namespace
}  // namespace graphopt
