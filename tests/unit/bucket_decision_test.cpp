// Marks on a model: names that are places or expressions, verdicts, and what a verdict says of inputs and
// outputs. What the rules of padding say is held by tests/equal/bucket_*.py.
#include "buckets/decision.h"
#include "buckets/promise.h"
#include "buckets/symbols.h"

#include <gtest/gtest.h>

#include "buckets/marks/parse_marks.h"
#include "onnx/reader.h"

namespace graphopt {
namespace {

struct Case {
  Case(const std::string& text, std::vector<std::string> specs, std::vector<DimRelation> relations = {}) {
    std::vector<Warning> warnings;
    auto loaded =
        load_model_from_memory("<ir_version: 10, opset_import: [\"\" : 21]>\n" + text, "case", "", warnings);
    if (!loaded) {
      ADD_FAILURE() << "not loaded: " << text;
      return;
    }
    model = std::make_unique<Model>(std::move(*loaded));
    Result<BucketMarks> parsed = parse_marks(specs, "");
    if (!parsed) {
      error = parsed.error();
      return;
    }
    marks = *std::move(parsed);
    marks.dims = std::move(relations);
    if (Status ok = prepare_symbols(*model, marks); !ok) {
      error = ok.error();
      return;
    }
    inference.emplace(*model, promised(*model, marks));
    inference->run();
    Result<BucketDecision> decided = decide(*model, *inference, marks);
    if (decided) decision = *std::move(decided);
    else error = decided.error();
  }
  const PaddingAnalysis& analysis() const { return *decision.choice.analysis; }

