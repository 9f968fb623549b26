// Symbols of extents that only a run knows: their ranges hold in every round of a loop and in every call of a
// function, and become narrower when more is known.

#include <gtest/gtest.h>

#include <string>

#include "infer_case.h"

namespace graphopt {
namespace {

Range range_of(const InferCase& c, const std::string& value, std::size_t axis) {
  return c.model->dims.range(c.facts->dims(c.value(value))[axis]);
}

// A NonZero finds at most as many elements as there are. The first round of the loop has 4 of them.
TEST(InferFreshSymbols, ALoopThatGrowsWhatItCarries) {
  const InferCase c(R"(g (float[4] x, int64 trips) => (last, all) {
    go = Constant <value: tensor = bool {1}> ()
    last, all = Loop (trips, go, x) <body = step (int64 i, bool go_in, float[n] p)
        => (bool go_out, float[m] q, int64[2] s) {
      found = NonZero (p)
      s = Shape (found)
      q = Concat <axis = 0> (p, p)
      go_out = Identity (go_in)
    }>
  })");
  EXPECT_EQ(range_of(c, "found", 1).high, Range::kMax);
  EXPECT_EQ(range_of(c, "found", 1).low, 0);
}

TEST(InferFreshSymbols, ALoopThatCarriesOneExtent) {
  const InferCase c(R"(g (float[4] x, int64 trips) => (last, all) {
    go = Constant <value: tensor = bool {1}> ()
    last, all = Loop (trips, go, x) <body = step (int64 i, bool go_in, float[n] p)
        => (bool go_out, float[m] q, int64[2] s) {
      found = NonZero (p)
      s = Shape (found)
      q = Neg (p)
      go_out = Identity (go_in)
    }>
  })");
  EXPECT_EQ(range_of(c, "found", 1).high, 4);
}

TEST(InferFreshSymbols, CallsWithDifferentOperands) {
  for (const bool small_first : {true, false}) {
    const std::string first = small_first ? "small" : "large", second = small_first ? "large" : "small";
    const InferCase c("g (float[3] small, float[100] large) => (a, b) {\n  a = local.found (" + first +
                      ")\n  b = local.found (" + second + ")\n}\n" +
                      R"(<domain: "local", opset_import: ["" : 21]> found (x) => (y) { y = NonZero (x) })");
    // The facts of the second call may be weaker than it alone would have them, and must not be those of the
    // first.
    EXPECT_GE(range_of(c, small_first ? "b" : "a", 1).high, 100);
    EXPECT_GE(range_of(c, small_first ? "a" : "b", 1).high, 3);
  }
}

TEST(InferFreshSymbols, ARangeBecomesNarrowerWhenMoreIsKnown) {
  InferCase c("g (float[3] x, float[a] z) => (y) { q = Identity (z)  y = NonZero (q) }");
  Model& m = *c.model;
  EXPECT_GT(range_of(c, "y", 1).high, 3);
  const DimId before = c.facts->dims(c.value("y"))[1];
  m.set_operand(c.node_of("q"), 0, c.value("x"));
  c.facts->update();
  EXPECT_EQ(range_of(c, "y", 1).high, 3);
  EXPECT_EQ(m.dims.range(before).high, 3) << "of the same symbol";
}

}  // namespace
}  // namespace graphopt
