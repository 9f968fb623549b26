// The undo log of a draft: each kind of change alone, and random sequences of changes, leave nothing behind
// after a roll-back. And what a snapshot of a draft (DraftState) notices.

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "draft/draft.h"
#include "draft/draft_state.h"
#include "ir/model.h"

namespace graphopt {
namespace {

// x -> n0 -> a;  a, c -> n1 -> b;  b, b -> n2 -> (y, z), all of shape [2,3]; c is a constant.
struct Case {
  Model model;
  Draft d{model, model.main()};
  DValue x, c, a, b, y, z;
  std::vector<DNode> n;
  ShapeId shape, other;

  Case() {
    shape = d.shapes().intern(std::vector<std::int64_t>{2, 3});
    other = d.shapes().intern(std::vector<std::int64_t>{6});
    x = value();
    c = value(true);
    a = value();
    b = value();
    y = value();
    z = value();
    n.push_back(node(NodeClass::Elementwise, {x}, {a}));
    n.push_back(node(NodeClass::Elementwise, {a, c}, {b}));
    n.push_back(node(NodeClass::Split, {b, b}, {y, z}));
    const std::uint32_t order[] = {0, 1, 2};
    d.set_order(order);
    d.commit();
  }

  DValue value(bool constant = false) {
    DraftValue v;
    v.shape = shape;
    v.dtype = DType::Float;
    v.origin = ValueId{values_++};
    if (constant) v.tensor = TensorId{std::uint32_t{0}};
    return d.put_value(v);
  }
  DNode node(NodeClass cls, std::vector<DValue> in, std::vector<DValue> out) {
    DraftNode node;
    node.node_class = cls;
    node.real_in = static_cast<std::uint32_t>(in.size());
    node.origin = NodeId{std::uint32_t{0}};
    return d.put_node(node, in, out);
  }

