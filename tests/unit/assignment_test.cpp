// Borders between nodes of two assignments: where they stand, what they forbid, and that nothing of them is
// left.
#include "placement/assignment.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "infer_case.h"
#include "ir/print.h"
#include "ops/node_facts.h"

namespace graphopt {
namespace {

constexpr const char* kGraph = R"(g (float[N] x, bool c) => (float[N] y, float[N] z) <float[1] w = {2}> {
  a = Relu (x)
  b = Mul (a, w)
  d = Add (b, a)
  y = If (c) <then_branch = t () => (float[N] p) { p = Neg (a) },
              else_branch = e () => (float[N] q) { q = Neg (b) }>
  z = Mul (x, w)
})";

struct Case : InferCase {
  explicit Case(const std::map<std::string, Assignment>& devices, const std::string& text = kGraph)
      : InferCase(text) {
    assignments.assign(model->node_count(), kNotKnown);
    for (const auto& [result, device] : devices) assignments[node_of(result).index()] = device;
  }
  int borders() const {
    int count = 0;
    for (std::size_t i = 0; i < model->node_count(); ++i)
      count += model->alive(NodeId{i}) && model->kind(NodeId{i}) == OpKind::Border ? 1 : 0;
    return count;
  }
  Assignments assignments;
};

TEST(Assignment, BordersStandBetweenAssignmentsAndAreGoneAfterwards) {
  Case c({{"a", 0}, {"b", 0}, {"d", 1}, {"y", 1}, {"z", kNotAssigned}});
  const std::string before = print(*c.model);
  AssignmentBorders borders(*c.model, c.assignments);
  // x for a and for z; a and b for d and the bodies of y, which is of the same assignment. Not w.
  EXPECT_EQ(c.borders(), 4);
  c.facts->update();
  const ValueId read = c.model->input(c.node_of("d"), 0);
  EXPECT_EQ(c.model->kind(c.model->value(read).def), OpKind::Border);
  EXPECT_EQ(c.facts->type_of(read).elem, DType::Float);
  EXPECT_EQ(c.facts->dims(read).size(), 1U);
  borders.remove();
  EXPECT_EQ(c.borders(), 0);
  EXPECT_EQ(print(*c.model), before);
  EXPECT_EQ(c.assignments[c.node_of("y").index()], 1U);
}

TEST(Assignment, OneAssignmentNeedsNoBorder) {
  Case c({{"a", 0}, {"b", 0}, {"d", 0}, {"y", 0}, {"z", 0}});
  const AssignmentBorders borders(*c.model, c.assignments);
  EXPECT_EQ(c.borders(), 0);
}

TEST(Assignment, ValuesAreReadWithinAnAssignment) {
  Case c({{"a", 0}, {"b", 0}, {"d", 1}, {"y", 1}, {"z", 0}});
  const AssignmentBorders borders(*c.model, c.assignments);
  const Model& m = *c.model;
  const auto of = [&](const std::string& result) { return c.value(result); };
  const UseId of_d = m.first_use(m.input(c.node_of("d"), 0));
  EXPECT_FALSE(borders.may_read(m, of_d, of("b")));  // past the border
  EXPECT_TRUE(borders.may_read(m, of_d, m.input(c.node_of("d"), 1)));
  EXPECT_TRUE(borders.may_read(m, of_d, of("w")));
  UseId of_output;  // z, which a node of assignment 0 makes, as an output
  for (UseId u = m.first_use(of("z")); u; u = m.next_use(u)) of_output = u;
  EXPECT_TRUE(borders.may_read(m, of_output, of("b")));
  EXPECT_FALSE(borders.may_read(m, of_output, of("d")));
}

TEST(Assignment, NewNodesInheritFromWhatTheyAreConnectedTo) {
  Case c({{"a", 0}, {"b", 0}, {"d", 1}, {"y", 1}, {"z", kNotAssigned}});
  Model& m = *c.model;
  AssignmentBorders borders(m, c.assignments);
  const OpId neg = standard_op(m, OpKind::Neg);
  const auto add = [&](ValueId operand, const std::string& reader) {
    const NodeId n = m.add_node_like(m.main(), neg, {&operand, 1}, 1, "new", c.node_of(reader));
    m.set_operand(c.node_of(reader), 0, m.output(n, 0));
    return n;
  };
  const NodeId by_operand = add(m.input(c.node_of("d"), 0), "d");  // behind the border
  const NodeId by_reader = add(c.value("w"), "z");                 // reads a constant alone
  borders.remove();
  EXPECT_EQ(c.assignments[by_operand.index()], 1U);
  EXPECT_EQ(c.assignments[by_reader.index()], kNotAssigned);
}

TEST(Assignment, AnInputTellsWhoseReadersItHad) {
  Case c({{"y", 0}}, "g (float[N] x) => (float[N] y) { y = Neg (x) }");
  Model& m = *c.model;
  AssignmentBorders borders(m, c.assignments);
  const NodeId old = c.node_of("y");
  const ValueId x = c.value("x");
  const NodeId made = m.add_node_like(m.main(), standard_op(m, OpKind::Abs), {&x, 1}, 1, "new", old);
  m.replace_all_uses(c.value("y"), m.output(made, 0));
  m.erase(old);
  borders.remove();
  EXPECT_EQ(c.assignments[made.index()], 0U);
}

TEST(Assignment, ABorderThatMadeAnOutputBecomesAnIdentity) {
  Case c({{"y", 0}, {"z", 1}},
         "g (float[N] x) => (float[N] y, float[N] z) { y = Identity (x)  z = Neg (x) }");
  Model& m = *c.model;
  AssignmentBorders borders(m, c.assignments);
  const ValueId border = m.input(c.node_of("y"), 0);
  m.replace_all_uses(c.value("y"), border);  // as drop-identity does; the border takes the output's name
  borders.remove();
  EXPECT_EQ(c.borders(), 0);
  EXPECT_EQ(m.kind(c.node_of("y")), OpKind::Identity);
  EXPECT_TRUE(m.attrs(c.node_of("y")).empty());
  EXPECT_EQ(c.assignments[c.node_of("y").index()], 0U);
}

}  // namespace
}  // namespace graphopt
