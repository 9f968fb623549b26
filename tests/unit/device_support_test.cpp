// Each condition of a rule, met and not met, with what is not known; and which refusal is told.

#include "devices/support.h"

#include <gtest/gtest.h>

#include <string>

#include "device_case.h"
#include "onnx/reader.h"  // of device_case.h

namespace graphopt {
namespace {

const std::string kRelu = "g (float[2,3] x) => (float[2,3] y) { y = Relu (x) }";
const std::string kAdd = "g (float[2,3] a, float[2,3] b) => (float[2,3] y) { y = Add (a, b) }";
const std::string kConv = R"(g (float[1,3,8,8] x) => (float[1,2,8,8] y)
  <float[2,3,1,1] w = {1, 1, 1, 1, 1, 1}> { y = Conv (x, w) })";
const std::string kConvComputed =
    "g (float[1,3,8,8] x, float[4,3,3,3] w) => (float[1,4,6,6] y) { y = Conv (x, w) }";

TEST(DeviceSupport, NeedsARule) {
  EXPECT_EQ(says(R"({"op": "Relu"})", kRelu), "yes");
  EXPECT_EQ(says(R"({"op": "Add"})", kRelu), "no_rule: no rule for Relu");
  EXPECT_EQ(says(R"({"op": "Relu", "domain": "ai.onnx"})", kRelu), "yes");
  EXPECT_EQ(says(R"({"op": "Relu", "domain": "own"})", kRelu), "no_rule: no rule for Relu");
  EXPECT_EQ(says(R"({"op": "Gelu"})", "g (float[2] x) => (float[2] y) { y = com.microsoft.Gelu (x) }"),
            "no_rule: no rule for com.microsoft::Gelu");
}

TEST(DeviceSupport, SaysWhoLeftAnOperatorOut) {
  const auto with = [](const std::string& omitted) {
    return DeviceCase("\"rules\": [], \"omitted\": [" + omitted + "]", kRelu).says("y");
  };
  EXPECT_EQ(with(""), "no_rule: no rule for Relu: it is not in the profile's sources");
  EXPECT_EQ(with(R"({"op": "Relu", "by": "source"})"), "no_rule: no rule for Relu: the source refuses it");
  EXPECT_EQ(with(R"({"op": "Relu", "domain": "ai.onnx", "by": "converter", "note": "a reason"})"),
            "no_rule: no rule for Relu: the converter left it out (a reason)");
  // A node with bodies needs no rule, but may be left out.
  const std::string branch = R"(g (bool c, float[2] x) => (float[2] y)
    { y = If (c) <then_branch = t () => (float[2] a) { a = Relu (x) },
                  else_branch = e () => (float[2] b) { b = Relu (x) }> })";
  const std::string whole = R"("control_flow": "whole", "rules": [{"op": "Relu"}])";
  EXPECT_EQ(DeviceCase(whole, branch).says("y"), "yes");
  EXPECT_EQ(DeviceCase(whole + R"(, "omitted": [{"op": "If", "by": "converter"}])", branch).says("y"),
            "no_rule: no rule for If: the converter left it out");
  EXPECT_EQ(with(R"({"op": "Relu", "domain": "own", "by": "converter"})"),
            "no_rule: no rule for Relu: it is not in the profile's sources");
}

TEST(DeviceSupport, OpsetIsThatOfTheSchema) {
  // Relu changed in 1, 6, 13, 14; the model imports 17.
  EXPECT_EQ(says(R"({"op": "Relu", "opset": [14, 14]})", kRelu), "yes");
  EXPECT_EQ(says(R"({"op": "Relu", "opset": [14, null]})", kRelu), "yes");
  EXPECT_EQ(says(R"({"op": "Relu", "opset": [15, null]})", kRelu),
            "opset: Relu rule 1: the operator is that of opset 14, allowed: 15 or more");
  EXPECT_EQ(says(R"({"op": "Relu", "opset": [6, 13]})", kRelu),
            "opset: Relu rule 1: the operator is that of opset 14, allowed: 6 to 13");
  // Conv changed in 1, 11 and 22.
  EXPECT_EQ(says(R"({"op": "Conv", "opset": [11, 11]})", kConv), "yes");
  // An operator of a domain that onnx does not have: the version that the model imports.
  const std::string own = "g (float[2] x) => (float[2] y) { y = own.Thing (x) }";
  EXPECT_EQ(says(R"({"op": "Thing", "domain": "own", "opset": [3, 3]})", own), "yes");
  EXPECT_EQ(says(R"({"op": "Thing", "domain": "own", "opset": [1, 2]})", own),
            "opset: own::Thing rule 1: the operator is that of opset 3, allowed: 1 to 2");
}

