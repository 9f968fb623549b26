// The types that parts of a model state: those of borders, and what the whole model states of their values.
#include <gtest/gtest.h>

#include <algorithm>

#include "driver/shapes.h"
#include "saved_model.h"

namespace graphopt {
namespace {

TEST(PartTypes, AreThoseOfBordersAndOfTheWholeModel) {
  Work work;
  work.model = loaded(parse_model(R"(<ir_version: 10, opset_import: ["" : 21]>
g (float[4] x) => (float[N] y) { a = Relu(x)  b = Neg(a)  c = Abs(b)  y = Exp(c) })"));
  Model& m = work.model;
  work.inference.emplace(m, InferOptions{}).run();
  std::vector<NodeId> nodes;
  std::vector<ValueId> made;
  for (NodeId n = m.first_node(m.main()); n; n = m.next_node(n)) {
    nodes.push_back(n);
    made.push_back(m.output(n, 0));
  }
  const TypeId whole = m.types.tensor(DType::Float, std::vector{m.dims.constant(7)});  // unlike inference
  std::vector<TypeOverride> saved;
  for (const ValueId v : made) saved.push_back({v, whole});
  PartTypes types(work, saved);
  using Found = std::vector<std::pair<ValueId, bool>>;  // a value and whether the whole model says its type
  const auto of = [&](std::vector<NodeId> part) {
    Found out;
    for (const TypeOverride& t : types.of(part_of(m, std::move(part))))
      out.emplace_back(t.value, t.type == whole);
    return out;
  };
  EXPECT_EQ(of({nodes[0], nodes[1]}), (Found{{made[1], false}, {made[0], true}}));
  EXPECT_EQ(of({nodes[2], nodes[3]}), (Found{{made[1], false}, {made[2], true}, {made[3], true}}));
  EXPECT_EQ(of(nodes), (Found{{made[0], true}, {made[1], true}, {made[2], true}, {made[3], true}}));
}

}  // namespace
}  // namespace graphopt
