// What tells operators of two graphs apart: slots in value numbers, conflicts in scores.

#include "mapping/scores.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "infer_case.h"
#include "mapping/map_graphs.h"
#include "mapping/names.h"
#include "mapping/view.h"

namespace graphopt::mapping {
namespace {

// p and q compute the same; which operand of the Sub each is tells them apart.
TEST(MappingEvidence, SlotsTellOperandsApart) {
  const InferCase graph("g (float[2] x) => (float[2] y) { p = Sin (x)  q = Sin (x)  y = Sub (p, q) }");
  const Mapping m = map_graphs(*graph.model, *graph.facts, *graph.model, *graph.facts, {});
  ASSERT_EQ(m.scopes[0].pairs.size(), 3U);
  for (const Pair& p : m.scopes[0].pairs) {
    EXPECT_EQ(p.why, Why::Cones);
    EXPECT_EQ(name_of(*m.scopes[0].a, p.a), name_of(*m.scopes[0].b, p.b));
  }
}

// Two sides of one graph, with all that a score needs.
struct Evidence {
  explicit Evidence(const std::string& text) : graph(text), subject(*graph.model, *graph.facts) {
    for (auto* side : {&a, &b}) *side = std::make_unique<Side>(subject, graph.model->main(), labels);
    ends = find_ends(*a, *graph.facts, *b, *graph.facts);
    matching = std::make_unique<Matching>(*a, *b);
    view = std::make_unique<View>(*matching);
    scores = std::make_unique<Scores>(*matching, *view, ends, true, false);
  }
  Index op(const std::string& name) const {
    for (Index i = 0; i < a->size(); ++i)
      if (name_of(*a, i) == name) return i;
    return kNone;
  }
  double score(const std::string& x, const std::string& y) const { return scores->of(op(x), op(y)).total; }

  InferCase graph;
  Subject subject;
  Labels labels;
  std::unique_ptr<Side> a, b;
  Ends ends;
  std::unique_ptr<Matching> matching;
  std::unique_ptr<View> view;
  std::unique_ptr<Scores> scores;
};

TEST(MappingEvidence, ProducersThatArePairsWithOthersCountAgainst) {
  Evidence e(
      "g (float[2] x, float[2] z) => (float[2] y) { p = Relu (x) q = Relu (z) s = Sin (p) t = Sin (q) y = "
      "Add (s, t) }");
  const double before_right = e.score("s", "s"), before_wrong = e.score("s", "t");
  for (const char* name : {"p", "q"}) ASSERT_TRUE(e.matching->add(e.op(name), e.op(name), 1, Why::Cones));
  EXPECT_GT(e.score("s", "s"), before_right);
  EXPECT_LT(e.score("s", "t"), before_wrong);
}

}  // namespace
}  // namespace graphopt::mapping