 private:
  std::uint32_t values_ = 0;
};

// Carries a change out, expects that the draft shows it, rolls it back, and expects that nothing is left.
void expect_undone(const std::string& what, const std::function<void(Case&)>& change) {
  SCOPED_TRACE(what);
  Case k;
  const DraftState before(k.d);
  change(k);
  EXPECT_NE(before.difference(k.d), "") << "the change is not seen";
  EXPECT_FALSE(k.d.unchanged());
  k.d.roll_back();
  EXPECT_EQ(before.difference(k.d), "");
  EXPECT_TRUE(k.d.unchanged());
}

TEST(Draft, RollsBackEachKindOfChange) {
  expect_undone("a new value", [](Case& k) { k.d.new_value(k.other, DType::Float); });
  expect_undone("a new constant",
                [](Case& k) { k.d.new_constant(TensorId{std::uint32_t{0}}, k.other, DType::Float); });
  expect_undone("a new node, between others", [](Case& k) {
    const DValue in[] = {k.a}, out[] = {k.d.new_value(k.shape, DType::Float)};
    k.d.new_node(NodeClass::Transpose, {}, in, out, k.n[1]);
  });
  expect_undone("a new node at the end that defines a value anew", [](Case& k) {
    const DValue in[] = {k.a, k.c}, out[] = {k.b};
    k.d.new_node(NodeClass::Elementwise, {}, in, out, {});
  });
  expect_undone("an axis", [](Case& k) { k.d.set_axis(k.n[2], 1); });
  expect_undone("a list", [](Case& k) { k.d.set_list(k.n[2], k.d.intern_list({1, 2})); });
  expect_undone("one list for another", [](Case& k) {
    k.d.set_list(k.n[2], k.d.intern_list({1, 2}));
    k.d.set_list(k.n[2], {});
  });
  expect_undone("axes rewritten", [](Case& k) { k.d.set_axes_rewritten(k.n[2]); });
  expect_undone("one operand", [](Case& k) { k.d.set_in(k.n[1], 0, k.x); });
  expect_undone("an operand that is emptied", [](Case& k) { k.d.set_in(k.n[1], 1, {}); });
  expect_undone("the first of two uses by one node", [](Case& k) { k.d.set_in(k.n[2], 0, k.a); });
  expect_undone("all operands", [](Case& k) {
    const DValue in[] = {k.a, k.x, k.a};
    k.d.set_ins(k.n[2], in);
  });
  expect_undone("no operands", [](Case& k) { k.d.set_ins(k.n[1], {}); });
  expect_undone("all results", [](Case& k) {
    const DValue out[] = {k.z, k.y, k.d.new_value(k.shape, DType::Float)};
    k.d.set_outs(k.n[2], out);
  });
  expect_undone("a node that is gone", [](Case& k) { k.d.erase(k.n[2]); });
  expect_undone("the first node of the order", [](Case& k) {
    k.d.replace_uses(k.a, k.x);
    k.d.erase(k.n[0]);
  });
  expect_undone("another place in the order", [](Case& k) { k.d.move_before(k.n[2], k.n[0]); });
  expect_undone("the last place in the order", [](Case& k) { k.d.move_before(k.n[0], {}); });
  expect_undone("a region", [](Case& k) { k.d.set_region(k.n[0], k.n[2]); });
  expect_undone("one region for none", [](Case& k) {
    k.d.set_region(k.n[0], k.n[2]);
    k.d.set_region(k.n[1], k.n[2]);
    k.d.set_region(k.n[0], {});
  });
  expect_undone("absorbed", [](Case& k) { k.d.set_absorbed(k.n[1], true); });
  expect_undone("the shape and name of the model's value", [](Case& k) { k.d.retype(k.b, k.other); });
  expect_undone("the shape of a new value", [](Case& k) {
    k.d.retype(k.d.new_value(k.shape, DType::Float), k.other);
    k.d.retype(k.b, k.other);
    k.d.retype(k.b, k.shape);
  });
  expect_undone("all uses of a value", [](Case& k) { k.d.replace_uses(k.b, k.a); });
}

// A mark that was set before the change stays when the change is undone.
TEST(Draft, RollBackKeepsWhatWasThereBefore) {
  Case k;
  k.d.set_axis(k.n[2], 1);
  k.d.set_axes_rewritten(k.n[2]);
  k.d.set_absorbed(k.n[1], true);
  k.d.set_region(k.n[0], k.n[2]);
  k.d.retype(k.b, k.other);
  k.d.commit();
  const DraftState before(k.d);
  k.d.set_axis(k.n[2], 0);
  k.d.set_axes_rewritten(k.n[2]);
  k.d.set_absorbed(k.n[1], false);
  k.d.set_region(k.n[0], {});
  k.d.retype(k.b, k.shape);
  k.d.roll_back();
  EXPECT_EQ(before.difference(k.d), "");
}

// The order of the nodes comes back although its keys were renumbered in between.
TEST(Draft, RollBackSurvivesNewKeys) {
  Case k;
  const DraftState before(k.d);
  DNode at = k.n[1];
  for (int i = 0; i < 200; ++i) {  // always at the same gap, which is halved each time
    const DValue in[] = {k.x}, out[] = {k.d.new_value(k.shape, DType::Float)};
    at = k.d.new_node(NodeClass::Elementwise, {}, in, out, at);
  }
  for (DNode n = k.d.first(); k.d[n].next; n = k.d[n].next) ASSERT_TRUE(k.d.before(n, k.d[n].next));
  k.d.roll_back();
  EXPECT_EQ(before.difference(k.d), "");
}

// Applies a random change. It need not make sense as a graph: the log must undo it all the same.
void change_at_random(Case& k, std::mt19937& rng) {
  const auto pick = [&rng](std::size_t n) { return static_cast<std::uint32_t>(rng() % n); };
  const auto any_value = [&] { return DValue{pick(k.d.value_count())}; };
  std::vector<DNode> alive;
  for (DNode n = k.d.first(); n; n = k.d[n].next) alive.push_back(n);
  if (alive.empty()) return;
  const DNode n = alive[pick(alive.size())], m = alive[pick(alive.size())];
  std::vector<DValue> several;
  for (std::uint32_t i = pick(4); i > 0; --i) several.push_back(any_value());
  switch (pick(12)) {
    case 0: k.d.new_value(pick(2) ? k.shape : k.other, DType::Float); break;
    case 1: {
      const DValue out[] = {k.d.new_value(k.shape, DType::Float)};
      k.d.new_node(NodeClass::Elementwise, {}, several, out, pick(3) ? n : DNode{});
      break;
    }
    case 2: k.d.set_axis(n, pick(3)); break;
    case 3: k.d.set_list(n, k.d.intern_list({pick(3)})); break;
    case 4:
      if (k.d[n].in_count > 0) k.d.set_in(n, pick(k.d[n].in_count), any_value());
      break;
    case 5: k.d.set_ins(n, several); break;
    case 6: k.d.set_outs(n, several); break;
    case 7: k.d.erase(n); break;
    case 8: k.d.move_before(n, pick(3) ? m : DNode{}); break;
    case 9: k.d.set_region(n, pick(2) ? m : DNode{}); break;
    case 10: k.d.set_absorbed(n, pick(2) != 0); break;
    case 11: k.d.retype(any_value(), pick(2) ? k.shape : k.other); break;
    default: break;
  }
}

TEST(Draft, RollsBackRandomSequences) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    std::mt19937 rng(seed);
    Case k;
    for (int i = 0; i < 10; ++i) change_at_random(k, rng);
    k.d.commit();
    const DraftState before(k.d);
    for (int i = 0; i < 30; ++i) change_at_random(k, rng);
    k.d.roll_back();
    ASSERT_EQ(before.difference(k.d), "") << "seed " << seed;
  }
}