  std::unique_ptr<Model> model;
  BucketMarks marks;
  std::optional<Inference> inference;
  BucketDecision decision;
  Error error;
};

TEST(BucketDecision, AnInputIsPaddedWithAsLittleAsTheProofNeeds) {
  const Case sum(
      "g (float[b,s] x) => (float[b] y) <int64[1] a = {1}> { y = ReduceSum <keepdims = 0> (x, a) }",
      {"s=4,8", "b=1,2"});
  EXPECT_EQ(sum.decision.verdict, BucketVerdict::Proved);
  ASSERT_EQ(sum.decision.choice.inputs.size(), 1U);
  EXPECT_EQ(sum.decision.choice.inputs[0].element.kind, PadElement::Kind::Number);
  EXPECT_EQ(sum.decision.choice.inputs[0].element.number, 0);
  EXPECT_EQ(sum.decision.buckets.size(), 4U);
  const Case rows("g (float[b,s] x) => (float[b,s] y) { y = Relu (x) }", {"s=4,8"});
  EXPECT_EQ(rows.decision.choice.inputs[0].element.kind, PadElement::Kind::Any);
}

TEST(BucketDecision, AnInputWhoseDimHasNoNameIsPaddedAsTheModelNeedsIt) {
  const Case product("g (float[2,s] x, float[?,3] w) => (float[2,3] y) { y = MatMul (x, w) }", {"s=4,8"});
  ASSERT_EQ(product.decision.verdict, BucketVerdict::Proved);
  ASSERT_EQ(product.decision.choice.inputs.size(), 2U);
  EXPECT_EQ(layouts_of(product.analysis(), product.decision.choice.inputs[1].input),
            (std::vector<std::string>{"s", "3"}));
}

TEST(BucketDecision, TargetsOfAMeanArePaddedWithTheIgnoredClass) {
  const auto loss = [](const std::string& attributes) {
    return "g (float[b,5] x, int64[b] t) => (float y) { y = SoftmaxCrossEntropyLoss <" + attributes +
           "> (x, t) }";
  };
  const Case ignored(loss("ignore_index = -100"), {"b=4,8"});
  ASSERT_EQ(ignored.decision.verdict, BucketVerdict::Proved);
  ASSERT_EQ(ignored.decision.choice.inputs.size(), 2U);
  const PadElement target = ignored.decision.choice.inputs[1].element;
  EXPECT_EQ(target.kind, PadElement::Kind::Number);
  EXPECT_EQ(target.number, -100);
  EXPECT_EQ(ignored.decision.choice.inputs[0].element.kind, PadElement::Kind::Any);
  // Nothing is ignored: padding counts in the divisor.
  EXPECT_EQ(Case(loss("ignore_index = 3, reduction = \"none\""), {"b=4,8"}).decision.verdict,
            BucketVerdict::Proved);
  EXPECT_EQ(Case(loss("reduction = \"mean\""), {"b=4,8"}).decision.verdict, BucketVerdict::Refused);
}

TEST(BucketDecision, ARefusalNamesTheFirstNodeAndWhatItNeeds) {
  const Case c("g (float[s] x) => (float y) { a = Neg (x) [mean] y = ReduceMean <keepdims = 0> (a) }",
               {"s=4,8"});
  EXPECT_EQ(c.decision.verdict, BucketVerdict::Refused);
  ASSERT_TRUE(c.decision.refusal);
  EXPECT_EQ(c.model->text(c.model->node(c.decision.refusal->node).name), "mean");
  EXPECT_EQ(c.decision.refusal->axis, 0);
  EXPECT_EQ(c.decision.refusal->repair, BucketRepair::TrueMean);
}

// Positions 0 .. s - 1 (plus 2) of a table of 16 rows.
TEST(BucketDecision, ATableOfPositionsThatEndsBeforeTheRangeIsSeen) {
  const auto embedding = [](const std::string& index) {
    return R"(g (int64[b,s] ids, int64[b] z) => (float[b,s,k] y)
      <int64 zero = {0}, int64 one = {1}, int64 two = {2}, int64 end = {15},
       int64[1] front = {0}, int64[1] rows = {16}> {
      n = Shape <start = 1> (ids)  m = Squeeze (n)
      r = Range (zero, m, one)  u = Unsqueeze (r, front)
      plus = Add (two, u)
      clipped = Min (u, end)
      all = Shape (ids)  whole = Expand (u, all)
      table = ConstantOfShape (rows)
      e = Gather (table, )" +
           index + R"()
      f = Unsqueeze (e, two)
      y = Identity (f)
    })";
  };
  const auto reason = [&](const std::string& index, const std::string& marks) {
    const Case c(embedding(index), {marks});
    EXPECT_EQ(c.decision.verdict == BucketVerdict::Refused, c.decision.refusal.has_value()) << c.error.what;
    return c.decision.refusal ? c.decision.refusal->reason : std::string();
  };
  EXPECT_EQ(reason("u", "s=4,16"), "");
  EXPECT_EQ(
      reason("u", "s=4,17"),
      "the model takes s up to 16 only, where the axis ends that it chooses from; more was promised: s=17");
  EXPECT_EQ(reason("whole", "s=4,16"), "");
  EXPECT_NE(reason("whole", "s=4,17").find("takes s up to 16"), std::string::npos);
  EXPECT_EQ(reason("clipped", "s=4,17"), "");
  EXPECT_EQ(reason("plus", "s=4,14"), "");
  EXPECT_NE(reason("plus", "s=4,15").find("takes s + 2 up to 16"), std::string::npos);
}

// Element row * stride + column of a mask [b, s] that was flattened, b being 2: no symbol is left to count
// the rows. `stride` and `column` are computed from the extent s and the columns 0 .. s - 1.
struct FlatIndex {
  std::string rows = "int64[2,1] rows = {0, 1}";
  std::string stride = "Identity (s)", column = "Identity (columns)";
  std::string result = "p,q";
  std::vector<std::string> marks = {"s=4,8", "b=2,fixed"};

  BucketVerdict verdict() const {
    const Case c("g (float[b,s] mask) => (float[" + result + "] y) <" + rows +
                     R"(, int64 zero = {0}, int64 one = {1}, int64[1] all = {-1}, int64[1] axes_1 = {1},
       int64[2] axes_2 = {1, 1}, int64[3] axes_3 = {1, 1, 1}> {
      extents = Shape (mask)
      s = Gather (extents, one)
      columns = Range (zero, s, one)
      flat = Reshape (mask, all)
      stride = )" + stride +
                     R"(
      column = )" + column +
                     R"(
      starts = Mul (rows, stride)
      sum = Add (starts, column)
      index = Cast <to = 7> (sum)
      y = Gather (flat, index)
    })",
                 marks);
    EXPECT_EQ(c.error.what, "");
    return c.decision.verdict;
  }
};

