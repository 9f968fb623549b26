// What --verify-each compares of facts: it finds what a change without notice left behind and values that
// mean something else than before, accepts facts that only one side has, and changes nothing.
#include "infer/infer.h"
#include "infer/verify.h"
#include "infer_case.h"
#include "onnx/reader.h"
#include "passes/pipeline.h"

namespace graphopt {
namespace {

constexpr const char* kJoin = R"(g (float[2] a, float[3] b, float[1] e) => (float[] y)
    { c = Concat <axis = 0> (a, a)  s = Shape(c)  y = Expand(e, s) })";

std::string found(InferCase& c) {
  const auto error = c.facts->verify();
  return error ? to_string(*error) : "";
}

// Changes a node without telling the inference, as a defect would.
void change_unseen(InferCase& c, NodeId n, std::size_t slot, const std::string& to) {
  c.model->remove_listener(c.facts.get());
  c.model->set_operand(n, slot, c.value(to));
  c.model->add_listener(c.facts.get());
}

TEST(InferVerify, FindsAnExtentThatIsOld) {
  InferCase c(kJoin);
  EXPECT_EQ(found(c), "");
  change_unseen(c, c.node_of("c"), 1, "b");
  const std::string text = found(c);
  EXPECT_NE(text.find("value 'c'"), std::string::npos) << text;
  EXPECT_NE(text.find("float[4], but inference from scratch finds float[5]"), std::string::npos) << text;
}

TEST(InferVerify, FindsAnElementThatIsOld) {
  InferCase c(R"(g (float[2] a, float[3] b) => (int64[] y)
    { s = Shape(a)  y = Neg(s) })");
  change_unseen(c, c.node_of("s"), 0, "b");
  const std::string text = found(c);
  EXPECT_NE(text.find("value 's'"), std::string::npos) << text;
  EXPECT_NE(text.find("it is 2, but inference from scratch finds 3 (element 0)"), std::string::npos) << text;
}

TEST(InferVerify, FindsAnElementTypeARankAndAnExpressionThatAreOld) {
  InferCase c(R"(g (float[N] a, int32[N] b, float[N, 2] m) => (float[] x, float[] z)
    <int64[2] one = {0, 1}, int64[2] two = {0, 2}>
    { x = Neg(a)  z = Pad(a, one) })");
  change_unseen(c, c.node_of("x"), 0, "b");
  EXPECT_NE(found(c).find("float[N], but inference from scratch finds int32[N]"), std::string::npos);
  change_unseen(c, c.node_of("x"), 0, "m");
  EXPECT_NE(found(c).find("float[N], but inference from scratch finds float[N, 2]"), std::string::npos);
  change_unseen(c, c.node_of("x"), 0, "a");
  EXPECT_EQ(found(c), "");
  change_unseen(c, c.node_of("z"), 1, "two");
  EXPECT_NE(found(c).find("float[N + 1], but inference from scratch finds float[N + 2]"), std::string::npos);
}

// The MatMul that requires M = 3 becomes dead: an inference from scratch does not learn it, the kept one
// knows it still, and both are right.
TEST(InferVerify, AcceptsWhatAGoneNodeAsserted) {
  InferCase c(R"(g (float[M] k, float[2, 3] w) => (float[] c, float[] y)
    { c = Neg(k)  y = MatMul(w, k) })");
  EXPECT_EQ(c.type("c"), "float[3]");
  const ValueId out[] = {c.value("c"), c.value("c")};
  c.model->set_graph_outputs(c.model->main(), out);
  c.facts->update();
  EXPECT_EQ(found(c), "");
  EXPECT_EQ(c.type("c"), "float[3]") << "the comparison must leave the kept facts as they are";
  c.facts->run();
  EXPECT_EQ(c.type("c"), "float[M]");
}

// Updates after a comparison find what they would have found without it.
TEST(InferVerify, UpdatesGoOn) {
  InferCase c(kJoin);
  EXPECT_EQ(found(c), "");
  c.model->set_operand(c.node_of("c"), 1, c.value("b"));
  c.facts->update();
  EXPECT_EQ(c.type("c"), "float[5]");
  EXPECT_EQ(c.elements("s"), "5");
  EXPECT_EQ(found(c), "");
}

// Both MatMuls cannot run in one run. What each says about M is a matter of order.
TEST(InferVerify, SaysNothingOfAModelWithoutRuns) {
  InferCase c(
      R"(g (float[M] k, float[2, 3] w, float[2, 4] v, float[2] a, float[3] b) => (float[] y, float[] z,
    float[] c) { y = MatMul(w, k)  z = MatMul(v, k)  c = Concat <axis = 0> (a, a) })");
  change_unseen(c, c.node_of("c"), 1, "b");
  EXPECT_EQ(found(c), "");
}

