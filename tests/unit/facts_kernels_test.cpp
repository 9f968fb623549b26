// What is said about kernels (src/ops/facts_kernels.cpp) beyond the rows, which tests/equal/kernels.py
// compares with the runtime: nothing is known of other operators, opsets and types.
#include "ops/facts_kernels.h"

#include <gtest/gtest.h>

#include "ops/facts.h"

namespace graphopt {
namespace {

TEST(FactsKernels, WhatTheTableDoesNotKnowIsNo) {
  EXPECT_EQ(computed_by(OpKind::Det, 13, DType::Float), Computed::Unknown);  // no row
  EXPECT_EQ(computed_by(OpKind::Opaque, 13, DType::Float), Computed::Unknown);
  EXPECT_EQ(computed_by(OpKind::Gemm, 6, DType::Float), Computed::Unknown);  // before its first row
  EXPECT_EQ(computed_by(OpKind::Gemm, 0, DType::Float), Computed::Unknown);
  EXPECT_EQ(computed_by(OpKind::Gemm, kNewestOpset, DType::Float), Computed::ByKernel);
  EXPECT_EQ(computed_by(OpKind::Gemm, kNewestOpset + 1, DType::Float), Computed::Unknown);
  EXPECT_EQ(computed_by(OpKind::Gemm, 13, DType::BFloat16), Computed::Unknown);
  EXPECT_EQ(computed_by(OpKind::Gemm, 13, DType::Undefined), Computed::Unknown);
  EXPECT_EQ(computed_by(OpKind::Gemm, 13, static_cast<DType>(40)), Computed::Unknown);
}

TEST(FactsKernels, ARowHoldsUpToTheNext) {
  EXPECT_EQ(computed_by(OpKind::Relu, 17, DType::Float16), Computed::ByCasts);
  EXPECT_EQ(computed_by(OpKind::Relu, 18, DType::Float16), Computed::ByBody);
  EXPECT_EQ(computed_by(OpKind::Relu, 19, DType::Float16), Computed::ByCasts);
  EXPECT_FALSE(has_kernel(OpKind::ConstantOfShape, 19, DType::BFloat16));
  EXPECT_TRUE(has_kernel(OpKind::ConstantOfShape, 20, DType::BFloat16));
}

TEST(FactsKernels, OneNodeIsAKernelMaybeBetweenCasts) {
  EXPECT_TRUE(runs_as_one_node(OpKind::Gemm, 13, DType::Double));
  EXPECT_TRUE(runs_as_one_node(OpKind::Gemm, 13, DType::Float16));
  EXPECT_FALSE(has_kernel(OpKind::Gemm, 13, DType::Float16));
  EXPECT_FALSE(runs_as_one_node(OpKind::HardSwish, 14, DType::Float));
}

// Both zeros are one number in the other types.
TEST(FactsKernels, OnlyAFloatingReluChoosesAZero) {
  EXPECT_TRUE(relu_is_max(OpKind::Relu, DType::Float16, 18));
  EXPECT_FALSE(relu_is_max(OpKind::Relu, DType::Float16, 19));
  EXPECT_FALSE(relu_is_max(OpKind::Relu, DType::Float, 18));
  EXPECT_FALSE(relu_is_max(OpKind::Relu, DType::Int64, 18));
  EXPECT_FALSE(relu_is_max(OpKind::Mish, DType::Float16, 18));
}

}  // namespace
}  // namespace graphopt