TEST(BucketDecision, RowsThatAreCountedOutAreCoordinatesOfAFlatIndex) {
  const auto of_rows = [](const std::string& rows) {
    return FlatIndex{.rows = "int64[2,1] rows = {" + rows + "}"}.verdict();
  };
  EXPECT_EQ(of_rows("0, 1"), BucketVerdict::Proved);
  EXPECT_EQ(of_rows("1, 0"), BucketVerdict::Proved);
  EXPECT_EQ(of_rows("0, 2"), BucketVerdict::Refused);
  EXPECT_EQ(of_rows("-1, 0"), BucketVerdict::Refused);
  EXPECT_EQ(FlatIndex{.stride = "Add (s, one)"}.verdict(), BucketVerdict::Refused);
  EXPECT_EQ((FlatIndex{.marks = {"s=4,8", "b=1,fixed"}}.verdict()), BucketVerdict::Refused);
}

// A stride adds axes of 1 to the index, whatever the coordinates have.
TEST(BucketDecision, AFlatIndexHasTheAxesOfItsStride) {
  EXPECT_EQ(FlatIndex{.stride = "Reshape (s, axes_1)"}.verdict(), BucketVerdict::Proved);
  EXPECT_EQ(FlatIndex{.stride = "Reshape (s, axes_2)"}.verdict(), BucketVerdict::Proved);
  EXPECT_EQ((FlatIndex{.stride = "Reshape (s, axes_3)", .result = "p,q,r"}.verdict()),
            BucketVerdict::Refused);
}

// In 8 bits 80 + 62 wraps to a negative index, which counts from the end; 63 + 62 does not.
TEST(BucketDecision, AFlatIndexMustFitItsTypeInThePaddedRunToo) {
  const auto verdict = [](const std::string& type, const std::string& sizes) {
    return FlatIndex{.rows = type + "[2,1] rows = {0, 1}",
                     .stride = "CastLike (s, rows)",
                     .column = "CastLike (columns, rows)",
                     .marks = {sizes, "b=2,fixed"}}
        .verdict();
  };
  EXPECT_EQ(verdict("int8", "s=60,80,min=50"), BucketVerdict::Refused);
  EXPECT_EQ(verdict("int8", "s=30,40,min=30"), BucketVerdict::Proved);
  EXPECT_EQ(verdict("int32", "s=60,80,min=50"), BucketVerdict::Proved);
}

TEST(BucketDecision, AnOpenDimIsNamedByItsPlace) {
  const Case c("g (float[?,4] x) => (float[?,4] y) { y = Relu (x) }", {"x[0]=2,4"});
  EXPECT_EQ(c.decision.verdict, BucketVerdict::Proved) << c.error.what;
  EXPECT_EQ(layouts_of(c.analysis(), c.model->graph_inputs(c.model->main())[0])[0], "'x[0]'");
  EXPECT_EQ(Case("g (float[?,4] x) => (float[?,4] y) { y = Relu (x) }", {"x[1]=2,4"}).error.what,
            "--bucket x[1]: this dim is always 4");
  EXPECT_NE(
      Case("g (float[n,4] x) => (float[n,4] y) { y = Relu (x) }", {"x[0]=2,4"}).error.what.find("called n"),
      std::string::npos);
  EXPECT_NE(Case("g (float[n,4] x) => (float[n,4] y) { y = Relu (x) }", {"x[7]=2,4"})
                .error.what.find("no such dim"),
            std::string::npos);
}

TEST(BucketDecision, UnknownSymbolsGetNearNames) {
  const Case c("g (float[batch,4] x) => (float[batch,4] y) { y = Relu (x) }", {"batsh=2,4"});
  EXPECT_EQ(c.error.kind, ErrorKind::Usage);
  EXPECT_NE(c.error.remedy.find("'batch'"), std::string::npos) << c.error.what;
}