TEST(DeviceSupport, Presence) {
  const std::string clip = "g (float[2] x, float high) => (float[2] y) { y = Clip (x, , high) }";
  const auto rule = [](const std::string& index, const std::string& presence) {
    return R"({"op": "Clip", "inputs": [{"index": )" + index + R"(, "presence": ")" + presence + "\"}]}";
  };
  EXPECT_EQ(says(rule("1", "absent"), clip), "yes");  // an empty optional operand
  EXPECT_EQ(says(rule("1", "optional"), clip), "yes");
  EXPECT_EQ(says(rule("1", "required"), clip), "presence: Clip rule 1: input 1 is missing");
  EXPECT_EQ(says(rule("2", "required"), clip), "yes");
  EXPECT_EQ(says(rule("2", "absent"), clip), "presence: Clip rule 1: input 2 'high' must be absent");
  EXPECT_EQ(says(rule("7", "required"), clip), "presence: Clip rule 1: input 7 is missing");
  EXPECT_EQ(says(rule("7", "absent"), clip), "yes");
  EXPECT_EQ(says(rule("\"rest\"", "required"), clip), "presence: Clip rule 1: input 1 is missing");
  EXPECT_EQ(says(rule("\"rest\"", "absent"), clip),
            "presence: Clip rule 1: input 0 'x' must be absent (and 1 more)");
  const std::string pool = R"(g (float[1,2,4,4] x) => (float[1,2,3,3] y, int64[1,2,3,3] at)
    { y, at = MaxPool <kernel_shape = [2, 2]> (x) })";
  EXPECT_EQ(says(R"({"op": "MaxPool", "outputs": [{"index": 1, "presence": "absent"}]})", pool),
            "presence: MaxPool rule 1: output 1 'at' must be absent");
}

TEST(DeviceSupport, Dtypes) {
  const auto rule = [](const std::string& types) {
    return R"({"op": "Relu", "inputs": [{"index": 0, "dtypes": [)" + types + "]}]}";
  };
  EXPECT_EQ(says(rule("\"FLOAT16\", \"FLOAT\""), kRelu), "yes");
  EXPECT_EQ(says(rule("\"FLOAT16\", \"INT8\""), kRelu),
            "dtype: Relu rule 1: input 0 'x' is float, allowed: float16, int8");
  EXPECT_EQ(says(rule(""), kRelu), "dtype: Relu rule 1: input 0 'x' is float, allowed: none");
  EXPECT_EQ(says(R"({"op": "Relu", "outputs": [{"index": "rest", "dtypes": ["INT8"]}]})", kRelu),
            "dtype: Relu rule 1: output 0 'y' is float, allowed: int8");
  const std::string unknown = "g (float[2] x) => (float[2] y) { z = own.Thing (x) y = Relu (z) }";
  EXPECT_EQ(says(rule("\"FLOAT\""), unknown),
            "dtype: Relu rule 1: the element type of input 0 'z' is not known");
  const std::string list = R"(g (float[2] x) => (float[2] y)
    { i = Constant <value = int64 {0}> () s = SequenceConstruct (x) y = SequenceAt (s, i) })";
  EXPECT_EQ(says(R"({"op": "SequenceAt", "inputs": [{"index": 0, "dtypes": ["FLOAT"]}]})", list),
            "dtype: SequenceAt rule 1: input 0 's' is a sequence");
  EXPECT_EQ(says(R"({"op": "SequenceAt"})", list), "yes");
}

TEST(DeviceSupport, DefaultsHoldWhereAnOperandHasNone) {
  const std::string shape = "g (float[2,3] x) => (int64[2] y) { y = Shape (x) }";
  const std::string rest = R"("dtypes": ["FLOAT"], "rules": [{"op": "Shape")";
  EXPECT_EQ(DeviceCase(rest + "}]", shape).says("y"),
            "dtype: Shape rule 1: output 0 'y' is int64, allowed: float");
  EXPECT_EQ(DeviceCase(rest + R"(, "outputs": [{"index": 0, "dtypes": ["INT64"]}]}])", shape).says("y"),
            "yes");
  EXPECT_EQ(DeviceCase(R"("ranks": [2, 4], "rules": [{"op": "Shape"}])", shape).says("y"),
            "rank: Shape rule 1: output 0 'y' has rank 1, allowed: 2 to 4");
  EXPECT_EQ(
      DeviceCase(R"("ranks": [2, 4], "rules": [{"op": "Shape", "outputs": [{"index": 0, "ranks": [1, 1]}]}])",
                 shape)
          .says("y"),
      "yes");
}

