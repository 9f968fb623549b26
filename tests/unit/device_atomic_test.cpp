// The atomic groups of a profile, a kind at a time.

#include "devices/atomic.h"

#include <gtest/gtest.h>

#include <string>

#include "device_case.h"
#include "onnx/reader.h"  // of device_case.h

namespace graphopt {
namespace {

// The groups as results of their nodes: "a b; c d".
std::string groups(const std::string& atomic, const std::string& graph) {
  DeviceCase c("\"atomic\": [" + atomic + "]", graph);
  std::string out;
  for (const AtomicGroup& group : atomic_groups(*c.model, *c.facts, c.profile)) {
    std::string nodes;
    for (const NodeId n : group.nodes)
      nodes +=
          (nodes.empty() ? "" : " ") + std::string(c.model->text(c.model->value(c.model->output(n, 0)).name));
    out += (out.empty() ? "" : "; ") + nodes;
  }
  return out;
}

std::string kind(const std::string& name) { return R"({"kind": ")" + name + "\"}"; }

const std::string kScale = "<float s = {0.5}, uint8 z = {0}> ";

TEST(DeviceAtomic, QuantizedOperator) {
  EXPECT_EQ(groups(kind("qdq"), "g (uint8[2] x, uint8[2] w) => (uint8[2] y) " + kScale + R"({
    a = DequantizeLinear (x, s, z)  b = DequantizeLinear (w, s, z)  c = Add (a, b)
    y = QuantizeLinear (c, s, z) })"),
            "a b c y");
  // With an activation between; a chain of two operators is two groups.
  EXPECT_EQ(groups(kind("qdq"), "g (uint8[2] x) => (uint8[2] y) " + kScale + R"({
    a = DequantizeLinear (x, s, z)  b = Exp (a)  c = Relu (b)  d = QuantizeLinear (c, s, z)
    e = DequantizeLinear (d, s, z)  f = Abs (e)  y = QuantizeLinear (f, s, z) })"),
            "a b c d; e f y");
}

TEST(DeviceAtomic, NoQuantizedOperator) {
  // The result is read in full precision as well.
  EXPECT_EQ(groups(kind("qdq"), "g (uint8[2] x) => (uint8[2] y, float[2] b) " + kScale + R"({
    a = DequantizeLinear (x, s, z)  b = Exp (a)  y = QuantizeLinear (b, s, z) })"),
            "");
  // Nothing is dequantized; nothing is quantized; nothing lies between.
  EXPECT_EQ(groups(kind("qdq"), "g (float[2] x) => (uint8[2] y) " + kScale +
                                    "{ b = Exp (x)  y = QuantizeLinear (b, s, z) }"),
            "");
  EXPECT_EQ(groups(kind("qdq"), "g (uint8[2] x) => (float[2] y) " + kScale +
                                    "{ b = DequantizeLinear (x, s, z)  y = Exp (b) }"),
            "");
  EXPECT_EQ(groups(kind("qdq"), "g (uint8[2] x) => (uint8[2] y) " + kScale +
                                    "{ b = DequantizeLinear (x, s, z)  y = QuantizeLinear (b, s, z) }"),
            "");
}

TEST(DeviceAtomic, SharedDequantizeJoinsItsReaders) {
  EXPECT_EQ(groups(kind("qdq"), "g (uint8[2] x) => (uint8[2] y, uint8[2] z2) " + kScale + R"({
    a = DequantizeLinear (x, s, z)  b = Exp (a)  y = QuantizeLinear (b, s, z)
    c = Abs (a)  z2 = QuantizeLinear (c, s, z) })"),
            "a b y c z2");
}

