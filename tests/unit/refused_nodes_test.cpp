// Nodes at which a runtime refuses a model: what is not called and what is not known is no reason.
#include "infer/refused_nodes.h"

#include <gtest/gtest.h>

#include <string>

#include "infer_case.h"
#include "onnx/reader.h"

namespace graphopt {
namespace {

constexpr const char* kFunctions = R"(
<domain: "local", opset_import: ["" : 17]>
Inner (c) => (s) {
  a = Constant <value_floats = [0.0, 1.0, 2.0]> ()
  b = Constant <value_floats = [0.0, 1.0]> ()
  s = If (c) <then_branch = t () => (float[?] p) { p = Add (a, b) },
              else_branch = e () => (float[?] q) { q = Identity (a) }>
}
<domain: "local", opset_import: ["" : 17, "local" : 1]>
Outer (c) => (s) {
  s = local.Inner (c)
}
)";

std::size_t refused(const std::string& text, bool least) {
  const InferCase c(text, {}, R"(<ir_version: 8, opset_import: ["" : 17, "local" : 1]>)");
  const auto hides_nothing = [](NodeId, ValueId) { return false; };
  return refused_at_load(*c.model, *c.facts, {.stated = {}, .least = least, .can_hide = hides_nothing})
      .size();
}

TEST(RefusedNodes, InFunctionsThatAreCalled) {
  for (const bool least : {false, true}) {
    EXPECT_EQ(refused(std::string("g (bool c) => (y) { y = local.Outer (c) }") + kFunctions, least), 1u);
    EXPECT_EQ(refused(std::string("g (bool c) => (y) { y = Not (c) }") + kFunctions, least), 0u);
  }
}

TEST(RefusedNodes, CallsInBodiesCount) {
  const std::string text = R"(g (bool c, float[3] x) => (y) {
    y = If (c) <then_branch = t () => (float[?] p) { p = local.Outer (c) },
                else_branch = e () => (float[?] q) { q = Identity (x) }>
  })";
  EXPECT_EQ(refused(text + kFunctions, true), 1u);
}

// onnx's function narrows the axis and writes to a dim before the first one.
TEST(RefusedNodes, AnAxisOf64Bits) {
  for (const char* axis : {"2147483648", "9223372036854775807", "-2147483649"}) {
    const std::string text =
        "g (float[2, 3, 4] x, float[4] s) => (y, u, v) { y, u, v = LayerNormalization <axis = " +
        std::string(axis) + "> (x, s) }";
    EXPECT_EQ(refused(text, true), 0u) << axis;
    EXPECT_EQ(refused(text, false), 0u) << axis;
  }
}

// The type of what a parameter holds is not known here, and SequenceInsert wants one: that is no wrong type.
TEST(RefusedNodes, NoTypeIsNoWrongType) {
  const std::string text = R"(g (seq(float[N]) z, bool c, bool d) => (y) {
    a = Constant <value_floats = [0.0, 1.0, 2.0]> ()
    b = Constant <value_floats = [0.0, 1.0]> ()
    unread = If (d) <then_branch = t () => (float[?] p) { p = Add (a, b) },
                     else_branch = e () => (float[?] q) { q = Identity (a) }>
    y = local.Outer (z, c)
  }
  <domain: "local", opset_import: ["" : 17]>
  Grow (z, c) => (s) {
    s = If (c) <then_branch = t () => (seq(float[?]) p) {
                  zero = Constant <value_int = 0> ()
                  none = SequenceEmpty ()
                  e = SequenceAt (z, zero)
                  f = Sin (e)
                  p = SequenceInsert (none, f)
                }, else_branch = e () => (seq(float[?]) q) { q = SequenceEmpty () }>
  }
  <domain: "local", opset_import: ["" : 17, "local" : 1]>
  Outer (z, c) => (s) { s = local.Grow (z, c) }
  )";
  EXPECT_EQ(refused(text, true), 1u);  // the Add
}

// Nodes that onnx's functions can tell apart are each asked; what one of them was answered says nothing of
// the next. `taken` and `refused` are nodes of one operator, `first` and `second` constants of one shape.
std::size_t refused_after(const std::string& taken, const std::string& refused_node) {
  const std::string text = R"(g (bool c, float[2, 3] x, float[2, 5] w) => (y) {
    first = Constant <value_ints = [-1, 2]> ()
    second = Constant <value_ints = [-1, 4]> ()
    y = If (c) <then_branch = t () => (float[?, ?] p) {
                  a = TAKEN
                  b = TAKEN
                  d = REFUSED
                  p = Relu (x)
                }, else_branch = e () => (float[?, ?] q) { q = Identity (x) }>
  })";
  std::string filled = text;
  for (int i = 0; i < 2; ++i) filled.replace(filled.find("TAKEN"), 5, taken);
  filled.replace(filled.find("REFUSED"), 7, refused_node);
  return refused(filled, false);
}

TEST(RefusedNodes, OneAnswerDoesNotServeAnotherQuestion) {
  EXPECT_EQ(refused_after("Reshape (x, first)", "Reshape (x, first)"), 0u);
  EXPECT_EQ(refused_after("Reshape (x, first)", "Reshape (x, second)"), 1u);
  EXPECT_EQ(refused_after("Reshape (x, second)", "Reshape (x, second)"), 3u);
  EXPECT_EQ(refused_after("Concat <axis = 1> (x, w)", "Concat <axis = 0> (x, w)"), 1u);
  EXPECT_EQ(refused_after("Concat <axis = 1> (x, w)", "Concat <axis = 7> (x, w)"), 1u);
  EXPECT_EQ(refused_after("Add (x, x)", "Add (x, w)"), 1u);
  EXPECT_EQ(refused_after("Add (x, x)", "Add (w, x)"), 1u);
  EXPECT_EQ(refused_after("Concat <axis = 0> (x, x)", "Concat <axis = 0> (x, x, w)"), 1u);
}

}  // namespace
}  // namespace graphopt