TEST(DeviceSupport, Ranks) {
  const auto rule = [](const std::string& ranks) {
    return R"({"op": "Relu", "inputs": [{"index": 0, "ranks": )" + ranks + "}]}";
  };
  EXPECT_EQ(says(rule("[2, 2]"), kRelu), "yes");
  EXPECT_EQ(says(rule("[0, null]"), kRelu), "yes");
  EXPECT_EQ(says(rule("[3, 5]"), kRelu), "rank: Relu rule 1: input 0 'x' has rank 2, allowed: 3 to 5");
  EXPECT_EQ(says(rule("[0, null]"), "g (float[] x) => (float[] y) { y = Relu (x) }"),
            "rank: Relu rule 1: the rank of input 0 'x' is not known");
  const std::string scalar = "g (float x) => (float y) { y = Relu (x) }";
  EXPECT_EQ(says(rule("[0, 0]"), scalar), "yes");
  EXPECT_EQ(says(rule("[1, 4]"), scalar), "rank: Relu rule 1: input 0 'x' has rank 0, allowed: 1 to 4");
}

TEST(DeviceSupport, Constants) {
  const std::string rule = R"({"op": "Conv", "inputs": [{"index": 1, "constant": true}]})";
  EXPECT_EQ(says(rule, kConv), "yes");
  EXPECT_EQ(says(rule, kConvComputed), "constant: Conv rule 1: input 1 'w' is no constant");
  // An initializer that is a graph input as well may be replaced by the caller.
  const std::string overridable = R"(g (float[2] x, float[2] b = {1, 1}) => (float[2] y) { y = Add (x, b) })";
  EXPECT_EQ(says(R"({"op": "Add", "inputs": [{"index": 1, "constant": true}]})", overridable),
            "constant: Add rule 1: input 1 'b' is no constant");
  EXPECT_EQ(says(R"({"op": "Add", "inputs": [{"index": 1, "constant": false}]})", overridable), "yes");
  EXPECT_EQ(says(R"({"op": "Conv", "inputs": [{"index": 1, "constant": false}]})", kConv),
            "constant: Conv rule 1: input 1 'w' is a constant");
  const std::string node = R"(g (float[2] x) => (float[2] y)
    { b = Constant <value = float[2] {1, 1}> () y = Add (x, b) })";
  EXPECT_EQ(says(R"({"op": "Add", "inputs": [{"index": 1, "constant": true}]})", node), "yes");
  // An optional operand that is empty meets every condition but presence.
  EXPECT_EQ(says(R"({"op": "Clip", "inputs": [{"index": 1, "constant": true, "dtypes": []}]})",
                 "g (float[2] x, float high) => (float[2] y) { y = Clip (x, , high) }"),
            "yes");
}

TEST(DeviceSupport, ElementsOfConstants) {
  const auto pad = [](const std::string& pads) {
    return R"(g (float[2,3] x) => (float[N,M] y) <int64[4] p = )" + pads + "> { y = Pad (x, p) }";
  };
  const std::string rule = R"({"op": "Pad", "inputs": [{"index": 1, "value": {"range": [0, null]}}]})";
  EXPECT_EQ(says(rule, pad("{0, 1, 2, 3}")), "yes");
  EXPECT_EQ(says(rule, pad("{0, 1, -1, 3}")),
            "value: Pad rule 1: input 1 'p' is [0, 1, -1, 3], which is not allowed");
  EXPECT_EQ(says(rule, "g (float[2,3] x, int64[4] p) => (float[N,M] y) { y = Pad (x, p) }"),
            "constant: Pad rule 1: input 1 'p' is no constant");
  EXPECT_EQ(says(R"({"op": "Pad", "inputs": [{"index": 1, "value": {"length": [4, 4], "enum": [0, 1]}}]})",
                 pad("{0, 1, 1, 0}")),
            "yes");
  EXPECT_EQ(
      says(R"({"op": "Pad", "inputs": [{"index": 1, "value": {"length": [8, 8]}}]})", pad("{0, 0, 0, 0}")),
      "value: Pad rule 1: input 1 'p' is [0, 0, 0, 0], which is not allowed");
  // 0.1 as a float is above 0.1 as a double.
  const std::string add = "g (float[1] x) => (float[1] y) <float[1] c = {0.1}> { y = Add (x, c) }";
  EXPECT_EQ(says(R"({"op": "Add", "inputs": [{"index": 1, "value": {"range": [null, 0.1]}}]})", add), "yes");
  EXPECT_EQ(says(R"({"op": "Add", "inputs": [{"index": 1, "value": {"enum": [0.1, 7]}}]})", add), "yes");
  EXPECT_EQ(says(R"({"op": "Add", "inputs": [{"index": 1, "value": {"enum": ["0.1"]}}]})", add),
            "value: Add rule 1: input 1 'c' is 0.1, which is not allowed");
  EXPECT_EQ(says(R"({"op": "Add", "inputs": [{"index": 1, "value": {"present": false}}]})", add),
            "constant: Add rule 1: input 1 'c' is a constant");
}

