// Which elementwise nodes of a draft are in the region of which anchor, and what the limits of the checks
// count.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "draft/draft.h"
#include "hoist/cost.h"
#include "ir/model.h"
#include "regions/regions.h"

namespace graphopt {
namespace {

// A draft that is built by hand, node by node in topological order.
struct Bench {
  Model model;
  Draft d{model, model.main()};
  ShapeId wide = d.shapes().intern(std::vector<std::int64_t>{2, 3});
  ShapeId row = d.shapes().intern(std::vector<std::int64_t>{3});

  DValue value(ShapeId shape) {
    DraftValue v;
    v.shape = shape;
    v.dtype = DType::Float;
    return d.put_value(v);
  }
  DValue node(NodeClass node_class, bool anchor, const std::vector<DValue>& in, ShapeId shape) {
    DraftNode n;
    n.real_in = static_cast<std::uint32_t>(in.size());
    n.node_class = node_class;
    n.anchor = anchor;
    const DValue out[] = {value(shape)};
    d.put_node(n, in, out);
    return out[0];
  }
  DValue anchor(const std::vector<DValue>& in, ShapeId shape) {
    return node(NodeClass::Other, true, in, shape);
  }
  DValue barrier(const std::vector<DValue>& in, ShapeId shape) {  // opens no region
    return node(NodeClass::Other, false, in, shape);
  }
  DValue elementwise(const std::vector<DValue>& in, ShapeId shape) {
    return node(NodeClass::Elementwise, false, in, shape);
  }
  DValue chain(DValue v, int length) {
    for (int i = 0; i < length; ++i) v = elementwise({v}, d.shape(v));
    return v;
  }
  void order() {
    std::vector<std::uint32_t> all(d.node_count());
    for (std::uint32_t i = 0; i < all.size(); ++i) all[i] = i;
    d.set_order(all);
  }
  DNode region(DValue v) const { return d[d.def(v)].region; }
  std::uint64_t hits(SearchLimit limit) const {
    return d.limit_hits().times[static_cast<std::size_t>(limit)];
  }
};

TEST(RegionGrowth, AnOperandOfTheResultsShapeLeadsIntoTheConsumersRegion) {
  Bench b;
  const DValue full = b.elementwise({b.value(b.wide)}, b.wide);
  const DValue broadcast = b.elementwise({b.value(b.row)}, b.row);
  const DValue h = b.anchor({b.value(b.wide)}, b.wide);
  const DValue m = b.elementwise({h, full, broadcast}, b.wide);
  b.order();
  Regions(b.d).start();
  EXPECT_EQ(b.region(m), b.d.def(h));
  EXPECT_EQ(b.region(full), b.d.def(h));
  EXPECT_FALSE(b.region(broadcast));  // as many elements as m has are not what it computes
}

TEST(RegionGrowth, AnAnchorTakesTheProducersOfAllItsOperands) {
  Bench b;
  const DValue full = b.elementwise({b.value(b.wide)}, b.wide),
               other = b.elementwise({b.value(b.row)}, b.row);
  const DValue h = b.anchor({full, other}, b.wide);
  b.order();
  Regions(b.d).start();
  EXPECT_EQ(b.region(full), b.d.def(h));
  EXPECT_EQ(b.region(other), b.d.def(h));
}

// The walk comes to these readers from a node that has just joined, not by looking at what is beside them.
TEST(RegionGrowth, AReaderOfAnotherShapeDoesNotJoinAfterItsProducer) {
  Bench b;
  const DValue h = b.anchor({b.value(b.row)}, b.row), n = b.elementwise({h}, b.row);
  const DValue broadcast = b.elementwise({n, b.value(b.wide)}, b.wide);
  const DValue unknown = b.elementwise({n, b.anchor({b.value({})}, {})}, {});
  b.order();
  Regions(b.d).start();
  EXPECT_EQ(b.region(n), b.d.def(h));
  EXPECT_FALSE(b.region(broadcast));
  EXPECT_FALSE(b.region(unknown));
}

// Two values of unknown shapes need not have one shape.
TEST(RegionGrowth, AnUnknownShapeIsNotTheShapeOfTheConsumer) {
  Bench b;
  const DValue e = b.elementwise({b.value({})}, {});
  const DValue m = b.elementwise({e}, {});
  const DValue h = b.anchor({m}, b.wide);
  const DValue after = b.anchor({b.value({})}, {});
  const DValue reader = b.elementwise({after}, {});
  b.order();
  Regions(b.d).start();
  EXPECT_EQ(b.region(m), b.d.def(h));
  EXPECT_FALSE(b.region(e));
  EXPECT_FALSE(b.region(reader));
}

TEST(RegionGrowth, ABodyThatReadsAValueDoesNotTakeItsProducer) {
  Bench b;
  const DValue e = b.elementwise({b.value(b.wide)}, b.wide);
  const DValue in[] = {b.value(b.wide), e}, out[] = {b.value(b.wide)};
  DraftNode loop;
  loop.anchor = true;
  loop.real_in = 1;  // the second one is a capture
  b.d.put_node(loop, in, out);
  b.order();
  Regions(b.d).start();
  EXPECT_FALSE(b.region(e));
}

// A node that reads a region in two slots asks once whether it may join.
TEST(RegionGrowth, ARegionThatIsReadTwiceIsAskedOnce) {
  const auto hits = [](bool twice) {
    Bench b;
    const DValue h = b.anchor({b.value(b.wide)}, b.wide);
    const DValue large = b.chain(h, 600);  // more than a check for a cycle visits
    const DValue outside = b.barrier({b.value(b.wide)}, b.wide);
    const DValue n = b.elementwise({large, twice ? large : outside, outside}, b.wide);
    b.order();
    Regions(b.d).start();
    EXPECT_EQ(b.region(large), b.d.def(h));
    EXPECT_FALSE(b.region(n));
    return b.hits(SearchLimit::RegionVisits);
  };
  EXPECT_GT(hits(false), 0u);
  EXPECT_EQ(hits(true), hits(false));
}

// A long chain that no region touches is not cut short, so no limit decided anything.
TEST(RegionGrowth, WithoutARegionNearbyNoLimitIsMet) {
  const auto hits = [](bool near) {
    Bench b;
    const DValue x = b.value(b.wide);
    const DValue first = near ? b.anchor({x}, b.wide) : b.barrier({x}, b.wide);
    const DValue last = b.chain(first, 200);  // beyond region_update
    b.order();
    CostKeeper keeper(b.d);
    keeper.start();
    const DValue in[] = {last}, out[] = {b.d.new_value(b.wide, DType::Float)};
    b.d.new_node(NodeClass::Elementwise, {}, in, out, {});
    keeper.price();
    return b.hits(SearchLimit::RegionUpdate);
  };
  EXPECT_EQ(hits(false), 0u);
  EXPECT_EQ(hits(true), 1u);
}

TEST(RegionGrowth, DifferenceNamesEachFault) {
  const auto difference = [](auto fault) {
    Bench b;
    const DValue h = b.anchor({b.value(b.wide)}, b.wide), e = b.elementwise({h}, b.wide);
    const DValue far = b.elementwise({b.value(b.wide)}, b.wide), other = b.barrier({e}, b.wide);
    const DValue last = b.anchor({other}, b.wide);
    b.order();
    Regions regions(b.d);
    regions.start();
    EXPECT_EQ(regions.difference(), "");
    fault(b, b.d.def(h), b.d.def(e), b.d.def(far), b.d.def(other), b.d.def(last));
    return regions.difference();
  };
  EXPECT_EQ(difference([](Bench& b, DNode h, DNode, DNode far, DNode, DNode) { b.d.set_region(far, h); }),
            "node 2: it is not connected with its region");
  EXPECT_EQ(difference([](Bench& b, DNode, DNode e, DNode far, DNode, DNode) { b.d.set_region(e, far); }),
            "node 1: the anchor of its region is gone");
  EXPECT_EQ(
      difference([](Bench& b, DNode, DNode, DNode, DNode other, DNode last) { b.d.set_region(other, last); }),
      "node 3: it is in a region, and not elementwise");
  EXPECT_EQ(difference([](Bench& b, DNode, DNode, DNode, DNode, DNode last) { b.d.erase(last); }), "");
  EXPECT_EQ(difference([](Bench& b, DNode, DNode, DNode far, DNode, DNode last) {
              b.d.set_region(far, last);
              b.d.erase(last);
            }),
            "node 2: the anchor of its region is gone");
}

// The check collects a region to see what is connected; one that is too large is not checked, and no fault.
TEST(RegionGrowth, ARegionTooLargeToCollectIsNoDifference) {
  Bench b;
  const DValue h = b.anchor({b.value(b.wide)}, b.wide);
  const DValue last = b.chain(h, 600);
  b.order();
  Regions regions(b.d);
  regions.start();
  EXPECT_EQ(b.region(last), b.d.def(h));
  EXPECT_EQ(regions.difference(), "");
}

}  // namespace
}  // namespace graphopt