TEST(DeviceAtomic, Chains) {
  const std::string rule = R"({"kind": "chain", "ops": ["MatMul", "Add", "Relu"]})";
  EXPECT_EQ(groups(rule, R"(g (float[2,2] x) => (float[2,2] y)
    { a = MatMul (x, x)  b = Add (a, x)  c = Relu (b)  y = Exp (c) })"),
            "a b c");
  // A second reader, or an output, ends the chain.
  EXPECT_EQ(groups(rule, R"(g (float[2,2] x) => (float[2,2] y, float[2,2] b)
    { a = MatMul (x, x)  b = Add (a, x)  c = Relu (b)  y = Exp (c) })"),
            "");
  EXPECT_EQ(groups(rule, R"(g (float[2,2] x) => (float[2,2] y)
    { a = MatMul (x, x)  b = Add (a, a)  y = Relu (b) })"),
            "");
  // Each node is in one chain: four Adds are two chains of two.
  EXPECT_EQ(groups(R"({"kind": "chain", "ops": ["Add", "ai.onnx::Add"]})", R"(g (float[2] x) => (float[2] y)
    { a = Add (x, x)  b = Add (a, x)  c = Add (b, x)  y = Add (c, x) })"),
            "a b; c y");
  EXPECT_EQ(groups(R"({"kind": "chain", "ops": ["own::Thing", "Add"]})", R"(g (float[2] x) => (float[2] y)
    { a = own.Thing (x)  b = Add (a, x)  c = Abs (b)  y = Add (c, x) })"),
            "a b");
}

TEST(DeviceAtomic, NamedNodes) {
  const std::string graph = R"(g (float[2] x) => (float[2] y)
    { [one] a = Abs (x)  [two] b = Exp (a)  [three] y = Neg (b) })";
  EXPECT_EQ(groups(R"({"kind": "nodes", "names": ["three", "one", "missing"]})", graph), "a y");
  EXPECT_EQ(groups(R"({"kind": "nodes", "names": ["one", "missing"]})", graph), "");
}

TEST(DeviceAtomic, SequencesAndOptionals) {
  const std::string list = R"(g (float[2] x, int64 i, bool t) => (float[2] y)
    { s = SequenceConstruct (x, x)  r = SequenceInsert (s, x)  a = SequenceAt (r, i)
      y = If (t) <then_branch = th () => (float[2] b) { b = SequenceAt (s, i) },
                  else_branch = el () => (float[2] c) { c = Abs (x) }> })";
  EXPECT_EQ(groups(kind("sequence"), list), "s r a y");  // the If reads the sequence inside
  EXPECT_EQ(groups(kind("optional"), list), "");
  EXPECT_EQ(groups(kind("optional"), R"(g (float[2] x) => (bool y)
    { o = Optional (x)  a = Abs (x)  y = OptionalHasElement (o) })"),
            "o y");
}

const std::string kState = R"(g (float[1,N,4] past_key_values_0_key, float[1,1,4] k, float[1,1,4] q) =>
  (float[1,M,4] present_0_key, float[1,1,M] y)
  { c = Concat <axis = 1> (past_key_values_0_key, k)  present_0_key = Identity (c)
    t = Transpose <perm = [0, 2, 1]> (c)  y = MatMul (q, t) })";

TEST(DeviceAtomic, States) {
  EXPECT_EQ(groups(kind("state"), kState), "c present_0_key");
  DeviceCase c("", kState);
  const std::vector<StatePair> pairs = state_pairs(*c.model, *c.facts);
  ASSERT_EQ(pairs.size(), 1U);
  EXPECT_EQ(pairs[0].input, 0U);
  EXPECT_EQ(pairs[0].output, 0U);
  const auto none = [](const std::string& graph) {
    DeviceCase d("", graph);
    return state_pairs(*d.model, *d.facts).size();
  };
  EXPECT_EQ(none("g (float[2] past_a) => (float[2] present_a) { present_a = Abs (past_a) }"), 1U);
  EXPECT_EQ(none("g (float[2] past_key_0) => (float[2] present_key_0) { present_key_0 = Abs (past_key_0) }"),
            1U);
  EXPECT_EQ(none("g (float[2] past_a) => (float[2] present_b) { present_b = Abs (past_a) }"), 0U);
  EXPECT_EQ(none("g (float[2] past_a) => (int64[1] present_a) { present_a = Shape (past_a) }"), 0U);
  EXPECT_EQ(none("g (float[2] past_a) => (float[2,1] present_a) <int64[1] x = {1}> "
                 "{ present_a = Unsqueeze (past_a, x) }"),
            0U);
}

TEST(DeviceAtomic, InTheOrderOfTheRules) {
  EXPECT_EQ(
      groups(R"({"kind": "nodes", "names": ["n2", "n3"]}, {"kind": "chain", "ops": ["Abs", "Exp"]})",
             R"(g (float[2] x) => (float[2] y) { [n1] a = Abs (x)  [n2] b = Exp (a)  [n3] y = Neg (b) })"),
      "b y; a b");
}

}  // namespace
}  // namespace graphopt
