// Where a search over moves says that it did something.

#include "hoist/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "infer_case.h"

namespace graphopt {
namespace {

// A move makes the Reshape of y anew. It is no node of the file, so what is refused there is said of the node
// upstream of it.
TEST(Search, ANewNodeStandsForTheNodeUpstreamOfIt) {
  InferCase given(R"(g (float[4,3] x, float[3,6] w) => (float[8,3] y, float[8,3] z) {
    s = Constant <value = int64[2] {8, 3}> ()
    n = MatMul (x, w)
    r = Reshape (n, s)
    a = Relu (r)
    y = Neg (a)
    z = Softmax (r)
  })");
  Journal journal;
  journal.begin_pass("test");
  PassOptions options;
  RefusalLog refusals;
  refusals.explain = {"test"};
  PassContext c{*given.model, *given.facts, journal, options, &refusals};
  const NodeId neg = given.model->value(given.value("y")).def;
  const Place place = place_of(*given.model, neg);
  MoveKinds kinds;
  kinds.rebase = true;
  EXPECT_EQ(search_moves(c, kinds).kept, 1u);
  const auto at = std::ranges::find(refusals.refused, "y", &RefusedCandidate::value);
  ASSERT_NE(at, refusals.refused.end());
  EXPECT_EQ(at->place, place) << at->place.node << " " << at->place.op;
}

}  // namespace
}  // namespace graphopt
