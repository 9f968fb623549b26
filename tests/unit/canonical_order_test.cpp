// The canonical order depends on the structure of a graph alone: not on the order of its nodes in the file,
// not on inner names.

#include "ir/canonical_order.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "infer_case.h"
#include "onnx/reader.h"

namespace graphopt {
namespace {

using Names = std::vector<std::string>;

// Returns the first results of the main graph's nodes, in canonical order.
Names order_of(const std::string& text) {
  const InferCase given(text);
  const Model& m = *given.model;
  CanonicalOrder order(m);
  order.compute(m.main());
  Names out;
  for (const std::uint32_t i : order.order())
    out.emplace_back(m.text(m.value(m.output(order.nodes()[i], 0)).name));
  return out;
}

Names order_of_nodes(const std::string& head, const Names& nodes) {
  std::string text = head + " {\n";
  for (const std::string& n : nodes) text += n + "\n";
  return order_of(text + "}");
}

TEST(CanonicalOrder, IsThatOfEveryOrderOfTheFile) {
  const std::string head = "g (float[2] x, float[2] w) => (float[2] y, float[2] z)";
  const Names expected = order_of_nodes(
      head, {"a = Abs (x)", "b = Neg (x)", "c = Abs (w)", "d = Add (a, b)", "y = Mul (d, c)", "z = Exp (b)"});
  EXPECT_EQ(expected.size(), 6u);
  EXPECT_EQ(order_of_nodes(head, {"c = Abs (w)", "b = Neg (x)", "z = Exp (b)", "a = Abs (x)",
                                  "d = Add (a, b)", "y = Mul (d, c)"}),
            expected);
  EXPECT_EQ(order_of_nodes(head, {"b = Neg (x)", "a = Abs (x)", "d = Add (a, b)", "z = Exp (b)",
                                  "c = Abs (w)", "y = Mul (d, c)"}),
            expected);
}

TEST(CanonicalOrder, DoesNotReadInnerNames) {
  const std::string head = "g (float[2] x) => (float[2] y)";
  const Names one = order_of_nodes(
      head, {"a = Abs (x)", "b = Neg (x)", "c = Sqrt (x)", "d = Add (a, b)", "y = Mul (d, c)"});
  const Names other = order_of_nodes(
      head, {"c = Abs (x)", "a = Neg (x)", "b = Sqrt (x)", "e = Add (c, a)", "y = Mul (e, b)"});
  const auto renamed = [](Names names) {
    for (std::string& n : names) n = n == "a" ? "c" : n == "b" ? "a" : n == "c" ? "b" : n == "d" ? "e" : n;
    return names;
  };
  EXPECT_EQ(renamed(one), other);
}

TEST(CanonicalOrder, PutsNodesByDepthFirst) {
  const Names order = order_of_nodes(
      "g (float[2] x) => (float[2] y)",
      {"a = Abs (x)", "b = Abs (a)", "c = Abs (b)", "d = Neg (x)", "e = Add (c, d)", "y = Neg (e)"});
  EXPECT_LT(std::ranges::find(order, "d"), std::ranges::find(order, "b")) << "d reads inputs only";
  EXPECT_EQ(order.back(), "y");
}

// A constant is an initializer here and a node there: models of IR version 3 are saved with nodes.
TEST(CanonicalOrder, IsThatWithInitializersForConstants) {
  const Names nodes = {"a = Abs (x)", "b = Add (x, k)", "c = Neg (a)", "d = Mul (b, c)", "y = Add (d, j)"};
  const std::string head = "g (float[2] x) => (float[2] y)";
  const Names expected = order_of_nodes(head + " <float[1] k = {1}, float[1] j = {2}>", nodes);
  Names all = {"k = Constant <value = float[1] {1}> ()", "j = Constant <value = float[1] {2}> ()"};
  all.insert(all.end(), nodes.begin(), nodes.end());
  Names order = order_of_nodes(head, all);
  std::erase_if(order, [](const std::string& n) { return n == "k" || n == "j"; });
  EXPECT_EQ(order, expected);
}

// Nodes of one depth stand in the order of the outputs that they lead to, then of the slots that read them.
TEST(CanonicalOrder, PutsNodesOfOneDepthByOutputThenSlot) {
  EXPECT_EQ(order_of_nodes("g (float[2] x) => (float[2] y, float[2] z)", {"z = Abs (x)", "y = Abs (x)"}),
            (Names{"y", "z"}));
  EXPECT_EQ(
      order_of_nodes("g (float[2] x) => (float[2] y)", {"b = Neg (x)", "a = Abs (x)", "y = Sub (a, b)"}),
      (Names{"a", "b", "y"}));
  EXPECT_EQ(
      order_of_nodes("g (float[2] x) => (float[2] y)", {"b = Neg (x)", "a = Abs (x)", "y = Sub (b, a)"}),
      (Names{"b", "a", "y"}));
}

// Nodes that feed the same slots of different nodes are told apart by the first walk that reaches them.
TEST(CanonicalOrder, TellsNodesApartByTheirPlace) {
  const auto same_both_ways = [](const std::string& head, const std::string& one, const std::string& other,
                                 const Names& rest) {
    Names forward{one, other}, backward{other, one};
    forward.insert(forward.end(), rest.begin(), rest.end());
    backward.insert(backward.end(), rest.begin(), rest.end());
    EXPECT_EQ(order_of_nodes(head, forward), order_of_nodes(head, backward)) << one << "\n" << other;
  };
  const std::string head = "g (float[2] x, float[2] w) => (float[2] y)";
  const Names sum{"c = Add (a, b)", "d = Add (b, a)", "y = Mul (c, d)"};
  same_both_ways(head, "a = Abs (x)", "b = Neg (x)", sum);
  same_both_ways(head, "a = Abs (x)", "b = Abs (w)", sum);
  same_both_ways(head, "a = Elu <alpha = 1.0> (x)", "b = Elu <alpha = 2.0> (x)", sum);
  same_both_ways("g (float[2] x) => (float[2] y) <float[2] p = {1, 2}, float[2] q = {2, 1}>",
                 "a = Add (x, p)", "b = Add (x, q)", sum);
  same_both_ways("g (float[2] x, bool k) => (float[2] y)",
                 "a = If (k) <then_branch = t () => (float[2] p) { p = Abs (x) }, else_branch = e () => "
                 "(float[2] q) { q = "
                 "Neg (x) }>",
                 "b = If (k) <then_branch = t () => (float[2] p) { p = Neg (x) }, else_branch = e () => "
                 "(float[2] q) { q = "
                 "Abs (x) }>",
                 sum);
}

// Values that bodies read are visited from the bodies' outputs, in the order of the attributes' names.
TEST(CanonicalOrder, ReadsBodiesFromTheirOutputs) {
  const std::string head = "g (float[2] x, bool k) => (float[2] y)";
  const std::string branches =
      "y = If (k) <then_branch = t () => (float[2] p) { q = Neg (b) p = Mul (q, a) }, else_branch = e () => "
      "(float[2] r) { r = Neg (c) }>";
  const std::string other =
      "y = If (k) <else_branch = e () => (float[2] r) { r = Neg (c) }, then_branch = t () => (float[2] p) { "
      "q = "
      "Neg (b) p = Mul (q, a) }>";
  const Names expected{"c", "b", "a", "y"};
  EXPECT_EQ(order_of_nodes(head, {"a = Abs (x)", "b = Abs (x)", "c = Abs (x)", branches}), expected);
  EXPECT_EQ(order_of_nodes(head, {"c = Abs (x)", "b = Abs (x)", "a = Abs (x)", other}), expected);
}

// Nodes that no output needs come after the others of their depth, ordered by what they are.
TEST(CanonicalOrder, PutsUnneededNodesLast) {
  const std::string head = "g (float[2] x, float[2] w) => (float[2] y)";
  const Names one = order_of_nodes(
      head, {"a = Exp (x)", "b = Exp (w)", "c = Neg (x)", "d = Abs (c)", "e = Abs (a)", "y = Neg (w)"});
  const Names two = order_of_nodes(
      head, {"c = Neg (x)", "y = Neg (w)", "b = Exp (w)", "a = Exp (x)", "e = Abs (a)", "d = Abs (c)"});
  EXPECT_EQ(one, two);
  EXPECT_EQ(one[0], "y");
}

// Nodes that nothing tells apart keep the order of the file.
TEST(CanonicalOrder, KeepsTheFilesOrderOfEqualNodes) {
  const std::string head = "g (float[2] x) => (float[2] y)";
  const auto first_of_both = [&](const Names& nodes) {
    for (const std::string& n : order_of_nodes(head, nodes))
      if (n != "y") return n;
    return std::string{};
  };
  EXPECT_EQ(first_of_both({"a = Abs (x)", "b = Abs (x)", "y = Neg (x)"}), "a");
  EXPECT_EQ(first_of_both({"b = Abs (x)", "a = Abs (x)", "y = Neg (x)"}), "b");
}

TEST(CanonicalOrder, CapturesCountAsOperands) {
  const InferCase given(R"(g (float[2] x, bool k) => (float[2] y) {
    a = Abs (x)
    b = Neg (a)
    y = If (k) <then_branch = t () => (float[2] p) { p = Add (b, b) },
                else_branch = e () => (float[2] q) { q = Mul (a, x) }>
  })");
  const Model& m = *given.model;
  CanonicalOrder order(m);
  order.compute(m.main());
  const NodeId branch = m.value(given.value("y")).def;
  Names captured;
  for (const auto& [node, v] : order.captures_of(branch)) {
    EXPECT_EQ(node, branch);
    captured.emplace_back(m.text(m.value(v).name));
  }
  std::ranges::sort(captured);
  EXPECT_EQ(captured, (Names{"a", "b", "x"}));
  EXPECT_TRUE(order.captures_of(m.value(given.value("b")).def).empty());
  EXPECT_EQ(order.order().back(), 2u) << "the If is deeper than what its bodies read";
}

}  // namespace
}  // namespace graphopt