TEST(BucketDecision, ARelationReplacesANameThatTheExporterMadeUp) {
  const std::string text = R"(g (float[p,4] cache, float[s,4] x, float[total,4] bias) => (float[m,4] y) {
    all = Concat <axis = 0> (cache, x)
    y = Add (all, bias)
  })";
  const std::vector<std::string> specs{"p=1..8:pow2", "s=1..8:pow2"};
  EXPECT_EQ(Case(text, specs).decision.verdict, BucketVerdict::Refused);
  const Case c(text, specs, {{"total", "p + s"}});
  EXPECT_EQ(c.decision.verdict, BucketVerdict::Proved) << c.error.what;
  EXPECT_EQ(layouts_of(c.analysis(), c.model->graph_inputs(c.model->main())[2])[0], "p ++ s");
  const std::vector<OutputCut> cuts = cuts_of(*c.model, c.analysis());
  EXPECT_FALSE(cuts[0].is_prefix);
  EXPECT_EQ(c.model->dims.print(c.analysis().layouts().extent(cuts[0].layouts[0])), "p + s");
  EXPECT_FALSE(Case(text, specs, {{"total", "p + q"}}).error.what.empty());
  EXPECT_FALSE(Case(text, specs, {{"total", "total + s"}}).error.what.empty());
}

TEST(BucketDecision, SegmentsAreTriedInBothOrders) {
  const Case c(R"(g (float[p,4] cache, float[s,4] x, float["s + p",4] bias) => (float[m,4] y) {
    all = Concat <axis = 0> (x, cache)
    y = Add (all, bias)
  })",
               {"p=1..8:pow2", "s=1..8:pow2"});
  EXPECT_EQ(c.decision.verdict, BucketVerdict::Proved);
  EXPECT_EQ(layouts_of(c.analysis(), c.model->graph_inputs(c.model->main())[2])[0], "s ++ p");
}

TEST(BucketDecision, AMarkOfANameWithinNamesMakesThemExpressions) {
  const Case c(R"(g (float["h//1"] x, float["h//2"] z) => (float["h//1"] y, float[k] w) {
    y = Relu (x)
    w = Neg (z)
  })",
               {"h=4..16:step=4"});
  EXPECT_EQ(c.decision.verdict, BucketVerdict::Proved) << c.error.what;
  EXPECT_EQ(layouts_of(c.analysis(), c.model->graph_inputs(c.model->main())[1])[0], "floor((h)/(2))");
}

TEST(BucketDecision, WhatWasPromisedMustHoldOfTheModel) {
  const Case equal("g (float[s] x, float[t] z) => (float[s] y) { y = Add (x, z) }", {"s=2,4", "t=2,4"});
  EXPECT_EQ(equal.decision.verdict, BucketVerdict::Refused);
  const Case table(
      R"(g (float[s] x) => (float[s] y) <
      float[8] table = {0, 1, 2, 3, 4, 5, 6, 7}, int64[1] zero = {0}, int64[1] axis = {0}> {
    n = Shape <start = 0, end = 1> (x)
    rows = Slice (table, zero, n, axis)
    y = Add (x, rows)
  })",
      {"s=2..16:pow2"});
  ASSERT_EQ(table.decision.verdict, BucketVerdict::Refused);
  // The 2 was the user's.
  EXPECT_EQ(table.decision.refusal->reason, "the model takes s up to 8 only; more was promised");
}

