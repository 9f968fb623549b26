// A Concat with very many operands: whether one common deformation is tried depends on how many nodes the
// branches without one would take.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "hoist/moves/moves.h"
#include "infer_case.h"

namespace graphopt {
namespace {

class WideConcat {
 public:
  InferCase given{"g (float[6] x) => (float[6] y) { y = Neg (x) }"};  // only for its opset and its types
  Draft d{*given.model, given.model->main()};
  ShapeId flat = d.shapes().intern(std::vector<std::int64_t>{6});
  ShapeId wide = d.shapes().intern(std::vector<std::int64_t>{2, 3});
  ShapeId whole = d.shapes().intern(std::vector<std::int64_t>{2 * kBranches, 3});
  std::vector<DValue> branches;
  static constexpr std::int64_t kBranches = 300, kDeformed = 100;  // more than SearchLimits::common_operands

  DValue value(ShapeId shape) {
    DraftValue v;
    v.shape = shape;
    v.dtype = DType::Float;
    return d.put_value(v);
  }
  DValue constant(ShapeId shape) {
    DraftValue v;
    v.shape = shape;
    v.dtype = DType::Float;
    v.tensor = given.model->make_tensor(DType::Float, std::vector<std::int64_t>{2, 3}, std::string(24, '\0'));
    return d.put_value(v);
  }
  DValue node(NodeClass node_class, const std::vector<DValue>& in, ShapeId shape) {
    DraftNode n;
    n.real_in = static_cast<std::uint32_t>(in.size());
    n.node_class = node_class;
    const DValue out[] = {value(shape)};
    d.put_node(n, in, out);
    return out[0];
  }

  // Some branches end in a deformation, `other` makes each of the others.
  template <class Other> WideConcat(Other other) {
    for (std::int64_t i = 0; i < kBranches; ++i)
      branches.push_back(i < kDeformed ? node(NodeClass::Deformation, {value(flat)}, wide) : other(*this));
    node(NodeClass::Concat, branches, whole);
    std::vector<std::uint32_t> all(d.node_count());
    for (std::uint32_t i = 0; i < all.size(); ++i) all[i] = i;
    d.set_order(all);
  }
  bool run(MoveRefusal& why) { return common_concat(d, d.last(), NodeClass::Deformation, why); }
  std::uint64_t hits() const {
    return d.limit_hits().times[static_cast<std::size_t>(SearchLimit::CommonOperands)];
  }
};

void expect_tried(WideConcat k) {
  MoveRefusal why = MoveRefusal::None;
  EXPECT_TRUE(k.run(why));
  EXPECT_EQ(k.hits(), 0u);
}

TEST(CommonDeformation, ConstantsTakeNoNode) {
  expect_tried({[](WideConcat& k) { return k.constant(k.wide); }});
}

TEST(CommonDeformation, DeformationsThatStayAndTheirInverseBecomeOneNode) {
  expect_tried({[](WideConcat& k) {
    const DValue v = k.node(NodeClass::Deformation, {k.value(k.flat)}, k.wide);
    k.node(NodeClass::Elementwise, {v}, k.wide);  // a second reader: the deformation stays
    return v;
  }});
}

TEST(CommonDeformation, ADeformationThatAlsoReadsTheBranchServes) {
  expect_tried({[](WideConcat& k) {
    const DValue v = k.value(k.wide);
    k.node(NodeClass::Deformation, {v}, k.flat);
    return v;
  }});
}

TEST(CommonDeformation, MoreNewNodesThanDeformationsAreNotTried) {
  WideConcat k{[](WideConcat& c) { return c.value(c.wide); }};
  MoveRefusal why = MoveRefusal::None;
  EXPECT_FALSE(k.run(why));
  EXPECT_EQ(why, MoveRefusal::NoGain);
  EXPECT_EQ(k.hits(), 1u);
}

}  // namespace
}  // namespace graphopt
