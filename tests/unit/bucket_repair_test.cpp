// What repairs add to a model. That repaired models give what the original gives is held by
// tests/equal/bucket_repairs.py.
#include "buckets/promise.h"
#include "buckets/repair/repair.h"
#include "buckets/symbols.h"

#include <gtest/gtest.h>

#include <memory>

#include "buckets/marks/parse_marks.h"
#include "ir/verify.h"
#include "onnx/reader.h"

namespace graphopt {
namespace {

struct Case {
  Case(const std::string& text, std::vector<std::string> specs, int opset = 21) {
    std::vector<Warning> warnings;
    const std::string header = "<ir_version: 10, opset_import: [\"\" : " + std::to_string(opset) + "]>\n";
    auto loaded = load_model_from_memory(header + text, "case", "", warnings);
    if (!loaded) {
      ADD_FAILURE() << "not loaded: " << text;
      return;
    }
    model = std::make_unique<Model>(std::move(*loaded));
    Result<BucketMarks> parsed = parse_marks(specs, "");
    if (!parsed || !prepare_symbols(*model, *parsed)) {
      ADD_FAILURE() << "wrong marks";
      return;
    }
    marks = *std::move(parsed);
    inference.emplace(*model, promised(*model, marks));
    inference->run();
    Result<Repaired> done = repair(*model, *inference, marks);
    if (done) repaired = *std::move(done);
    else ADD_FAILURE() << done.error().what;
    EXPECT_FALSE(verify(*model));
  }

  std::size_t count(OpKind kind) const {
    std::size_t found = 0;
    for (NodeId n = model->first_node(model->main()); n; n = model->next_node(n))
      if (model->kind(n) == kind) ++found;
    return found;
  }
  std::string kinds() const {
    std::string out;
    for (const RepairedNode& s : repaired.steps)
      out += (out.empty() ? "" : ", ") + std::string(word(s.kind)) + " " + s.node;
    return out;
  }
  std::string inputs() const {
    std::string out;
    for (const ValueId v : model->graph_inputs(model->main()))
      out += (out.empty() ? "" : ", ") + std::string(model->text(model->value(v).name));
    return out;
  }
  BucketVerdict verdict() const { return repaired.decision.verdict; }

  std::unique_ptr<Model> model;
  BucketMarks marks;
  std::optional<Inference> inference;
  Repaired repaired;
};

TEST(BucketRepair, ASafeModelStaysAsItIs) {
  const Case c("g (float[s] x) => (float[s] y) { y = Relu (x) }", {"s=2,4"});
  EXPECT_EQ(c.verdict(), BucketVerdict::Proved);
  EXPECT_EQ(c.kinds(), "");
  EXPECT_EQ(c.inputs(), "x");
  EXPECT_EQ(c.count(OpKind::Range), 0U);
}

TEST(BucketRepair, AMeanDividesByTheTrueCount) {
  const Case c(
      "g (float[b,s,3] x) => (float[b,3] y) <int64[1] a = {1}> "
      "{ [pool] y = ReduceMean <keepdims = 0> (x, a) }",
      {"s=2,4", "b=1,2"});
  EXPECT_EQ(c.verdict(), BucketVerdict::Proved);
  EXPECT_EQ(c.kinds(), "true-mean pool");
  EXPECT_EQ(c.repaired.steps[0].op, "ReduceMean");
  EXPECT_EQ(c.inputs(), "x, true_len_s");
  EXPECT_EQ(c.count(OpKind::ReduceMean), 0U);
  const NodeId last = c.model->value(c.model->graph_output(c.model->main(), 0)).def;
  EXPECT_EQ(c.model->kind(last), OpKind::Div);
  EXPECT_EQ(c.model->text(c.model->node(last).name), "pool");
  EXPECT_EQ(c.model->text(c.model->value(c.model->output(last, 0)).name), "y");
  EXPECT_EQ(c.repaired.decision.choice.inputs[0].element.kind, PadElement::Kind::Any);
}

TEST(BucketRepair, MasksOfOneLayoutAreShared) {
  const Case c(
      R"(g (float[1,1,h,w] x) => (float[1,1,h,w] y)
    <float[1,1,3,3] k = {1,2,3,4,5,6,7,8,9}, float[1] b = {1}> {
    u = Conv <pads = [1,1,1,1]> (x, k, b)
    v = Conv <pads = [1,1,1,1]> (u, k, b)
    y = Conv <pads = [1,1,1,1]> (v, k, b)
  })",
      {"h=4,8", "w=4,8"});
  EXPECT_EQ(c.verdict(), BucketVerdict::Proved);
  EXPECT_EQ(c.kinds(), "mask v, mask y");
  EXPECT_EQ(c.count(OpKind::Less), 2U);  // of h and of w
  EXPECT_EQ(c.count(OpKind::And), 1U);
  EXPECT_EQ(c.count(OpKind::Where), 2U);
  EXPECT_EQ(c.inputs(), "x, true_len_h, true_len_w");
}

TEST(BucketRepair, AMergedAxisIsMaskedByItsLayout) {
  const Case c(R"(g (float[b,s,2] x) => (float[1,2] y) <int64[2] to = {-1, 2}, int64[1] a = {0}> {
    e = Cos (x)
    flat = Reshape (e, to)
    y = ReduceSum (flat, a)
  })",
               {"s=2,4", "b=1,2"});
  EXPECT_EQ(c.verdict(), BucketVerdict::Proved);
  EXPECT_EQ(c.kinds(), "mask y");
  EXPECT_EQ(c.count(OpKind::And), 1U);
  EXPECT_EQ(c.count(OpKind::Reshape), 2U);
}

