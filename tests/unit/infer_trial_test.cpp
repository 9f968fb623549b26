// What inference knows after a trial of the model that was undone: as much as before it.

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "infer_case.h"

namespace graphopt {
namespace {

// The new node `by` defines the result of n in its place, and n is erased.
void give_result(Model& m, NodeId n, NodeId by) {
  const ValueId result = m.detach_output(n, 0);
  m.drop_output(by, 0);
  m.attach_output(by, 0, result);
  m.erase(n);
}

TEST(InferTrial, AResultOfANewNodeIsThatOfItsOldProducerAgain) {
  const std::vector<std::pair<OpKind, std::string>> writes{{OpKind::Shape, "Shape"}, {OpKind::Opaque, "Own"}};
  for (const auto& [kind, name] : writes) {
    InferCase c("g (float[n, 4] x) => (y) { h = Relu(x)  t = Transpose(h)  y = Neg(t) }");
    Model& m = *c.model;
    const NodeId relu = c.node_of("h");
    const std::array<ValueId, 1> x{c.value("x")};
    m.begin_trial();
    const NodeId by = m.add_node_like(
        m.main(), m.intern_op(kind, kind == OpKind::Opaque ? "local" : "", name), x, 1, "by", relu);
    give_result(m, relu, by);
    c.facts->infer_in_trial(std::array{by});
    EXPECT_NE(c.type("h"), "float[n, 4]") << name << ": the trial changes nothing";
    m.undo_trial();
    EXPECT_EQ(c.type("h"), "float[n, 4]") << name;
    c.facts->update();
    EXPECT_EQ(c.type("h"), "float[n, 4]") << name;
    EXPECT_EQ(c.type("y"), "float[4, n]") << name;
  }
}

TEST(InferTrial, ElementsOfAnIntegerResultAreKnownAgain) {
  InferCase c("g (float[n, 4] x) => (y) { s = Shape(x)  y = Identity(s) }");
  Model& m = *c.model;
  ASSERT_EQ(c.elements("s"), "n, 4");
  const NodeId shape = c.node_of("s");
  const std::array<ValueId, 1> x{c.value("x")};
  m.begin_trial();
  const NodeId by = m.add_node_like(m.main(), m.intern_op(OpKind::Opaque, "local", "Own"), x, 1, "by", shape);
  give_result(m, shape, by);
  c.facts->infer_in_trial(std::array{by});
  EXPECT_EQ(c.elements("s"), "none");
  m.undo_trial();
  EXPECT_EQ(c.elements("s"), "n, 4");
  EXPECT_EQ(c.type("s"), "int64[2]");
}

}  // namespace
}  // namespace graphopt