TEST(DeviceSupport, Attributes) {
  const auto softmax = [](const std::string& attribute) {
    return "g (float[2,3] x) => (float[2,3] y) { y = Softmax " + attribute + " (x) }";
  };
  const std::string last = R"({"op": "Softmax", "attributes": {"axis": {"enum": [-1]}}})";
  EXPECT_EQ(says(last, softmax("<axis = -1>")), "yes");
  EXPECT_EQ(says(last, softmax("")), "yes");  // the default of opset 13
  EXPECT_EQ(says(last, softmax("<axis = 0>")),
            "attribute: Softmax rule 1: attribute 'axis' is 0, which is not allowed");
  EXPECT_EQ(says(R"({"op": "Softmax", "attributes": {"axis": {"range": [-1, 1]}}})", softmax("<axis = 0>")),
            "yes");
  EXPECT_EQ(says(R"({"op": "Softmax", "attributes": {"axis": {"present": true}}})", softmax("")),
            "attribute: Softmax rule 1: attribute 'axis' is absent");
  EXPECT_EQ(says(R"({"op": "Softmax", "attributes": {"axis": {"present": false}}})", softmax("<axis = 0>")),
            "attribute: Softmax rule 1: attribute 'axis' must be absent");
  EXPECT_EQ(says(R"({"op": "Softmax", "attributes": {"axis": {"present": false}}})", softmax("")), "yes");
  EXPECT_EQ(says(R"({"op": "Conv", "attributes": {"kernel_shape": {"length": [2, 2]}}})", kConv),
            "attribute: Conv rule 1: attribute 'kernel_shape' is absent and has no default");
  EXPECT_EQ(says(R"({"op": "Conv", "attributes": {"auto_pad": {"enum": ["NOTSET", "VALID"]}}})", kConv),
            "yes");
  EXPECT_EQ(says(R"({"op": "Conv", "attributes": {"auto_pad": {"enum": ["SAME_UPPER"]}}})", kConv),
            "attribute: Conv rule 1: attribute 'auto_pad' is 'NOTSET', which is not allowed");
  const std::string elu = "g (float[2] x) => (float[2] y) { y = Elu <alpha = 0.3> (x) }";
  EXPECT_EQ(says(R"({"op": "Elu", "attributes": {"alpha": {"range": [0.3, 0.3]}}})", elu), "yes");
  EXPECT_EQ(says(R"({"op": "Elu", "attributes": {"alpha": {"range": [0.31, null]}}})", elu),
            "attribute: Elu rule 1: attribute 'alpha' is 0.3, which is not allowed");
  EXPECT_EQ(says(R"({"op": "Transpose", "attributes": {"perm": {"length": [2, 3], "enum": [0, 1]}}})",
                 "g (float[2,3] x) => (float[3,2] y) { y = Transpose <perm = [1, 0]> (x) }"),
            "yes");
  const std::string wide = "g (float[2] x) => (float[2] y) { y = own.Thing <i = 9007199254740993> (x) }";
  EXPECT_EQ(
      says(R"({"op": "Thing", "domain": "own", "attributes": {"i": {"range": [null, 9007199254740992.0]}}})",
           wide),
      "attribute: own::Thing rule 1: attribute 'i' is 9007199254740993, which is not allowed");
}

TEST(DeviceSupport, SameDtype) {
  const std::string rule = R"({"op": "Thing", "domain": "own", "same_dtype": [0, 1, 5]})";
  EXPECT_EQ(says(rule, "g (float[2] a, float[2] b) => (float[2] y) { y = own.Thing (a, b) }"), "yes");
  EXPECT_EQ(says(rule, "g (float[2] a, int8[2] b) => (float[2] y) { y = own.Thing (a, b) }"),
            "dtype: own::Thing rule 1: input 0 'a' is float and input 1 'b' is int8, which must be one type");
  EXPECT_EQ(says(rule, "g (float[2] a) => (float[2] y) { b = own.Thing (a) y = own.Thing (a, b) }"),
            "dtype: own::Thing rule 1: the element type of input 1 'b' is not known");
}

