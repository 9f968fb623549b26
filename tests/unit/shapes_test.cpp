// How the dims of two shapes with one element count are matched. The expected groups are worked out by hand.

#include "draft/shapes.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace graphopt {
namespace {

std::string text(const std::vector<DimGroup>& groups) {
  std::string out;
  for (const DimGroup& g : groups)
    out += (out.empty() ? "" : " ") + std::to_string(g.a_begin) + "-" + std::to_string(g.a_end) + "=" +
           std::to_string(g.b_begin) + "-" + std::to_string(g.b_end);
  return out;
}

class Shapes : public testing::Test {
 protected:
  using Dims = std::vector<DimId>;
  DimPool pool;
  ShapeTable shapes{pool};
  DimId c(std::int64_t v) { return pool.constant(v); }
  DimId n = pool.symbol("n"), m = pool.symbol("m");  // may be 0
  DimId pos = pool.symbol("pos", {1, Range::kMax}), pos2 = pool.symbol("pos2", {1, Range::kMax});

  std::string groups(const Dims& a, const Dims& b) { return text(dim_groups(shapes, a, b)); }
  std::string end(const Dims& a, const Dims& b) { return text(common_end(shapes, a, b)); }
};

TEST_F(Shapes, GroupsAreTheFinestOfEqualProduct) {
  EXPECT_EQ(groups({c(2), c(3), c(4)}, {c(6), c(4)}), "0-2=0-1 2-3=1-2");
  EXPECT_EQ(groups({c(6), c(4)}, {c(2), c(3), c(4)}), "0-1=0-2 1-2=2-3");
  EXPECT_EQ(groups({c(4), c(6)}, {c(6), c(4)}), "0-2=0-2");
  EXPECT_EQ(groups({n, c(6)}, {n, c(2), c(3)}), "0-1=0-1 1-2=1-3");
  EXPECT_EQ(groups({pool.mul(n, m), c(3)}, {n, m, c(3)}), "0-1=0-2 1-2=2-3");
  EXPECT_EQ(groups({n, m, c(3)}, {pool.mul(n, m), c(3)}), "0-2=0-1 2-3=1-2");
  EXPECT_EQ(groups({c(3)}, {c(3), c(1)}), "0-1=0-1 1-1=1-2");
  EXPECT_EQ(groups({c(3), c(1)}, {c(3)}), "0-1=0-1 1-2=1-1");
  EXPECT_EQ(groups({}, {}), "");
}

TEST_F(Shapes, GroupsOfDimsThatCannotBeMatchedAreNone) {
  EXPECT_EQ(groups({c(2), c(3)}, {c(5)}), "");
  EXPECT_EQ(groups({n}, {m}), "");
  EXPECT_EQ(groups({c(2)}, {c(2), c(3)}), "");
  EXPECT_EQ(groups({c(2), c(3)}, {c(2)}), "");
  // Products that are no int64 are not equal.
  EXPECT_EQ(groups({c(std::int64_t{1} << 62), c(4)}, {c(3), c(5)}), "");
  EXPECT_EQ(groups({c(std::int64_t{1} << 62), c(4)}, {c(3), c(std::int64_t{1} << 61), c(8)}), "");
}

// Where one shape has no dim left, the other's are multiplied on, whichever product is the greater one by
// then.
TEST_F(Shapes, AnExtentOfZeroMakesProductsEqualAtTheEnd) {
  EXPECT_EQ(groups({c(3), c(0)}, {c(0)}), "0-2=0-1");
  EXPECT_EQ(groups({c(0)}, {c(3), c(0)}), "0-1=0-2");
}

TEST_F(Shapes, CommonEndIsWhatBothShapesEndWith) {
  EXPECT_EQ(end({n, m, c(4), pos}, {pos2, c(4), pos}), "0-2=0-1 2-3=1-2 3-4=2-3");
  EXPECT_EQ(end({n, m}, {pos2, c(4)}), "0-2=0-2");
  EXPECT_EQ(end({n, c(3)}, {pos2, c(4)}), "0-2=0-2");
  EXPECT_EQ(end({n, pos}, {m, pos2}), "0-2=0-2");
}

// [n, m, n] and [pos, n] have one count also where n is 0, whatever n * m is.
TEST_F(Shapes, CommonEndStopsAtAnExtentThatMayBeZero) {
  EXPECT_EQ(end({n, m, n}, {pos, n}), "0-3=0-2");
  EXPECT_EQ(end({n, m, n, c(4)}, {pos, n, c(4)}), "0-3=0-2 3-4=2-3");
  EXPECT_EQ(end({n, c(0)}, {m, c(0)}), "0-2=0-2");
}

// Nothing is left on one side: that the rest of the other is 1 in every run is not proven by any dim.
TEST_F(Shapes, CommonEndNeedsARestOnBothSides) {
  EXPECT_EQ(end({c(4), pos}, {n, c(4), pos}), "");
  EXPECT_EQ(end({n, c(4), pos}, {c(4), pos}), "");
  EXPECT_EQ(end({c(4), pos}, {c(4), pos}), "");
  EXPECT_EQ(end({}, {c(4)}), "");
  EXPECT_EQ(end({c(4)}, {}), "");
}

TEST_F(Shapes, CountsAreEqualByProductOrByStatement) {
  const auto shape = [&](const Dims& dims) { return shapes.intern(std::span<const DimId>(dims)); };
  EXPECT_TRUE(shapes.same_count(shape({n, c(6)}), shape({c(2), n, c(3)})));
  EXPECT_TRUE(shapes.same_count(shape({n}), shape({n})));
  EXPECT_FALSE(shapes.same_count(shape({n, c(6)}), shape({n, c(4)})));
  EXPECT_FALSE(shapes.same_count(shape({n}), shape({m})));
  EXPECT_FALSE(shapes.same_count({}, shape({n})));
  EXPECT_FALSE(shapes.same_count(shape({n}), {}));
  EXPECT_FALSE(shapes.same_count({}, {}));  // two shapes that are unknown
  const DimId large = c(std::int64_t{1} << 62);
  EXPECT_FALSE(shapes.same_count(shape({large, c(4)}), shape({large, c(8)})));
  EXPECT_TRUE(shapes.same_count(shape({large, c(4)}), shape({large, c(4)})));
  shapes.state_same_count(shape({n}), shape({m, c(2)}));
  shapes.state_same_count(shape({m, c(2)}), shape({pos}));
  shapes.state_same_count({}, shape({pos2}));
  shapes.state_same_count(shape({pos2}), {});
  EXPECT_TRUE(shapes.same_count(shape({n}), shape({pos})));
  EXPECT_FALSE(shapes.same_count(shape({n}), shape({pos2})));
}

TEST_F(Shapes, TheFormOfADeformationHoldsForAllSizes) {
  using Kind = DeformForm::Kind;
  using Numbers = std::vector<std::int64_t>;
  const auto form = [&](const Dims& from, const Dims& to) {
    return deform_form(shapes, shapes.intern(std::span<const DimId>(from)),
                       shapes.intern(std::span<const DimId>(to)));
  };
  EXPECT_EQ(form({n, c(1)}, {n, c(1)}).kind, Kind::Same);
  const DeformForm unsqueeze = form({n, m}, {c(1), n, c(1), m}), squeeze = form({n, c(1), m}, {n, m});
  EXPECT_EQ(unsqueeze.kind, Kind::Unsqueeze);
  EXPECT_EQ(unsqueeze.numbers, (Numbers{0, 2}));
  EXPECT_EQ(squeeze.kind, Kind::Squeeze);
  EXPECT_EQ(squeeze.numbers, (Numbers{1}));
  const DeformForm target = form({c(1), n, c(6)}, {n, c(1), c(2), c(3)});
  EXPECT_EQ(target.kind, Kind::Target);
  EXPECT_EQ(target.numbers, (Numbers{-1, 1, 2, 3}));
  const DeformForm turned =
      form({c(1), n, m}, {m, n, c(1)});  // no copy from that place, and two open extents
  EXPECT_EQ(turned.kind, Kind::None);
  EXPECT_TRUE(turned.numbers.empty());
  EXPECT_EQ(form({n}, {m}).kind, Kind::None);
  EXPECT_EQ(form({c(0)}, {c(1), c(0)}).kind, Kind::None);
  EXPECT_EQ(deform_form(shapes, {}, shapes.intern(Numbers{1})).kind, Kind::None);
  EXPECT_EQ(deform_form(shapes, shapes.intern(Numbers{1}), {}).kind, Kind::None);
  EXPECT_EQ(deform_form(shapes, {}, {}).kind, Kind::None);
}

}  // namespace
}  // namespace graphopt