TEST(Draft, CommitEndsWhatCanBeUndone) {
  Case k;
  k.d.set_axis(k.n[2], 1);
  k.d.commit();
  EXPECT_TRUE(k.d.unchanged());
  k.d.roll_back();
  EXPECT_EQ(k.d[k.n[2]].axis, 1u);
}

// Changes that change nothing are not logged, so that a candidate made of them is no candidate.
TEST(Draft, LogsNothingWhenNothingChanges) {
  Case k;
  k.d.set_axis(k.n[2], 0);
  k.d.set_in(k.n[1], 0, k.a);
  k.d.move_before(k.n[0], k.n[1]);
  k.d.move_before(k.n[0], k.n[0]);
  k.d.set_region(k.n[0], {});
  k.d.replace_uses(k.z, k.a);
  EXPECT_TRUE(k.d.unchanged());
}

TEST(Draft, UsesKeepTheOrderOfTheirUsers) {
  Model model;
  Draft d{model, model.main()};
  const DValue x = d.put_value({}), a = d.put_value({}), b = d.put_value({});
  const DValue in[] = {x}, first[] = {a}, second[] = {b};
  const DNode n0 = d.put_node({}, in, first), n1 = d.put_node({}, in, second);
  const std::uint32_t order[] = {1, 0};
  d.set_order(order);
  EXPECT_EQ(d.first(), n1);
  EXPECT_EQ(d.last(), n0);
  EXPECT_TRUE(d.before(n1, n0));
  EXPECT_EQ(d.user(d.first_use(x)), n1);
  EXPECT_EQ(d.user(d.next_use(d.first_use(x))), n0);
}

TEST(Draft, TouchesEachNodeOnceUntilCleared) {
  Case k;
  k.d.clear_touched();
  k.d.set_in(k.n[1], 0, k.x);
  k.d.set_in(k.n[1], 1, k.x);
  std::vector<DNode> touched(k.d.touched().begin(), k.d.touched().end());
  EXPECT_EQ(std::ranges::count(touched, k.n[1]), 1);
  EXPECT_EQ(std::ranges::count(touched, k.n[0]), 1);  // the producer of the operand that was given up
  EXPECT_EQ(std::ranges::count(touched, k.n[2]), 0);
  k.d.clear_touched();
  EXPECT_TRUE(k.d.touched().empty());
  EXPECT_FALSE(k.d.next_pending());
}

TEST(DraftState, NamesTheFirstDifference) {
  Case k;
  const DraftState before(k.d);
  k.d.set_axis(k.n[2], 1);
  EXPECT_NE(before.difference(k.d).find("node 2"), std::string::npos) << before.difference(k.d);
}

}  // namespace
}  // namespace graphopt