InferOptions bounded(const std::string& symbol, std::int64_t high) {
  InferOptions options;
  options.ranges.push_back({symbol, {1, high}});
  return options;
}

TEST(DeviceSupport, Shapes) {
  const std::string dynamic = "g (float[N,3] x) => (float[N,3] y) { y = Relu (x) }";
  const auto rule = [](const std::string& need) { return R"({"op": "Relu", "shapes": ")" + need + "\"}"; };
  EXPECT_EQ(says(rule("static"), kRelu), "yes");
  EXPECT_EQ(says(rule("any"), dynamic), "yes");
  EXPECT_EQ(says(rule("static"), dynamic),
            "dynamic_shape: Relu rule 1: dim 0 of input 0 'x' is N, which is no number (and 1 more)");
  EXPECT_EQ(
      says(rule("bounded"), dynamic),
      "dynamic_shape: Relu rule 1: dim 0 of input 0 'x' is N, which has no greatest value (and 1 more)");
  EXPECT_EQ(says(rule("bounded"), dynamic, bounded("N", 64)), "yes");
  EXPECT_EQ(says(rule("any"), "g (float[] x) => (float[] y) { y = Relu (x) }"), "yes");
  EXPECT_EQ(says(rule("bounded"), "g (float[] x) => (float[] y) { y = Relu (x) }"),
            "dynamic_shape: Relu rule 1: the shape of input 0 'x' is not known (and 1 more)");
  EXPECT_EQ(DeviceCase(R"("shapes": "static", "rules": [{"op": "Relu"}])", dynamic).says("y").substr(0, 13),
            "dynamic_shape");
  EXPECT_EQ(
      DeviceCase(R"("shapes": "static", "rules": [{"op": "Relu", "shapes": "any"}])", dynamic).says("y"),
      "yes");
}

// Every dim of an input is taken to be below 2^31, so half of one is below 2^30: no bound that somebody gave.
TEST(DeviceSupport, HalfOfAnInputHasNoBound) {
  const std::string graph = R"(g (float[N,4] x) => (float[M,8] y) <int64[2] s = {-1, 8}>
    { a = Reshape (x, s) y = Relu (a) })";
  DeviceCase c("", graph);
  ASSERT_EQ(c.type("a"), "float[floor((N)/(2)), 8]");
  EXPECT_EQ(says(R"({"op": "Relu", "shapes": "bounded"})", graph).substr(0, 13), "dynamic_shape");
  EXPECT_EQ(says(R"({"op": "Relu", "shapes": "bounded"})", graph, bounded("N", 64)), "yes");
}

// Nor is what follows from the number of elements that an input can have.
TEST(DeviceSupport, ElementsBoundNoDim) {
  const std::string graph = "g (float[N,1048576] x) => (float[N,1048576] y) { y = Relu (x) }";
  EXPECT_EQ(says(R"({"op": "Relu", "shapes": "bounded"})", graph).substr(0, 13), "dynamic_shape");
}