// Each of these gives other true elements, or an error, when it is padded (seen in ONNX Runtime).
TEST(BucketDecision, WhatLooksSafeAndIsNotIsRefused) {
  const std::vector<std::string> texts{
      // An extent that shrinks as the symbol grows.
      R"(g (float[s] y) => (float[k] z) <int64[1] n = {16}> {
        e = Shape (y)  r = Sub (n, e)  c = ConstantOfShape (r)  z = Concat <axis = 0> (y, c) })",
      R"(g (float[1,s] y) => (float[1,k] z) <int64[1] four = {4}, int64[1] one = {1}> {
        e = Shape <start = 1, end = 2> (y)  m = Neg (e)  r = Mod (m, four)  t = Concat <axis = 0> (one, r)
        c = ConstantOfShape (t)  z = Concat <axis = 1> (y, c) })",
      // A cut at a position that depends on the extent, in an axis that does not.
      R"(g (float[s] y, float[20] x) => (float[s] a, float[k] b) <int64[1] n = {20}> {
        e = Shape (y)  r = Sub (n, e)
        sizes = Concat <axis = 0> (e, r)  a, b = Split <axis = 0> (x, sizes) })",
      // Rows of another entry of a merged axis.
      R"(g (float[b,s,4] x, float[3,4] u) => (float[b,s,4] z) <
        int64[2] m = {-1, 4}, int64[3,4] i = {0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3}> {
        e = Shape (x)  r = Reshape (x, m)
        q = ScatterElements <axis = 1> (r, i, u)  z = Reshape (q, e) })",
      // Integers that wrap in a narrower type.
      R"(g (float[s] x, int64[2] ids) => (float[2] z) {
        a = Cast <to = 3> (ids)  c = Cast <to = 7> (a)  z = Gather (x, c) })",
      // An index that counts further than an axis of another symbol, which is not padded.
      R"(g (float[b,s] x, float[b,k] mask) => (float[b,s] z) <int64 zero = {0}, int64 one = {1}> {
        n = Shape <start = 1> (x)  m = Squeeze (n)  r = Range (zero, m, one)
        t = Gather <axis = 1> (mask, r)  z = Mul (x, t) })",
      // The rank depends on the extent.
      "g (float[s,1,4] x) => (float[k,4] z) { z = Squeeze (x) }",
      // Elements without variance, normalized without an epsilon.
      R"(g (float[s,3,2] x, float[s] w) => (float[6] z) <int64[2] m = {-1, 6}> {
        y = MeanVarianceNormalization <axes = [1, 2]> (x)  f = Reshape (y, m)  z = MatMul (w, f) })",
  };
  for (const std::string& text : texts) {
    const Case c(text, text.find("[b,") == std::string::npos
                           ? std::vector<std::string>{"s=1..8:step=1"}
                           : std::vector<std::string>{"s=2..8:step=1", "b=2..4:step=1"});
    EXPECT_TRUE(c.error.what.empty()) << c.error.what << text;
    EXPECT_EQ(c.decision.verdict, BucketVerdict::Refused) << text;
  }
}

// An axis that is known to follow from the padded ones is as long as the index counts.
TEST(BucketDecision, AnIndexMayCountAsFarAsItsAxisIsPadded) {
  const std::string text = R"(g (float[b,s] x, float[b,k] mask) => (float[b,s] z)
    <int64 zero = {0}, int64 one = {1}> {
      n = Shape <start = 1> (x)  m = Squeeze (n)  r = Range (zero, m, one)
      t = Gather <axis = 1> (mask, r)  z = Mul (x, t) })";
  const Case apart(text, {"s=2,4,8"});
  ASSERT_TRUE(apart.decision.refusal);
  EXPECT_NE(apart.decision.refusal->reason.find("along an axis of k, which is not padded"), std::string::npos)
      << apart.decision.refusal->reason;
  const Case related(text, {"s=2,4,8"}, {{"k", "s"}});
  EXPECT_NE(related.decision.verdict, BucketVerdict::Refused);
}

// The least integer by -1 ends the program, as a division by 0 does.
TEST(BucketDecision, DivisorsArePaddedWithWhatDivides) {
  const Case c("g (int64[s] m) => (int64[s] z) <int64 x = {-9223372036854775808}> { z = Div (x, m) }",
               {"s=2,4"});
  EXPECT_EQ(c.decision.verdict, BucketVerdict::Proved);
  ASSERT_EQ(c.decision.choice.inputs.size(), 1U);
  EXPECT_EQ(c.decision.choice.inputs[0].element.kind, PadElement::Kind::Number);
  EXPECT_EQ(c.decision.choice.inputs[0].element.number, 1);
}

