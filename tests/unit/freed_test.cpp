// What a file loses with reads and nodes that go (rewrite/freed.h).
#include "rewrite/freed.h"

#include <gtest/gtest.h>

#include <vector>

#include "infer_case.h"
#include "onnx/reader.h"

namespace graphopt {
namespace {

std::uint64_t freed_with(const InferCase& c, const char* result) {
  return bytes_freed_with(*c.model, c.model->value(c.value(result)).def);
}

TEST(Freed, AConstantGoesWithItsLastRead) {
  const InferCase c(R"(g (float[2] x) => (float[2] y, float[2] z)
    <float[2] once = {1, 2}, float[2] twice = {3, 4}, float[2] shared = {5, 6}> {
      a = Sum (x, once, twice, twice, shared)
      y = Identity (a)
      z = Add (x, shared)
    })");
  ASSERT_TRUE(c.model);
  EXPECT_EQ(freed_with(c, "a"), 16U);  // shared is read by z
  const ValueId one[] = {c.value("twice")}, both[] = {c.value("twice"), c.value("twice")};
  EXPECT_EQ(bytes_freed(*c.model, c.model->main(), one), 0U);
  EXPECT_EQ(bytes_freed(*c.model, c.model->main(), both), 8U);
}

TEST(Freed, NodesUpstreamGoThatNothingElseNeeds) {
  const InferCase c(R"(g (float[2] x) => (float[2] y, float[2] z)
    <float[2] f = {1, 2}, float[2] k = {3, 4}, float[2] kept = {5, 6}> {
      a = Neg (f)
      b = Mul (a, k)
      d = Add (a, b)
      e = Neg (kept)
      y = Sum (x, d, e)
      z = Add (x, e)
    })");
  ASSERT_TRUE(c.model);
  EXPECT_EQ(freed_with(c, "d"), 16U);  // a is read by b and d, which both go
  EXPECT_EQ(freed_with(c, "b"), 8U);   // a stays for d
  EXPECT_EQ(freed_with(c, "y"), 16U);  // e stays for z
}

TEST(Freed, BodiesGoWithTheirNodes) {
  const InferCase c(R"(g (bool p, float[2] x) => (float[2] y)
    <float[2] captured = {1, 2}> {
      i = If (p) <then_branch = t () => (float[2] u) <float[2] inside = {3, 4}>
                    { u = Add (captured, inside) },
                  else_branch = e () => (float[2] w) { w = Neg (captured) }>
      y = Add (x, i)
    })");
  ASSERT_TRUE(c.model);
  EXPECT_EQ(freed_with(c, "y"), 16U);
}

TEST(Freed, AGraphOutputStays) {
  const InferCase c(R"(g (float[2] x) => (float[2] y, float[2] a) <float[2] f = {1, 2}> {
      a = Neg (f)
      y = Add (x, a)
    })");
  ASSERT_TRUE(c.model);
  EXPECT_EQ(freed_with(c, "y"), 0U);
}

}  // namespace
}  // namespace graphopt