// A rewrite that changes what a value means tells inference of it, so kept and fresh facts are the same.
TEST(InferVerify, ARecordFindsAValueThatMeansSomethingElse) {
  InferCase c(kJoin);
  FactRecord record(*c.model, *c.facts);
  EXPECT_FALSE(record.compare(*c.model, *c.facts));
  c.model->set_operand(c.node_of("c"), 1, c.value("b"));
  c.facts->update();
  EXPECT_EQ(found(c), "");
  const auto error = record.compare(*c.model, *c.facts);
  ASSERT_TRUE(error);
  EXPECT_NE(to_string(*error).find("before the pass it was float[4], and after it float[5]"),
            std::string::npos)
      << to_string(*error);
  EXPECT_FALSE(record.compare(*c.model, *c.facts)) << "the record is taken anew";
}

// As a fold kernel that gives 3 for the extent 2.
TEST(InferVerify, ARecordFindsAConstantThatWasAnotherNumber) {
  InferCase c(R"(g (float[2] a) => (int64[] y) { s = Shape(a)  y = Neg(s) })");
  FactRecord record(*c.model, *c.facts);
  const std::int64_t three[] = {3};
  c.model->make_constant(c.value("s"), c.model->make_int64s(three));
  c.facts->update();
  const auto error = record.compare(*c.model, *c.facts);
  ASSERT_TRUE(error);
  EXPECT_NE(to_string(*error).find("before the pass it was 2, and after it 3 (element 0)"), std::string::npos)
      << to_string(*error);
}

// A value whose shape a pass changes gets another name: it is not the value that it was.
TEST(InferVerify, ARecordComparesByName) {
  InferCase c(kJoin);
  FactRecord record(*c.model, *c.facts);
  c.model->set_operand(c.node_of("c"), 1, c.value("b"));
  c.model->retype(c.value("c"), c.model->fresh_name("c_longer"));
  c.facts->run();
  const auto error = record.compare(*c.model, *c.facts);
  ASSERT_TRUE(error);
  EXPECT_NE(to_string(*error).find("value 's'"), std::string::npos) << to_string(*error);
}

// What --verify-each says where the first of two passes leaves a Concat of another length: `defect` does it,
// after the first pass has been found good.
template <class Defect> std::string said_of(InferCase& c, const Defect& defect) {
  PipelineOptions options;
  options.passes = {"dead-code", "drop-identity"};
  options.verify_each = true;
  options.after_pass = [&](std::string_view pass, const Model&, bool) {
    if (pass == "dead-code") defect();
  };
  const auto done = run_pipeline(*c.model, *c.facts, options);
  return done ? "" : to_string(done.error());
}

TEST(InferVerify, ThePipelineNamesThePassAndTheValue) {
  InferCase unseen(kJoin), seen(kJoin);
  const std::string of_kept = said_of(unseen, [&] { change_unseen(unseen, unseen.node_of("c"), 1, "b"); });
  EXPECT_NE(of_kept.find("value 'c': pass 'drop-identity': what is kept about it is float[4]"),
            std::string::npos)
      << of_kept;
  const std::string of_meaning = said_of(seen, [&] {
    seen.model->set_operand(seen.node_of("c"), 1, seen.value("b"));
    seen.facts->update();
  });
  EXPECT_NE(of_meaning.find("value 'c': pass 'drop-identity': before the pass it was float[4]"),
            std::string::npos)
      << of_meaning;
}

// Facts of a model that a runtime refuses follow from what never happens: those kept and those found from
// scratch need not agree. No dim shows it here.
TEST(InferVerify, ThePipelineComparesNoFactsOfAModelThatIsRefused) {
  InferCase c(R"(g (float[2] a, float[3] b, float[2, 3] p, float[1] q) => (float[] y, float[] z)
    { c = Concat <axis = 0> (a, a)  s = Shape(c)  y = Expand(q, s)  z = Concat <axis = 0> (p, q) })");
  EXPECT_EQ(said_of(c, [&] { change_unseen(c, c.node_of("c"), 1, "b"); }), "");
}

// Only of a model that was refused before the first pass: a pass that makes a node like this is in error.
TEST(InferVerify, ThePipelineComparesFactsWhereAPassMakesANodeThatIsRefused) {
  InferCase c(R"(g (float[2] a, float[3] b, float[4] e) => (float[] y)
    { c = Concat <axis = 0> (a, a)  y = Add(c, e) })");
  const std::string text = said_of(c, [&] { change_unseen(c, c.node_of("c"), 1, "b"); });
  EXPECT_NE(text.find("float[4], but inference from scratch finds float[5]"), std::string::npos) << text;
}

}  // namespace
}  // namespace graphopt