TEST(DeviceSupport, Dims) {
  const auto rule = [](const std::string& dim) {
    return R"({"op": "Relu", "inputs": [{"index": 0, "dims": [)" + dim + "]}]}";
  };
  EXPECT_EQ(says(rule(R"({"axis": -1, "range": [1, 3]})"), kRelu), "yes");
  EXPECT_EQ(says(rule(R"({"axis": 1, "range": [4, null]})"), kRelu),
            "dims: Relu rule 1: dim 1 of input 0 'x' is 3, allowed: 4 or more");
  EXPECT_EQ(says(rule(R"({"axis": -2, "multiple_of": 2})"), kRelu), "yes");
  EXPECT_EQ(says(rule(R"({"axis": -1, "multiple_of": 2})"), kRelu),
            "dims: Relu rule 1: dim -1 of input 0 'x' is 3, allowed: a multiple of 2");
  EXPECT_EQ(says(rule(R"({"axis": 2})"), kRelu), "dims: Relu rule 1: input 0 'x' has no axis 2");
  EXPECT_EQ(says(rule(R"({"axis": -3})"), kRelu), "dims: Relu rule 1: input 0 'x' has no axis -3");
  EXPECT_EQ(says(rule(R"({"axis": 0, "static": false})"), kRelu),
            "dims: Relu rule 1: dim 0 of input 0 'x' is 2, allowed: no number");
  const std::string dynamic = "g (float[N,3] x) => (float[N,3] y) { y = Relu (x) }";
  EXPECT_EQ(says(rule(R"({"axis": 0, "static": false})"), dynamic), "yes");
  EXPECT_EQ(says(rule(R"({"axis": 0, "static": true})"), dynamic),
            "dynamic_shape: Relu rule 1: dim 0 of input 0 'x' is N, allowed: a number");
  EXPECT_EQ(says(rule(R"({"axis": 0, "range": [1, 64]})"), dynamic),
            "dynamic_shape: Relu rule 1: dim 0 of input 0 'x' is N, allowed: 1 to 64");
  EXPECT_EQ(says(rule(R"({"axis": 0, "range": [1, 64]})"), dynamic, bounded("N", 64)), "yes");
  EXPECT_EQ(says(rule(R"({"axis": 0, "range": [1, 64]})"), dynamic, bounded("N", 65)).substr(0, 13),
            "dynamic_shape");
  EXPECT_EQ(says(rule(R"({"axis": 0, "multiple_of": 2})"), dynamic).substr(0, 13), "dynamic_shape");
  const std::string twice =
      "g (float[N,3] x) => (float[M,3] y) { c = Concat <axis = 0> (x, x) y = Relu (c) }";
  EXPECT_EQ(says(rule(R"({"axis": 0, "multiple_of": 2})"), twice), "yes");
  EXPECT_EQ(says(rule(R"({"axis": 0})"), "g (float[] x) => (float[] y) { y = Relu (x) }"),
            "rank: Relu rule 1: the rank of input 0 'x' is not known");
}

TEST(DeviceSupport, Extents) {
  const auto rule = [](const std::string& range) {
    return R"({"op": "Relu", "inputs": [{"index": 0, "extents": )" + range + "}]}";
  };
  EXPECT_EQ(says(rule("[2, 3]"), kRelu), "yes");
  EXPECT_EQ(says(rule("[0, 2]"), kRelu), "dims: Relu rule 1: dim 1 of input 0 'x' is 3, allowed: 0 to 2");
  EXPECT_EQ(says(rule("[3, null]"), kRelu),
            "dims: Relu rule 1: dim 0 of input 0 'x' is 2, allowed: 3 or more");
  EXPECT_EQ(says(rule("[5, 6]"), "g (float x) => (float y) { y = Relu (x) }"), "yes");  // it has no dims
  const std::string open = "g (float[N,3] x) => (float[N,3] y) { y = Relu (x) }";
  EXPECT_EQ(says(rule("[0, 9]"), open),
            "dynamic_shape: Relu rule 1: dim 0 of input 0 'x' is N, allowed: 0 to 9");
  EXPECT_EQ(says(rule("[0, 9]"), open, bounded("N", 9)), "yes");
  EXPECT_EQ(says(rule("[0, 9]"), "g (float[] x) => (float[] y) { y = Relu (x) }"),
            "dynamic_shape: Relu rule 1: the shape of input 0 'x' is not known");
  // That of the profile is for inputs without their own, and for no result.
  const std::string product = "g (float[2,3] a, float[3,9] b) => (float[2,9] y) { y = MatMul (a, b) }";
  EXPECT_EQ(DeviceCase(R"("extents": [0, 8], "rules": [{"op": "MatMul"}])", product).says("y"),
            "dims: MatMul rule 1: dim 1 of input 1 'b' is 9, allowed: 0 to 8");
  EXPECT_EQ(DeviceCase(R"("extents": [0, 8], "rules": [{"op": "MatMul",
                           "inputs": [{"index": 1, "extents": [0, 9]}]}])",
                       product)
                .says("y"),
            "yes");
  EXPECT_EQ(DeviceCase(R"("extents": [0, 9], "rules": [{"op": "MatMul",
                           "outputs": [{"index": 0, "extents": [0, 8]}]}])",
                       product)
                .says("y"),
            "dims: MatMul rule 1: dim 1 of output 0 'y' is 9, allowed: 0 to 8");
  // Where dims must be numbers, an open one is told once.
  EXPECT_EQ(DeviceCase(R"("shapes": "static", "extents": [0, 8], "rules": [{"op": "Relu"}])", open).says("y"),
            "dynamic_shape: Relu rule 1: dim 0 of input 0 'x' is N, which is no number (and 1 more)");
}