TEST(BucketDecision, TheExtentOfABroadcastIsNotThatOfOneOperand) {
  const Case c(R"(g (float[n] v, float[m] y, float[s] x) => (float[k] z, float[s] w) {
    z = Add (v, y)
    w = Relu (x)
  })",
               {"s=2,4"});
  EXPECT_EQ(c.decision.verdict, BucketVerdict::Proved);
  const LayoutId cut = cuts_of(*c.model, c.analysis())[0].layouts[0];
  EXPECT_NE(c.model->dims.print(c.analysis().layouts().extent(cut)), "n");
}

TEST(BucketDecision, AFixedSymbolIsNotPadded) {
  const Case c("g (float[s] x) => (float y) { y = ReduceMean <keepdims = 0> (x) }", {"s=4,8,fixed"});
  EXPECT_EQ(c.decision.verdict, BucketVerdict::Proved);
  EXPECT_TRUE(c.decision.choice.inputs.empty());
}

// In a graph whose work is the square of the length, padding long lengths costs more.
TEST(BucketDecision, ObservedLengthsAreWeighedByTheWorkOfTheModel) {
  const auto list = [](const std::string& graph, std::vector<LengthCount> lengths) {
    Case c(graph, {"s=1..10:max"});
    BucketGroup& g = c.marks.groups[0];
    g.method = BucketMethod::Hist;
    g.most = 2;
    g.lengths = std::move(lengths);
    Result<BucketDecision> d = decide(*c.model, *c.inference, c.marks);
    return d ? d->lists[0].values : std::vector<std::int64_t>();
  };
  const std::string linear = "g (float[s,4] x) => (float[s,4] y) { y = Relu (x) }";
  const std::string quadratic =
      "g (float[s,4] x) => (float[s,s] y) { t = Transpose <perm = [1, 0]> (x)  y = MatMul (x, t) }";
  // By length: {3, 10} pads 40, {9, 10} pads 11 * 6 = 66. By the square: 40 * (100 - 81) = 760
  // against 11 * (81 - 9) = 792.
  EXPECT_EQ(list(linear, {{3, 11}, {9, 40}, {10, 1}}), (std::vector<std::int64_t>{3, 10}));
  EXPECT_EQ(list(quadratic, {{3, 11}, {9, 40}, {10, 1}}), (std::vector<std::int64_t>{3, 10}));
  // By length: {3, 10} pads 40, {9, 10} pads 7 * 6 = 42. By the square: 760 against 7 * 72 = 504.
  EXPECT_EQ(list(linear, {{3, 7}, {9, 40}, {10, 1}}), (std::vector<std::int64_t>{3, 10}));
  EXPECT_EQ(list(quadratic, {{3, 7}, {9, 40}, {10, 1}}), (std::vector<std::int64_t>{9, 10}));
}

// 16 - s is less in the padded run; s - s//2 is not, though a part of the sum is negative.
TEST(BucketDecision, AnExtentOfAnInputMustGrowWithTheSymbol) {
  const std::string graph =
      "g (float[s,2] x, float[t,2] z) => (float[s,2] y, float[t,2] v) { y = Relu (x)  v = Exp (z) }";
  EXPECT_EQ(Case(graph, {"s=3,6"}, {{"t", "16 - s"}}).decision.verdict, BucketVerdict::Refused);
  EXPECT_EQ(Case(graph, {"s=3,6"}, {{"t", "s % 3"}}).decision.verdict, BucketVerdict::Refused);
  const Case half(graph, {"s=3,6"}, {{"t", "s - s//2"}});
  ASSERT_EQ(half.decision.verdict, BucketVerdict::Proved);
  EXPECT_EQ(layouts_of(half.analysis(), half.decision.choice.inputs[1].input)[0], "-floor((s)/(2)) + s");
}

TEST(BucketDecision, ADefaultHasOneSize) {
  const Case c("g (float[s,2] x, float[s,2] z) => (float[s,2] y) <float[1,2] z = {1, 2}> { y = Add (x, z) }",
               {"s=2,4"});
  ASSERT_EQ(c.decision.verdict, BucketVerdict::Refused);
  EXPECT_NE(c.decision.refusal->reason.find("default"), std::string::npos) << c.decision.refusal->reason;
}

}  // namespace
}  // namespace graphopt
