// The cost that is kept up to date over changes is the one that a count from the start gives.

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "draft/draft_state.h"
#include "hoist/cost.h"
#include "ir/model.h"

namespace graphopt {
namespace {

// A draft that is built by hand. All values have one of two shapes with the same number of elements.
class Bench {
 public:
  Model model;
  Draft d{model, model.main()};
  ShapeId wide = d.shapes().intern(std::vector<std::int64_t>{2, 3});
  ShapeId flat = d.shapes().intern(std::vector<std::int64_t>{6});

  DValue value(ShapeId shape, bool constant = false) {
    DraftValue v;
    v.shape = shape;
    v.dtype = DType::Float;
    if (constant) v.tensor = TensorId{std::uint32_t{0}};
    return d.put_value(v);
  }
  enum Kind : std::uint8_t { kElementwise, kDeformation, kConcat, kHeavy, kOther };
  // Adds a node before the search starts; returns its result.
  DValue node(Kind kind, const std::vector<DValue>& in, ShapeId shape) {
    DraftNode n;
    n.real_in = static_cast<std::uint32_t>(in.size());
    n.node_class = kind == kElementwise   ? NodeClass::Elementwise
                   : kind == kDeformation ? NodeClass::Deformation
                   : kind == kConcat      ? NodeClass::Concat
                                          : NodeClass::Other;
    n.heavy = kind == kHeavy;
    n.anchor = kind == kHeavy || kind == kConcat;
    const DValue out[] = {value(shape)};
    d.put_node(n, in, out);
    return out[0];
  }
  void order() {
    std::vector<std::uint32_t> all(d.node_count());
    for (std::uint32_t i = 0; i < all.size(); ++i) all[i] = i;
    d.set_order(all);
  }
};

std::string text(const Cost& c) {
  return std::to_string(c.compute) + ", " + std::to_string(c.free) + ", " + std::to_string(c.deform) + ", " +
         std::to_string(c.absorbed);
}

TEST(Cost, CountsEachNodeOnce) {
  Bench b;
  const DValue x = b.value(b.wide), w = b.value(b.wide, true);
  const DValue h = b.node(Bench::kHeavy, {x}, b.wide);
  const DValue bias = b.node(Bench::kElementwise, {h, w}, b.wide);  // absorbed: its other operand is constant
  const DValue r = b.node(Bench::kDeformation, {bias}, b.flat);
  const DValue e = b.node(Bench::kElementwise, {r}, b.flat);  // in no region: the deformation parts it
  b.d.put_value({});
  (void)e;
  b.order();
  CostKeeper keeper(b.d);
  keeper.start();
  EXPECT_EQ(text(keeper.cost()), "2, 1, 1, 1");  // C': the anchor and e; F: e; D: the deformation
  EXPECT_EQ(keeper.difference(), "");
}

TEST(Cost, AnEpilogueEndsAtASecondUse) {
  Bench b;
  const DValue x = b.value(b.wide);
  const DValue h = b.node(Bench::kHeavy, {x}, b.wide);
  const DValue a = b.node(Bench::kElementwise, {h}, b.wide);
  b.node(Bench::kElementwise, {a}, b.wide);
  b.order();
  CostKeeper keeper(b.d);
  keeper.start();
  EXPECT_EQ(text(keeper.cost()), "1, 0, 0, 2");
  // A second reader of `a`: the node after it leaves the epilogue, and joins the region instead.
  const DValue in[] = {a}, out[] = {b.d.new_value(b.wide, DType::Float)};
  b.d.new_node(NodeClass::Elementwise, {}, in, out, {});
  EXPECT_EQ(text(keeper.price()), "3, 0, 0, 1");
  EXPECT_EQ(text(keeper.cost()), "1, 0, 0, 2");  // until it is kept
  b.d.roll_back();
  b.d.clear_touched();
  EXPECT_EQ(text(keeper.price()), "1, 0, 0, 2");
  EXPECT_EQ(keeper.difference(), "");
}

TEST(Cost, NodesOfARegionAreFreeWhenItsAnchorGoes) {
  Bench b;
  const DValue x = b.value(b.wide);
  const DValue c = b.node(Bench::kConcat, {x}, b.wide);
  DValue last = c;
  for (int i = 0; i < 200; ++i) last = b.node(Bench::kElementwise, {last}, b.wide);  // beyond region_update
  b.order();
  CostKeeper keeper(b.d);
  keeper.start();
  EXPECT_EQ(text(keeper.cost()), "201, 0, 0, 0");
  b.d.replace_uses(c, x);
  b.d.erase(DNode{std::uint32_t{0}});
  EXPECT_EQ(text(keeper.price()), "200, 200, 0, 0");
  keeper.keep();
  b.d.commit();
  EXPECT_EQ(keeper.difference(), "");
}

// Random graphs under random legal changes, some kept and some undone.
TEST(Cost, IsThatOfAFreshCountAfterRandomChanges) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 rng(seed);
    const auto pick = [&rng](std::size_t n) { return static_cast<std::uint32_t>(rng() % n); };
    Bench b;
    std::vector<DValue> values{b.value(b.wide), b.value(b.flat), b.value(b.wide, true)};
    const auto any = [&](ShapeId shape) {
      for (;;)
        if (const DValue v = values[pick(values.size())]; b.d.shape(v) == shape) return v;
    };
    for (int i = 0; i < 25; ++i) {
      const ShapeId shape = pick(2) ? b.wide : b.flat, other = shape == b.wide ? b.flat : b.wide;
      const auto kind = static_cast<Bench::Kind>(pick(10) < 5 ? 0 : pick(5));
      if (kind == Bench::kDeformation) values.push_back(b.node(kind, {any(other)}, shape));
      else if (pick(2)) values.push_back(b.node(kind, {any(shape), any(shape)}, shape));
      else values.push_back(b.node(kind, {any(shape)}, shape));
    }
    b.order();
    CostKeeper keeper(b.d);
    keeper.start();
    ASSERT_EQ(keeper.difference(), "") << "seed " << seed;
    for (int step = 0; step < 20; ++step) {
      const DraftState before(b.d);
      const Cost cost = keeper.cost();
      for (std::uint32_t changes = 1 + pick(3); changes > 0; --changes) {
        std::vector<DNode> alive;
        for (DNode n = b.d.first(); n; n = b.d[n].next) alive.push_back(n);
        if (alive.empty()) break;
        const DNode n = alive[pick(alive.size())];
        const std::uint32_t slot = pick(b.d[n].in_count);
        const DValue v = b.d.in(n, slot), y = b.d.out(n);
        if (b.d[y].use_count == 0 && pick(2)) {
          b.d.erase(n);
        } else if (const DNode p = b.d.def(v); p && b.d.shape(b.d.in(p, 0)) == b.d.shape(v) && pick(2)) {
          b.d.set_in(n, slot, b.d.in(p, 0));  // past its producer
        } else {
          const DValue in[] = {v}, out[] = {b.d.new_value(b.d.shape(v), DType::Float)};
          b.d.new_node(pick(3) ? NodeClass::Elementwise : NodeClass::Concat, {}, in, out, n);
          b.d.set_in(n, slot, out[0]);
        }
      }
      const Cost priced = keeper.price();
      if (pick(2)) {
        keeper.keep();
        b.d.commit();
        ASSERT_EQ(text(keeper.cost()), text(priced)) << "seed " << seed;
        ASSERT_EQ(keeper.difference(), "") << "seed " << seed << ", step " << step;
      } else {
        b.d.roll_back();
        ASSERT_EQ(before.difference(b.d), "") << "seed " << seed << ", step " << step;
        ASSERT_EQ(text(keeper.cost()), text(cost)) << "seed " << seed;
      }
      b.d.clear_touched();
    }
  }
}

}  // namespace
}  // namespace graphopt