TEST(DeviceSupport, Bytes) {
  const auto rule = [](const std::string& bytes) {
    return R"({"op": "Relu", "inputs": [{"index": 0, "bytes": )" + bytes + "}]}";
  };
  EXPECT_EQ(says(rule("[24, 24]"), kRelu), "yes");
  EXPECT_EQ(says(rule("[0, 23]"), kRelu), "bytes: Relu rule 1: input 0 'x' has 24 bytes, allowed: 0 to 23");
  EXPECT_EQ(says(rule("[25, null]"), kRelu),
            "bytes: Relu rule 1: input 0 'x' has 24 bytes, allowed: 25 or more");
  const std::string dynamic = "g (float[N,3] x) => (float[N,3] y) { y = Relu (x) }";
  EXPECT_EQ(says(rule("[0, 768]"), dynamic),
            "dynamic_shape: Relu rule 1: the size of input 0 'x' is no number");
  EXPECT_EQ(says(rule("[0, 768]"), dynamic, bounded("N", 64)), "yes");
  EXPECT_EQ(says(rule("[0, 767]"), dynamic, bounded("N", 64)).substr(0, 13), "dynamic_shape");
  EXPECT_EQ(says(rule("[0, 0]"), "g (float[0,9] x) => (float[0,9] y) { y = Relu (x) }"), "yes");
  EXPECT_EQ(says(R"({"op": "Thing", "domain": "own", "inputs": [{"index": 0, "bytes": [2, 2]}]})",
                 "g (int4[3] x) => (float[2] y) { y = own.Thing (x) }"),
            "yes");
  const std::string huge = R"(g (float[2147483647,2147483647,2147483647,2147483647,2147483647] x) =>
    (float[] y) { y = Relu (x) })";
  EXPECT_EQ(says(rule("[0, 1000]"), huge).substr(0, 5), "bytes");
}

TEST(DeviceSupport, NearestMissIsTold) {
  // The rule with the fewest failed conditions, and of equal ones the first; one for another version is
  // farther than any that is not.
  const std::string rules = R"({"op": "Relu", "opset": [6, 13]},
    {"op": "Relu", "inputs": [{"index": 0, "dtypes": ["INT8"], "ranks": [4, 4]}]},
    {"op": "Relu", "inputs": [{"index": 0, "dtypes": ["INT8"]}]},
    {"op": "Relu", "inputs": [{"index": 0, "dtypes": ["UINT8"]}]})";
  EXPECT_EQ(says(rules, kRelu), "dtype: Relu rule 3: input 0 'x' is float, allowed: int8");
  EXPECT_EQ(says(rules + R"(, {"op": "Relu", "inputs": [{"index": 0, "dtypes": ["FLOAT"]}]})", kRelu), "yes");
  EXPECT_EQ(says(R"({"op": "Relu", "inputs": [{"index": 0, "dtypes": ["INT8"], "ranks": [4, 4]}]})", kRelu),
            "dtype: Relu rule 1: input 0 'x' is float, allowed: int8 (and 1 more)");
}

TEST(DeviceSupport, AnotherVersionIsFarther) {
  EXPECT_EQ(says(R"({"op": "Relu", "inputs": [{"index": 0, "dtypes": ["INT8"], "ranks": [4, 4]}]},
                    {"op": "Relu", "opset": [6, 13]})",
                 kRelu),
            "dtype: Relu rule 1: input 0 'x' is float, allowed: int8 (and 1 more)");
}

TEST(DeviceSupport, ConstantNodesAreData) {
  const std::string graph = R"(g (float[2] x) => (float[2] y)
    { [c] c = Constant <value = float[2] {1, 1}> () y = Add (x, c) })";
  EXPECT_EQ(DeviceCase("", graph).says("c"), "yes");
  EXPECT_EQ(DeviceCase(R"("deny_nodes": ["c"])", graph).says("c"), "denied: deny_nodes has 'c'");
}

TEST(DeviceSupport, AttributesOfACallerAreNotKnown) {
  const std::string graph = R"(g (float[2] x) => (float[2] y) { y = own.F <alpha = 0.5> (x) }
    <domain: "own", opset_import: ["" : 17]> F <alpha> (a) => (inner)
      { inner = Elu <alpha: float = @alpha> (a) })";
  DeviceCase c(R"("rules": [{"op": "Elu", "attributes": {"alpha": {"range": [0, 1]}}}])", graph);
  const NodeId n = c.node_of("inner");
  EXPECT_EQ(c.support->explain(n, c.support->check(n)), "Elu rule 1: attribute 'alpha' has no known value");
}

