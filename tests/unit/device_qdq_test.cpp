// Whether a node is inside of a QDQ group, as the condition "qdq" of a rule sees it.

#include "devices/qdq_group.h"

#include <gtest/gtest.h>

#include <string>

#include "device_case.h"
#include "onnx/reader.h"  // of device_case.h

namespace graphopt {
namespace {

const std::string kInside = R"("rules": [{"op": "Add", "qdq": true}, {"op": "Clip", "qdq": true},
  {"op": "Relu", "qdq": true}, {"op": "Exp", "qdq": true}, {"op": "Gather", "qdq": true},
  {"op": "QuantizeLinear", "qdq": true}, {"op": "DequantizeLinear", "qdq": true}])";
const std::string kScale = "<float s = {0.5}, uint8 z = {0}> ";

// What the rules say about the nodes of these results: "yes" or the text after "outside of a QDQ group: ".
std::string inside(const std::string& graph, const std::string& results) {
  DeviceCase c(kInside, graph);
  std::string out;
  for (std::size_t at = 0; at < results.size();) {
    const std::size_t end = std::min(results.find(' ', at), results.size());
    std::string said = c.says(results.substr(at, end - at));
    const std::string outside = "outside of a QDQ group: ";
    if (const std::size_t p = said.find(outside); p != std::string::npos)
      said = said.substr(p + outside.size());
    out += (out.empty() ? "" : "; ") + said;
    at = end + 1;
  }
  return out;
}

TEST(DeviceQdq, EveryNodeOfAGroup) {
  EXPECT_EQ(inside("g (uint8[2] x, uint8[2] w) => (uint8[2] y) " + kScale + R"({
    a = DequantizeLinear (x, s, z)  b = DequantizeLinear (w, s, z)  c = Add (a, b)
    y = QuantizeLinear (c, s, z) })",
                   "a b c y"),
            "yes; yes; yes; yes");
  // With an activation between.
  EXPECT_EQ(inside("g (uint8[2] x, uint8[2] w) => (uint8[2] y) " + kScale + R"({
    a = DequantizeLinear (x, s, z)  b = DequantizeLinear (w, s, z)  c = Add (a, b)  d = Relu (c)
    y = QuantizeLinear (d, s, z) })",
                   "a c d y"),
            "yes; yes; yes; yes");
}

TEST(DeviceQdq, FloatOperandsAreOutside) {
  // The other operand is float: an integer kernel cannot take it.
  EXPECT_EQ(inside("g (uint8[2] x, float[2] w) => (uint8[2] y) " + kScale + R"({
    a = DequantizeLinear (x, s, z)  c = Add (a, w)  y = QuantizeLinear (c, s, z) })",
                   "a c y"),
            "no operator that reads it is inside of a QDQ group; "
            "float input 1 'w' is not made by DequantizeLinear; "
            "float input 1 'w' is not made by DequantizeLinear");
  EXPECT_EQ(inside("g (uint8[2] x) => (uint8[2] y) <float s = {0.5}, uint8 z = {0}, float[2] w = {1, 2}> {"
                   R"(
    a = DequantizeLinear (x, s, z)  c = Add (a, w)  y = QuantizeLinear (c, s, z) })",
                   "c"),
            "float input 1 'w' is not made by DequantizeLinear");
  EXPECT_EQ(inside("g (float[2] x, float[2] w) => (float[2] y) { y = Add (x, w) }", "y"),
            "its results do not all go to QuantizeLinear, and to nothing else");
  EXPECT_EQ(
      inside("g (float[2] x) => (uint8[2] y) " + kScale + "{ c = Exp (x)  y = QuantizeLinear (c, s, z) }",
             "c y"),
      "float input 0 'x' is not made by DequantizeLinear; "
      "float input 0 'x' is not made by DequantizeLinear");
}

TEST(DeviceQdq, ScalarConstantsAndIndicesMayStay) {
  EXPECT_EQ(inside("g (uint8[2] x) => (uint8[2] y) <float s = {0.5}, uint8 z = {0}, float six = {6}> {"
                   R"(
    a = DequantizeLinear (x, s, z)  c = Clip (a, s, six)  y = QuantizeLinear (c, s, z) })",
                   "c"),
            "yes");
  EXPECT_EQ(inside("g (uint8[2] x, int64[3] i) => (uint8[3] y) " + kScale + R"({
    a = DequantizeLinear (x, s, z)  c = Gather (a, i)  y = QuantizeLinear (c, s, z) })",
                   "c"),
            "yes");
}

TEST(DeviceQdq, AnotherReaderOfTheResult) {
  EXPECT_EQ(inside("g (uint8[2] x) => (uint8[2] y, float[2] c) " + kScale + R"({
    a = DequantizeLinear (x, s, z)  c = Exp (a)  y = QuantizeLinear (c, s, z) })",
                   "a c y"),
            "no operator that reads it is inside of a QDQ group; "
            "its results do not all go to QuantizeLinear, and to nothing else; "
            "its results do not all go to QuantizeLinear, and to nothing else");
  // Nothing is between.
  EXPECT_EQ(inside("g (uint8[2] x) => (uint8[2] y) " + kScale +
                       "{ a = DequantizeLinear (x, s, z)  y = QuantizeLinear (a, s, z) }",
                   "y"),
            "no operator is between DequantizeLinear and QuantizeLinear");
}

TEST(DeviceQdq, FalseIsForNodesOutside) {
  const std::string rules = R"("rules": [{"op": "Exp", "qdq": false}])";
  EXPECT_EQ(DeviceCase(rules, "g (float[2] x) => (float[2] y) { y = Exp (x) }").says("y"), "yes");
  EXPECT_EQ(DeviceCase(rules, "g (uint8[2] x) => (uint8[2] y) " + kScale + R"({
              a = DequantizeLinear (x, s, z)  c = Exp (a)  y = QuantizeLinear (c, s, z) })")
                .says("c"),
            "qdq: Exp rule 1: inside of a QDQ group");
}

TEST(DeviceQdq, NodesWithManyNeighboursAreInNoGroup) {
  std::string inputs, operands;
  for (std::size_t i = 0; i < 1100; ++i) operands += (i == 0 ? "" : ", ") + std::string("a");
  DeviceCase c(R"("rules": [{"op": "Concat", "qdq": true}])",
               "g (uint8[2] x) => (uint8[N] y) " + kScale +
                   "{ a = DequantizeLinear (x, s, z)  c = Concat <axis = 0> (" + operands +
                   ")  y = QuantizeLinear (c, s, z) }");
  EXPECT_EQ(
      c.says("c"),
      "qdq: Concat rule 1: outside of a QDQ group: it has too many operands and readers to be looked at");
}

}  // namespace
}  // namespace graphopt
