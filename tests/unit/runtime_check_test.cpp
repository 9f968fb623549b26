// The check against ONNX Runtime, on pairs of models of which one is wrong on purpose. Skipped where no
// runtime is found.
#include "runtime/check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "runtime/ort.h"
#include "unit/runtime_models.h"

namespace graphopt {
namespace {

using test::Planned;

class Check : public testing::Test {
 protected:
  void SetUp() override {
    if (auto runtime = Runtime::open(""); !runtime) GTEST_SKIP() << runtime.error().what;
  }

  static CheckReport compare(const std::string& original, const std::string& optimized,
                             CheckOptions options = {}) {
    const Planned a(original);
    EXPECT_EQ(a.problem, "");
    const std::string b = test::model_bytes(test::with_head(optimized));
    EXPECT_FALSE(b.empty()) << optimized;
    return check_models(test::source(a.bytes), test::source(b), a.plan, options);
  }

  static void expect_different(const std::string& original, const std::string& optimized,
                               const std::string& output) {
    const CheckReport self = compare(original, original);
    EXPECT_EQ(self.verdict, CheckVerdict::Same) << self.why;
    const CheckReport r = compare(original, optimized);
    EXPECT_EQ(r.verdict, CheckVerdict::Different) << r.why;
    const auto bad =
        std::ranges::find_if(r.worst, [&](const OutputDifference& d) { return d.output == output; });
    ASSERT_NE(bad, r.worst.end());
    EXPECT_FALSE(bad->ok);
  }
};

TEST_F(Check, AModelIsEqualToItselfUnderSeveralBindings) {
  const std::string text =
      "g (float[batch, 3] x) => (float[batch, 2] y, float[batch, 3] z) <float[3, 2] w = {1,2,3,4,5,6}> { y = "
      "MatMul(x, w)\n z = Tanh(x) }";
  const CheckReport r = compare(text, text, {.seeds = 2, .tolerance = 0.0, .ort = {}});
  EXPECT_EQ(r.verdict, CheckVerdict::Same) << r.why;
  EXPECT_TRUE(r.runtime.starts_with("ONNX Runtime 1."));
  ASSERT_EQ(r.worst.size(), 2u);
  EXPECT_EQ(r.worst[0].output, "y");
  EXPECT_EQ(r.worst[0].max_abs, 0);
  std::vector<std::string> bindings;
  for (const CheckRun& run : r.runs) bindings.push_back(run.binding);
  EXPECT_EQ(bindings, (std::vector<std::string>{"batch=2", "batch=2", "batch=3", "batch=3", "batch=1",
                                                "batch=1", "batch=2"}));
  EXPECT_FALSE(to_error(r, "in.onnx").has_value());
}

TEST_F(Check, SeesAWrongWeight) {
  const std::string head = "g (float[n, 3] x) => (float[n, 2] y) <float[3, 2] w = {";
  expect_different(head + "1,2,3,4,5,6}> { y = MatMul(x, w) }",
                   head + "1,2,3,4.01,5,6}> { y = MatMul(x, w) }", "y");
}

TEST_F(Check, ToleranceDecides) {
  const std::string a = "g (float[n] x) => (float[n] y) <float w = {1}> { y = Mul(x, w) }";
  const std::string b = "g (float[n] x) => (float[n] y) <float w = {1.001}> { y = Mul(x, w) }";
  EXPECT_EQ(compare(a, b).verdict, CheckVerdict::Different);
  EXPECT_EQ(compare(a, b, {.seeds = 1, .tolerance = 0.01, .ort = {}}).verdict, CheckVerdict::Same);
}

TEST_F(Check, SeesASwappedOperand) {
  expect_different("g (float[n] a, float[n] b) => (float[n] y, float[n] z) { y = Sub(a, b)\n z = Add(a, b) }",
                   "g (float[n] a, float[n] b) => (float[n] y, float[n] z) { y = Sub(b, a)\n z = Add(a, b) }",
                   "y");
}

TEST_F(Check, SeesAWrongBranchWhicheverItIs) {
  const auto model = [](const std::string& first, const std::string& second) {
    return "g (bool c, float[n] x) => (float[n] y) { y = If (c) <then_branch = a () => (float[n] r) { r = " +
           first + "(x) }, else_branch = b () => (float[n] s) { s = " + second + "(x) }> }";
  };
  expect_different(model("Neg", "Abs"), model("Neg", "Neg"), "y");
  expect_different(model("Neg", "Abs"), model("Abs", "Abs"), "y");
}

TEST_F(Check, SeesAWrongBranchOfAConditionMadeOfData) {
  const auto model = [](const std::string& first, const std::string& second) {
    return "g (float[n, 64] x) => (float[n, 64] y) <float zero = {0}> { m = ReduceMean<keepdims = 0>(x)\n c "
           "= Greater(m, zero)\n"
           "y = If (c) <then_branch = a () => (float[n, 64] r) { r = " +
           first + "(x) }, else_branch = b () => (float[n, 64] s) { s = " + second + "(x) }> }";
  };
  expect_different(model("Neg", "Abs"), model("Neg", "Neg"), "y");
  expect_different(model("Neg", "Abs"), model("Abs", "Abs"), "y");
}

TEST_F(Check, SeesWhatIsWrongForOneSizeOnly) {
  // Right unless the dim is 1; right when two dims happen to be equal.
  expect_different(
      "g (float[n, 2] x) => (float y) <int64 one = {1}> { s = Shape<start = 0, end = 1>(x)\n e = Equal(s, "
      "one)\n y = Cast<to = 1>(e) }",
      "g (float[n, 2] x) => (float y) <int64 one = {1}> { s = Shape<start = 0, end = 1>(x)\n e = Less(s, "
      "one)\n y = Cast<to = 1>(e) }",
      "y");
  expect_different("g (float[p] x, float[q] z) => (int64[1] y) { y = Shape(x) }",
                   "g (float[p] x, float[q] z) => (int64[1] y) { y = Shape(z) }", "y");
}

TEST_F(Check, SeesWhatIsWrongForSpecialValuesOnly) {
  // NaN is neither above nor below; 1 / -0 is not 1 / 0.
  const std::string where = "g (float[64] x) => (float[64] y) <float zero = {0}, float one = {1}> { c = ";
  expect_different(where + "GreaterOrEqual(x, zero)\n y = Where(c, x, one) }",
                   where + "Less(x, zero)\n y = Where(c, one, x) }", "y");
  expect_different(
      "g (float[64] x) => (float[64] y) { y = Reciprocal(x) }",
      "g (float[64] x) => (float[64] y) <float zero = {0}> { p = Add(x, zero)\n y = Reciprocal(p) }", "y");
}

TEST_F(Check, SeesAFoldedDefault) {
  expect_different("g (float[2] x, float[2] w) => (float[2] y) <float[2] w = {1, -2}> { y = Mul(x, w) }",
                   "g (float[2] x, float[2] w) => (float[2] y) <float[2] w = {1, -2}, float[2] k = {1, -2}> "
                   "{ y = Mul(x, k) }",
                   "y");
}

TEST_F(Check, SeesTypeShapeAndMissingOutputs) {
  const std::string a = "g (float[n] x) => (float[n] y, float[n] z) { y = Neg(x)\n z = Abs(x) }";
  const CheckReport type = compare(
      a, "g (float[n] x) => (double[n] y, float[n] z) { v = Neg(x)\n y = Cast<to = 11>(v)\n z = Abs(x) }");
  EXPECT_EQ(type.verdict, CheckVerdict::Different);
  EXPECT_EQ(type.worst.at(0).problem, "type float became double");
  const CheckReport shape = compare(a,
                                    "g (float[n] x) => (float[1, n] y, float[n] z) <int64[1] o = {0}> { v = "
                                    "Neg(x)\n y = Unsqueeze(v, o)\n z = Abs(x) }");
  EXPECT_NE(shape.worst.at(0).problem.find("shape ["), std::string::npos);
  const CheckReport missing = compare(a, "g (float[n] x) => (float[n] y) { y = Neg(x) }");
  EXPECT_EQ(missing.verdict, CheckVerdict::Different);
  EXPECT_EQ(missing.worst.at(1).problem, "is missing");
}

TEST_F(Check, RandomOutputsAreHeldToTypeAndShape) {
  const std::string a =
      "g (float[64] x) => (float[64] y, float[64] z) { y = RandomNormalLike(x)\n z = Neg(x) }";
  const CheckReport same = compare(a, a);
  EXPECT_EQ(same.verdict, CheckVerdict::Same) << same.why;
  EXPECT_TRUE(same.worst.at(0).random || same.worst.at(0).max_abs == 0);
  EXPECT_EQ(compare(a,
                    "g (float[64] x) => (float[1, 64] y, float[64] z) { y = RandomNormal<shape = [1, "
                    "64]>()\n z = Neg(x) }")
                .verdict,
            CheckVerdict::Different);
}

TEST_F(Check, RunsEveryKindOfInput) {
  for (const char* text : {
           "g (float16[n] x) => (float16[n] y) { y = Neg(x) }",
           "g (double[n] x) => (double[n] y) { y = Neg(x) }",
           "g (bfloat16[n] x) => (bfloat16[n] y) { y = Identity(x) }",
           "g (bool[n] x) => (bool[n] y) { y = Not(x) }",
           "g (int8[n] x) => (int8[n] y) { y = Identity(x) }",
           "g (uint16[n] x) => (uint16[n] y) { y = Identity(x) }",
           "g (uint64[n] x) => (uint64[n] y) { y = Identity(x) }",
           "g (int32[n] x) => (int32[n] y) { y = Neg(x) }",
           "g (string[n] x) => (string[n] y) { y = StringConcat(x, x) }",
           "g (string[n] x) => (float[n] y) { y = Cast<to = 1>(x) }",
           "g (string[n] x) => (int64[n] y) { y = ai.onnx.ml.LabelEncoder<keys_strings = [\"p\", \"q\"], "
           "values_int64s = [1, 2]>(x) }",
           "g (seq(float[n]) x) => (int64 y) { y = SequenceLength(x) }",
           "g (seq(float[n]) x) => (float[m] y) { y = ConcatFromSequence<axis = 0>(x) }",
           "g (optional(float[n]) x) => (float[n] y) { y = OptionalGetElement(x) }",
           "g (float x) => (float y) { y = Neg(x) }",
           "g (float[0, 3] x) => (float[0, 3] y) { y = Neg(x) }",
           "g (float[n] x) => (float[a] y) <int64[1] k = {1}> { v, i = TopK(x, k)\n y = Identity(v) }",
           "g (float[n, 4] x) => (seq(float[n, 4]) y) { y = SequenceConstruct(x, x) }",
           "g () => (float y) { y = Constant<value = float {3}>() }",
       }) {
    const CheckReport r = compare(text, text);
    EXPECT_EQ(r.verdict, CheckVerdict::Same) << text << ": " << r.why;
  }
}

TEST_F(Check, SeesAWrongString) {
  expect_different("g (string[n] x, string[n] z) => (string[n] y) { y = StringConcat(x, z) }",
                   "g (string[n] x, string[n] z) => (string[n] y) { y = StringConcat(z, x) }", "y");
}

TEST_F(Check, AnOperatorThatTheRuntimeLacksIsNotChecked) {
  const std::string a = "g (float[n] x) => (float[n] y) { y = custom.Mystery(x) }";
  const CheckReport r = compare(a, a);
  EXPECT_EQ(r.verdict, CheckVerdict::NotChecked);
  EXPECT_NE(r.why.find("does not load the original model"), std::string::npos) << r.why;
  EXPECT_NE(r.why.find("Mystery"), std::string::npos) << r.why;
  EXPECT_EQ(r.why.find('\n'), std::string::npos);
  const auto e = to_error(r, "in.onnx");
  ASSERT_TRUE(e.has_value());
  EXPECT_EQ(e->kind, ErrorKind::NotChecked);
  EXPECT_FALSE(e->remedy.empty());
}

// What rounds to float16 on the way cannot be held to the digits of its float32 output.
TEST_F(Check, TheCoarsestTypeInsideDecidesWhatIsEqual) {
  const std::string part = "g (float[n] x) => (float[n] y) <float p = {0.3}> { ";
  const std::string half = part + "a = Mul(x, p)\n h = Cast <to = 10> (a)\n y = Cast <to = 1> (h) }";
  const std::string full = part + "y = Mul(x, p) }";
  const CheckReport r = compare(half, full);
  EXPECT_EQ(r.verdict, CheckVerdict::Same) << r.why;
  ASSERT_EQ(r.worst.size(), 1u);
  EXPECT_GT(r.worst[0].max_rel, 1e-4);
  EXPECT_EQ(compare(half, full, {.tolerance = 1e-4, .ort = {}}).verdict, CheckVerdict::Different);
  expect_different(half, part + "b = Add(x, p)\n y = Mul(b, p) }", "y");
  expect_different(full, half, "y");  // nothing rounds in the original
}

TEST_F(Check, ADifferenceInFloat16IsSaidToBePossible) {
  const std::string part = "g (float[n] x) => (float[n] y) <float16 p = {1}> { h = Cast <to = 10> (x)\n ";
  const CheckReport r = compare(part + "a = Mul(h, p)\n y = Cast <to = 1> (a) }",
                                part + "a = Mul(h, p)\n b = Add(a, a)\n y = Cast <to = 1> (b) }");
  EXPECT_EQ(r.verdict, CheckVerdict::Different);
  EXPECT_TRUE(r.half);
  EXPECT_NE(to_error(r, "in.onnx")->remedy.find("float16"), std::string::npos);
}

// A result of 1e-6 is rounded to a unit in the last place at 1, since the kernel adds 1 on the way.
TEST_F(Check, SmallResultsOfASigmoidHaveTheDigitsOfLargeOnes) {
  const auto model = [](const std::string& off, const std::string& last) {
    return "g (float[n] x) => (float[n] y) <float low = {-14}, float high = {-13.8}, float off = {" + off +
           "}, float one = {1}, int64[1] all = {-1}> { c = Clip(x, low, high)\n s = Sigmoid(c)\n " + last +
           " }";
  };
  const std::string moved = "y = Reshape(s, all)", less = "y = Sub(s, off)", scaled = "y = Mul(s, one)";
  EXPECT_EQ(compare(model("0", moved), model("1.2e-7", less)).verdict, CheckVerdict::Same);
  expect_different(model("0", moved), model("1e-6", less), "y");
  expect_different(model("0", scaled), model("1.2e-7", less), "y");
  EXPECT_EQ(compare(model("0", moved), model("1.2e-7", less), {.tolerance = 1e-4, .ort = {}}).verdict,
            CheckVerdict::Different);
}

TEST_F(Check, AModelThatNoInputSuitsIsNotChecked) {
  // Five elements cannot become [2, 3].
  const std::string a =
      "g (float[5] x) => (float y) <int64[2] s = {2, 3}, int64 one = {1}> { k = Identity(s)\n y = Reshape(x, "
      "k) }";
  const CheckReport r = compare(a, a);
  EXPECT_EQ(r.verdict, CheckVerdict::NotChecked) << r.why;
  EXPECT_FALSE(r.runs.empty());
}

TEST_F(Check, AnOptimizedModelThatDoesNotLoadOrRunIsDifferent) {
  const std::string a = "g (float[n] x) => (float[n] y) { y = Neg(x) }";
  EXPECT_EQ(compare(a, "g (float[n] x) => (float[n] y) { y = custom.Mystery(x) }").verdict,
            CheckVerdict::Different);
  const CheckReport r =
      compare(a, "g (float[n] x) => (float[k] y) <int64[1] s = {7919}> { y = Reshape(x, s) }");
  EXPECT_EQ(r.verdict, CheckVerdict::Different);
  EXPECT_NE(r.why.find("fails to run"), std::string::npos) << r.why;
}

TEST_F(Check, AFileIsReadWhereItLies) {
  const std::string text = "g (float[n] x) => (float[n] y) { y = Neg(x) }";
  const Planned a(text);
  const auto file = std::filesystem::path(testing::TempDir()) / "graphopt_runtime_check.onnx";
  std::ofstream(file, std::ios::binary) << a.bytes;
  const CheckReport r = check_models(test::source(a.bytes),
                                     {.path = file.string(), .bytes = {}, .external_folder = {}}, a.plan, {});
  EXPECT_EQ(r.verdict, CheckVerdict::Same) << r.why;
  std::filesystem::remove(file);
}

TEST(CheckWithoutRuntime, SaysSo) {
  const Planned a("g (float[n] x) => (float[n] y) { y = Neg(x) }");
  CheckOptions options;
  options.ort = "/nonexistent/libonnxruntime.so";
  const CheckReport r = check_models(test::source(a.bytes), test::source(a.bytes), a.plan, options);
  EXPECT_EQ(r.verdict, CheckVerdict::NotChecked);
  const auto e = to_error(r, "in.onnx");
  ASSERT_TRUE(e.has_value());
  EXPECT_NE(e->what.find("/nonexistent/libonnxruntime.so"), std::string::npos) << e->what;
  EXPECT_NE(e->remedy.find("--ort"), std::string::npos);
}

TEST(CheckWithoutRuntime, ALibraryThatIsSomethingElse) {
  CheckOptions options;
  options.ort = "libc.so.6";
  const Planned a("g (float[n] x) => (float[n] y) { y = Neg(x) }");
  const CheckReport r = check_models(test::source(a.bytes), test::source(a.bytes), a.plan, options);
  EXPECT_EQ(r.verdict, CheckVerdict::NotChecked);
  EXPECT_NE(r.why.find("not ONNX Runtime"), std::string::npos) << r.why;
}

}  // namespace
}  // namespace graphopt
