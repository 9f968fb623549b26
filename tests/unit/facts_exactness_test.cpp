// Bits that depend on the position of an element (src/ops/facts_exactness.cpp): the expected lists were
// measured with ONNX Runtime's CPU kernels.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "ops/facts.h"

namespace graphopt {
namespace {

using Names = std::set<std::string>;

// The operators of the classes Unary and Nary that depend on the position for a type.
Names dependent(DType type) {
  Names names;
  for (const OpFacts& row : all_facts())
    if (row.domain.empty() && (row.cls == OpClass::Unary || row.cls == OpClass::Nary) &&
        position_dependent(row.kind, type))
      names.insert(std::string(row.name));
  return names;
}

// The measured ones; Cast from a floating type, Pow, Max and Min; SwiGLU, which was not measured; and Where:
// the sign of a selected zero depends on which operands are scalars or end in a dim of 1 (ONNX Runtime 1.32).
const Names kFloat = {"Acos", "Asin", "Atan", "Cast", "CastLike", "Celu", "Cos",      "Elu",    "Log",
                      "Max",  "Min",  "Mish", "Pow",  "Selu",     "Sin",  "Softplus", "SwiGLU", "Where"};

TEST(FactsExactness, Float32) { EXPECT_EQ(dependent(DType::Float), kFloat); }

TEST(FactsExactness, SmallFloatsGoThroughFloat32) {
  EXPECT_EQ(dependent(DType::Float16), kFloat);
  EXPECT_EQ(dependent(DType::BFloat16), kFloat);
  EXPECT_EQ(dependent(DType::Float8E4M3FN), kFloat);
}

TEST(FactsExactness, Double) {
  Names want = kFloat;
  for (const char* name : {"Cos", "Exp", "Log", "Sigmoid", "Sin", "Swish", "Tanh"}) want.insert(name);
  // without a kernel that could be measured
  for (const char* name : {"Acosh", "Asinh", "Atanh", "Cosh", "Erf", "Gelu", "HardSigmoid", "HardSwish",
                           "LeakyRelu", "PRelu", "Sinh", "Softsign", "Tan", "ThresholdedRelu"})
    want.insert(name);
  EXPECT_EQ(dependent(DType::Double), want);
}

TEST(FactsExactness, IntegersAndBoolAreExact) {
  EXPECT_EQ(dependent(DType::Int64), (Names{"Pow", "SwiGLU"}));
  EXPECT_EQ(dependent(DType::UInt8), (Names{"Pow", "SwiGLU"}));
  EXPECT_EQ(dependent(DType::Bool), (Names{"SwiGLU"}));
}

TEST(FactsExactness, NothingIsClaimedForStringsAndComplexNumbers) {
  EXPECT_TRUE(position_dependent(OpKind::Add, DType::Complex64));
  EXPECT_TRUE(position_dependent(OpKind::Equal, DType::String));
  EXPECT_TRUE(position_dependent(OpKind::Neg, DType::Undefined));
  EXPECT_FALSE(position_dependent(OpKind::Identity, DType::String));  // copies
  EXPECT_TRUE(position_dependent(OpKind::Where, DType::Complex64));
}

TEST(FactsExactness, OtherClasses) {
  EXPECT_FALSE(position_dependent(OpKind::Clip, DType::Float));
  EXPECT_FALSE(position_dependent(OpKind::QuantizeLinear, DType::Float));
  EXPECT_TRUE(position_dependent(OpKind::BatchNormalization, DType::Float));
  EXPECT_FALSE(position_dependent(OpKind::Transpose, DType::Float));
  EXPECT_FALSE(position_dependent(OpKind::Concat, DType::Float));
  EXPECT_FALSE(position_dependent(OpKind::Gather, DType::Float));
  EXPECT_TRUE(position_dependent(OpKind::ScatterElements, DType::Float));  // may add
  EXPECT_TRUE(position_dependent(OpKind::MatMul, DType::Float));
  EXPECT_TRUE(position_dependent(OpKind::Softmax, DType::Float));
  EXPECT_TRUE(position_dependent(OpKind::MsGelu, DType::Float));
  EXPECT_TRUE(position_dependent(OpKind::Opaque, DType::Float));
  EXPECT_TRUE(position_dependent(OpKind::FunctionCall, DType::Float));
  EXPECT_TRUE(position_dependent(OpKind::Upsample, DType::Float));
}

TEST(FactsExactness, CastsByBothTypes) {
  EXPECT_TRUE(cast_position_dependent(DType::Float, DType::UInt32));  // NaN: 0 alone, 2147483648 in a vector
  EXPECT_TRUE(cast_position_dependent(DType::Double, DType::Int64));
  EXPECT_TRUE(cast_position_dependent(DType::Float16, DType::Bool));
  EXPECT_FALSE(cast_position_dependent(DType::Float, DType::Float16));
  EXPECT_FALSE(cast_position_dependent(DType::Int64, DType::Float));
  EXPECT_FALSE(cast_position_dependent(DType::Int64, DType::Int32));
  EXPECT_TRUE(cast_position_dependent(DType::String, DType::Float));
  EXPECT_TRUE(cast_position_dependent(DType::Float, DType::String));
}

TEST(FactsExactness, ScalarsAndVectors) {
  Names equal;
  for (const OpFacts& row : all_facts())
    if (scalar_equals_vector(row.kind, DType::Float)) equal.insert(std::string(row.name));
  EXPECT_EQ(equal, (Names{"Add", "And", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Div", "Equal", "Greater",
                          "GreaterOrEqual", "Less", "LessOrEqual", "Mul", "Or", "PRelu", "Sub", "Xor"}));
  EXPECT_FALSE(scalar_equals_vector(OpKind::Pow, DType::Float));  // x * x * x for a scalar exponent
  EXPECT_FALSE(scalar_equals_vector(OpKind::Pow, DType::Int64));
  EXPECT_TRUE(scalar_equals_vector(OpKind::Max, DType::Int32));
  EXPECT_FALSE(scalar_equals_vector(OpKind::Max, DType::Float));
  EXPECT_TRUE(scalar_equals_vector(OpKind::Where, DType::Int32));
  EXPECT_FALSE(scalar_equals_vector(OpKind::Where, DType::Float));
  EXPECT_FALSE(scalar_equals_vector(OpKind::Add, DType::BFloat16));  // not measured
  EXPECT_TRUE(scalar_equals_vector(OpKind::Add, DType::Double));
}

}  // namespace
}  // namespace graphopt
