// The tables by operator that are apart from the fact table agree with it: exactness of kernels
// (src/ops/facts_exactness.cpp) and fold kernels (src/ops/fold.cpp).
#include <gtest/gtest.h>

#include "ops/facts.h"
#include "ops/fold.h"

namespace graphopt {
namespace {

constexpr int kTypes = static_cast<int>(DType::Float6E3M2) + 1;

template <class Holds> bool for_any_type(Holds holds) {
  for (int t = 0; t < kTypes; ++t)
    if (holds(static_cast<DType>(t))) return true;
  return false;
}

template <class Holds> bool for_any_row(OpKind kind, Holds holds) {
  for (const OpFacts& row : all_facts())
    if (row.kind == kind && !row.deprecated && holds(row)) return true;
  return false;
}

template <class Check> void for_each_kind(Check check) {
  for (std::size_t k = 0; k < kOpKindCount; ++k) check(static_cast<OpKind>(k));
}

TEST(FactsTables, OperatorsWithAFoldKernelArePure) {
  int kernels = 0;
  for_each_kind([&](OpKind kind) {
    if (!has_fold_kernel(kind)) return;
    ++kernels;
    EXPECT_TRUE(for_any_row(kind, [](const OpFacts&) { return true; })) << op_name(kind);
    EXPECT_FALSE(for_any_row(kind, [](const OpFacts& row) { return row.purity != Purity::Pure; }))
        << op_name(kind);
  });
  EXPECT_GT(kernels, 50);
}

TEST(FactsTables, KernelsChosenByLayoutAndScalarOperandsAreElementwise) {
  for_each_kind([](OpKind kind) {
    const bool listed =
        chooses_by_layout(kind) || for_any_type([&](DType t) { return scalar_equals_vector(kind, t); });
    if (!listed) return;
    EXPECT_TRUE(for_any_row(kind, [](const OpFacts& row) {
      return row.cls == OpClass::Nary && row.max_inputs >= 2;
    })) << op_name(kind);
  });
}

TEST(FactsTables, BitsAreKeptOnlyWhereTheAxisWorkIsKnown) {
  for_each_kind([](OpKind kind) {
    const bool listed = for_any_type(
        [&](DType t) { return axis_work_keeps_bits(kind, t, false) || axis_work_keeps_bits(kind, t, true); });
    if (!listed) return;
    EXPECT_TRUE(for_any_row(kind, [](const OpFacts& row) {
      return row.cls == OpClass::Movement || row.work != AxisWork::None;
    })) << op_name(kind);
  });
}

TEST(FactsTables, ATransposeKeepsBitsOnlyWhereADeformationDoes) {
  for_each_kind([](OpKind kind) {
    for_any_type([&](DType t) {
      EXPECT_TRUE(!axis_work_keeps_bits(kind, t, true) || axis_work_keeps_bits(kind, t, false))
          << op_name(kind);
      return false;
    });
  });
}

}  // namespace
}  // namespace graphopt