TEST(BucketRepair, WhereAnOpsetHasNoMaskTheModelStaysRefused) {
  const std::string text = "g (float[s,3] x) => (float[1,3] y) { y = ReduceMean <axes = [0]> (x) }";
  const Case old(text, {"s=2,4"}, 10);
  EXPECT_EQ(old.verdict(), BucketVerdict::Refused);
  EXPECT_EQ(old.repaired.unrepaired, "opset 10 has no Range to make a mask of");
  EXPECT_EQ(old.inputs(), "x");
  EXPECT_EQ(Case(text, {"s=2,4"}, 11).verdict(), BucketVerdict::Proved);
}

TEST(BucketRepair, WhatHasNoRepairIsToldWithTheStepsSoFar) {
  const Case c(R"(g (float[s,6] x) => (float[k,l] y) <int64[1] a = {1}, int64[2] to = {3, -1}> {
    e = Exp (x)
    zero = Constant <value_int = 0> ()
    m = CumSum <reverse = 1> (e, zero)
    y = Reshape (m, to)
  })",
               {"s=2,4"});
  EXPECT_EQ(c.verdict(), BucketVerdict::Refused);
  EXPECT_EQ(c.repaired.unrepaired, "no repair is known for this");
}

TEST(BucketRepair, AnInputGetsANameThatIsFree) {
  const Case c(
      "g (float[s] x, float[1] true_len_s) => (float[1] y) "
      "{ m = ReduceMean (x) y = Add (m, true_len_s) }",
      {"s=2,4"}, 13);
  EXPECT_EQ(c.verdict(), BucketVerdict::Proved);
  ASSERT_EQ(c.repaired.lengths.size(), 1U);
  EXPECT_NE(c.model->text(c.model->value(c.repaired.lengths[0].input).name), "true_len_s");
}

TEST(BucketRepair, ARecurrenceGetsItsLengths) {
  const Case c(R"(g (float[t,b,2] x, float[2,9,2] w, float[2,9,3] r) => (float[2,b,3] h) {
    y, h = GRU <hidden_size = 3, direction = "bidirectional"> (x, w, r)
  })",
               {"t=2,4", "b=1,2"});
  EXPECT_EQ(c.verdict(), BucketVerdict::Proved);
  EXPECT_EQ(c.kinds(), "lengths y");
  EXPECT_EQ(c.inputs(), "x, w, r, true_len_t");  // the batch's own extent is enough
}

TEST(BucketRepair, ASliceFromTheEndKeepsItsOtherCuts) {
  const Case c(R"(g (float[s,6] x) => (float[2,3] y)
    <int64[2] f = {-2, 1}, int64[2] t = {9223372036854775807, 4}> { y = Slice (x, f, t) })",
               {"s=3,4"});
  EXPECT_EQ(c.verdict(), BucketVerdict::Refused);  // a run of one element has no second one
  const Case d(R"(g (float[s,6] x) => (float[2,3] y)
    <int64[2] f = {-2, 1}, int64[2] t = {9223372036854775807, 4}> { y = Slice (x, f, t) })",
               {"s=3..8:pow2"});
  EXPECT_EQ(d.verdict(), BucketVerdict::Proved) << d.repaired.unrepaired;
  EXPECT_EQ(d.count(OpKind::Slice), 1U);
  EXPECT_EQ(d.count(OpKind::Gather), 1U);
}

}  // namespace
}  // namespace graphopt