TEST(DeviceSupport, NodeNames) {
  const std::string graph = R"(g (float[2] x) => (float[2] y) { [a_one] z = Relu (x) [a_two] y = Abs (z) })";
  const auto at = [&](const std::string& keys) {
    DeviceCase c(keys + R"(, "rules": [{"op": "Relu"}])", graph);
    return c.says("z") + "; " + c.says("y");
  };
  EXPECT_EQ(at(R"("allow_nodes": ["a_*"])"), "yes; yes");
  EXPECT_EQ(at(R"("deny_nodes": ["*on?"])"), "denied: deny_nodes has '*on?'; no_rule: no rule for Abs");
  EXPECT_EQ(at(R"("allow_nodes": ["a_*"], "deny_nodes": ["a_two"])"), "yes; denied: deny_nodes has 'a_two'");
}

TEST(DeviceSupport, Globs) {
  EXPECT_TRUE(glob_matches("", ""));
  EXPECT_TRUE(glob_matches("*", ""));
  EXPECT_TRUE(glob_matches("a*b*c", "axxbyybzzc"));
  EXPECT_TRUE(glob_matches("**a", "bca"));
  EXPECT_TRUE(glob_matches("?b", "ab"));
  EXPECT_FALSE(glob_matches("?", ""));
  EXPECT_FALSE(glob_matches("a*", "ba"));
  EXPECT_FALSE(glob_matches("a", "ab"));
  EXPECT_FALSE(glob_matches("*ab", "abc"));
  EXPECT_FALSE(glob_matches("[a]", "a"));  // no sets: names of nodes have brackets
  EXPECT_FALSE(glob_matches(std::string(40, '*') + "b", std::string(10000, 'a')));
}

TEST(DeviceSupport, HostTakesEveryNode) {
  DeviceCase host(R"("host": true, "deny_nodes": ["*"], "dtypes": [])", kRelu);
  EXPECT_EQ(host.says("y"), "yes");
}

const std::string kIf = R"(g (bool c, float[2] x) => (float[2] y) {
  [choice] y = If (c) <then_branch = t () => (float[2] a) { [in] a = Relu (x) },
                       else_branch = e () => (float[2] b) {
    b = If (c) <then_branch = tt () => (float[2] d) { d = Abs (x) },
                else_branch = ee () => (float[2] f) { [deep] f = Exp (x) }> }> })";

TEST(DeviceSupport, NodesWithBodies) {
  const auto at = [](const std::string& keys, const std::string& ops) {
    return DeviceCase(keys + R"("rules": [{"op": "Relu"}, {"op": "Abs"})" + ops + "]", kIf).says("y");
  };
  EXPECT_EQ(at("", R"(, {"op": "Exp"}, {"op": "If"})"),
            "control_flow: control_flow is none: no node with bodies is taken");
  const std::string whole = R"("control_flow": "whole", )";
  EXPECT_EQ(at(whole, R"(, {"op": "Exp"})"), "yes");
  EXPECT_EQ(at(whole, "").substr(0, 13), "control_flow:");
  EXPECT_NE(at(whole, "").find("'deep' (Exp): no rule for Exp"), std::string::npos) << at(whole, "");
  // A rule for the node itself is heard as well; that of the inner one refuses first.
  const std::string both =
      at(whole, R"(, {"op": "Exp"}, {"op": "If", "inputs": [{"index": 0, "constant": true}]})");
  EXPECT_EQ(both, "constant: If rule 1: input 0 'c' is no constant");
  EXPECT_EQ(at(R"("allow_nodes": ["choice"], )", R"(, {"op": "Exp"})").substr(0, 12), "control_flow");
  EXPECT_EQ(at(whole + R"("deny_nodes": ["in"], )", R"(, {"op": "Exp"})").find("deny_nodes has 'in'") !=
                std::string::npos,
            true);
}

TEST(DeviceSupport, BodiesOfBodiesWithoutRecursion) {
  std::string graph = "f = Relu (x)", name = "f";
  for (int i = 0; i < 12; ++i) {
    const std::string outer = "o" + std::to_string(i);
    graph = outer + " = If (c) <then_branch = t" + outer + " () => (float[2] " + name + ") { " + graph +
            " }, else_branch = e" + outer + " () => (float[2] z" + outer + ") { z" + outer + " = Abs (x) }>";
    name = outer;
  }
  const std::string text = "g (bool c, float[2] x) => (float[2] " + name + ") { " + graph + " }";
  DeviceCase c(R"("control_flow": "whole", "rules": [{"op": "Abs"}])", text);
  EXPECT_EQ(c.says(name).substr(0, 12), "control_flow");
  EXPECT_NE(c.says(name).find("no rule for Relu"), std::string::npos);
}

}  // namespace
}  // namespace graphopt
