// Nodes that do not fit their operators: nothing is stated about their results, and nothing reads a slot that
// is not there.
#include "infer/infer.h"
#include "infer_case.h"
#include "onnx/reader.h"

namespace graphopt {
namespace {

constexpr char kMl[] = R"(<ir_version: 10, opset_import: ["" : 21, "ai.onnx.ml" : 4]>)";

TEST(InferMisfit, AnotherNumberOfOperandsOrResultsMakesANodeOpaque) {
  const InferCase c(R"(g (float[2] x) => (float[] a)
    { a = Neg (x, x)  b = Add (x)  d, e = Identity (x)  f = Neg (x) })");
  for (const char* name : {"a", "b", "d", "e"}) {
    EXPECT_EQ(c.model->kind(c.node_of(name)), OpKind::Opaque) << name;
    EXPECT_EQ(c.model->text(c.model->op(c.node_of(name)).domain), "");
  }
  EXPECT_EQ(c.model->text(c.model->op(c.node_of("a")).type), "Neg");
  EXPECT_EQ(c.model->kind(c.node_of("f")), OpKind::Neg);  // the same name, another meaning
  EXPECT_EQ(c.type("b"), "?");
  EXPECT_EQ(c.type("f"), "float[2]");
}

TEST(InferMisfit, TheOpsetDecidesWhatFits) {
  const char* text = "g (float[2,3] x, float[3,4] w) => (float[] y) { y = Gemm (x, w) }";
  const InferCase older(text, {}, R"(<ir_version: 10, opset_import: ["" : 9]>)");
  EXPECT_EQ(older.model->kind(older.node_of("y")), OpKind::Opaque);  // the summand is required before 11
  const InferCase newer(text);
  EXPECT_EQ(newer.type("y"), "float[2, 4]");
}

TEST(InferMisfit, EinsumWithAnotherNumberOfTerms) {
  const InferCase c(R"(g (float[2, 3] x) => (float[] y)
    { y = Einsum <equation = "ij"> (x, x)  z = Einsum <equation = "ij,jk->ik"> (x) })");
  EXPECT_EQ(c.type("y"), "float[...]");
  EXPECT_EQ(c.type("z"), "float[...]");
}

TEST(InferMisfit, TransposeWithAnAxisThatComesTwice) {
  const InferCase c(R"(g (float[2, 3] x) => (float[] y)
    <int64[2, 2] k = {1, 2, 3, 4}>
    { y = Transpose <perm = [1, 1]> (x)  z = Transpose <perm = [0, 0]> (k) })");
  EXPECT_EQ(c.type("y"), "float[...]");
  EXPECT_EQ(c.type("z"), "int64[...]");
  EXPECT_EQ(c.elements("z"), "none");
}

TEST(InferMisfit, AResultThatIsLeftOut) {
  const InferCase c(R"(g (float[4] x) => (int64[] at, int64[] counts)
    { "", at, back, counts = Unique (x) })");
  EXPECT_EQ(c.facts->dims(c.value("at")).size(), 1u);
  EXPECT_TRUE(c.facts->same_shape(c.value("at"), c.value("counts")));
  EXPECT_EQ(c.type("back"), "int64[4]");
}

// The function of onnx reads the type of the operand without a look at the pointer.
TEST(InferMisfit, OnnxFunctionsWithoutARequiredOperand) {
  const InferCase c(R"(g (float[2] x) => (float[] y, int64[] z)
    {
      y = ai.onnx.ml.LabelEncoder <keys_int64s = [1], values_floats = [2.0]> ("")
      unknown = other.Foo (x)
      z = ai.onnx.ml.LabelEncoder <keys_int64s = [1], values_int64s = [2]> (unknown)
    })",
                    {}, kMl);
  EXPECT_EQ(c.type("y"), "?");
  EXPECT_EQ(c.elements("z"), "none");  // whatever the function states of an operand of unknown type
}

}  // namespace
}  // namespace graphopt
