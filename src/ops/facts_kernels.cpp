// The table is learnt by tests/equal/kernels.py, which makes a session of one node of each operator, opset
// and element type, and compares; `--print` prints the rows anew.
//
// A row holds from its opset to the next row of its operator, the last one to the newest opset that the fact
// table knows: a runtime may lack a later one.
#include "ops/facts_kernels.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <tuple>

#include "ops/facts.h"
#include "ops/kind_index.h"

namespace graphopt {
namespace {

using enum DType;
using TypeSet = std::uint32_t;  // bit i: the type of number i

template <class... T> consteval TypeSet types_in(T... types) {
  return (TypeSet{0} | ... | (TypeSet{1} << static_cast<unsigned>(types)));
}

// The element types of ONNX before opset 13, but for strings and complex numbers.
constexpr TypeSet kTypesOfOld =
    types_in(Bool, Double, Float, Float16, Int16, Int32, Int64, Int8, UInt16, UInt32, UInt64, UInt8);

struct Measured {
  OpKind kind;
  std::uint8_t since;
  TypeSet kernel, casts, body;
};

constexpr Measured kMeasured[] = {
    {OpKind::Abs, 6, types_in(Double, Float, Int16, Int32, Int64, Int8, UInt16, UInt32, UInt64, UInt8),
     types_in(Float16), types_in()},
    {OpKind::Add, 7, types_in(Double, Float, Int32, Int64, UInt32, UInt64), types_in(Float16), types_in()},
    {OpKind::Add, 14, types_in(Double, Float, Int16, Int32, Int64, Int8, UInt16, UInt32, UInt64, UInt8),
     types_in(Float16), types_in()},
    {OpKind::Attention, 23, types_in(Float, Float16), types_in(), types_in(Double)},
    {OpKind::Attention, 25, types_in(), types_in(), types_in(Double, Float, Float16)},
    {OpKind::Clip, 6, types_in(Float), types_in(Float16), types_in()},
    {OpKind::Clip, 12, types_in(Double, Float, Float16, Int32, Int64, Int8, UInt32, UInt64, UInt8),
     types_in(), types_in()},
    {OpKind::Clip, 13, types_in(Double, Float, Float16, Int32, Int64, Int8, UInt32, UInt64, UInt8),
     types_in(), types_in(BFloat16, Int16, UInt16)},
    {OpKind::Concat, 4, kTypesOfOld | types_in(String), types_in(), types_in()},
    {OpKind::Concat, 13, kTypesOfOld | types_in(BFloat16, String), types_in(), types_in()},
    {OpKind::ConstantOfShape, 9, kTypesOfOld, types_in(), types_in()},
    {OpKind::ConstantOfShape, 20, kTypesOfOld | types_in(BFloat16), types_in(), types_in()},
    {OpKind::CumSum, 11, types_in(Double, Float, Int32, Int64), types_in(), types_in()},
    {OpKind::CumSum, 14, types_in(Double, Float, Int32, Int64), types_in(Float16), types_in()},
    {OpKind::DepthToSpace, 1, types_in(Double, Float), types_in(), types_in()},
    {OpKind::DepthToSpace, 6, types_in(Double, Float), types_in(Float16), types_in()},
    {OpKind::DepthToSpace, 11, types_in(Double, Float, Int8, UInt8), types_in(Float16), types_in()},
    {OpKind::DepthToSpace, 28, types_in(Double, Float, Int8, UInt8), types_in(),
     types_in(BFloat16, Bool, Float16, Int16, Int32, Int64, String, UInt16, UInt32, UInt64)},
    {OpKind::Div, 7, types_in(Double, Float, Int32, Int64, UInt32, UInt64), types_in(Float16), types_in()},
    {OpKind::Div, 14, types_in(Double, Float, Int16, Int32, Int64, Int8, UInt16, UInt32, UInt64, UInt8),
     types_in(Float16), types_in()},
    {OpKind::Equal, 7, types_in(Bool, Int32, Int64), types_in(), types_in()},
    {OpKind::Equal, 11,
     types_in(Bool, Double, Float, Int16, Int32, Int64, Int8, UInt16, UInt32, UInt64, UInt8),
     types_in(Float16), types_in()},
    {OpKind::Equal, 19,
     types_in(Bool, Double, Float, Int16, Int32, Int64, Int8, String, UInt16, UInt32, UInt64, UInt8),
     types_in(Float16), types_in()},
    {OpKind::Expand, 8, kTypesOfOld | types_in(String), types_in(), types_in()},
    {OpKind::Flatten, 1, types_in(Double, Float, Float16), types_in(), types_in()},
    {OpKind::Flatten, 9, kTypesOfOld | types_in(String), types_in(), types_in()},
    {OpKind::Flatten, 13, kTypesOfOld | types_in(BFloat16, String), types_in(), types_in()},
    {OpKind::Gather, 1, kTypesOfOld | types_in(String), types_in(), types_in()},
    {OpKind::Gather, 13, kTypesOfOld | types_in(BFloat16, String), types_in(), types_in()},
    {OpKind::GatherElements, 11, kTypesOfOld | types_in(String), types_in(), types_in()},
    {OpKind::GatherElements, 13, kTypesOfOld | types_in(BFloat16, String), types_in(), types_in()},
    {OpKind::GatherND, 11, kTypesOfOld | types_in(String), types_in(), types_in()},
    {OpKind::GatherND, 13, kTypesOfOld | types_in(BFloat16, String), types_in(), types_in()},
    {OpKind::Gelu, 20, types_in(Float), types_in(), types_in(Float16)},
    {OpKind::Gemm, 7, types_in(Double, Float), types_in(Float16), types_in()},
    {OpKind::Greater, 7, types_in(Double, Float), types_in(Float16), types_in()},
    {OpKind::Greater, 9, types_in(Double, Float, Int16, Int32, Int64, Int8, UInt16, UInt32, UInt64, UInt8),
     types_in(Float16), types_in()},
    {OpKind::GreaterOrEqual, 12,
     types_in(Double, Float, Int16, Int32, Int64, Int8, UInt16, UInt32, UInt64, UInt8), types_in(),
     types_in(Float16)},
    {OpKind::GreaterOrEqual, 13,
     types_in(Double, Float, Int16, Int32, Int64, Int8, UInt16, UInt32, UInt64, UInt8), types_in(Float16),
     types_in()},
    {OpKind::GreaterOrEqual, 16,
     types_in(Double, Float, Int16, Int32, Int64, Int8, UInt16, UInt32, UInt64, UInt8), types_in(),
     types_in(Float16)},
    {OpKind::GreaterOrEqual, 19,
     types_in(Double, Float, Int16, Int32, Int64, Int8, UInt16, UInt32, UInt64, UInt8), types_in(Float16),
     types_in()},
    {OpKind::HardSigmoid, 6, types_in(Float), types_in(Float16), types_in()},
    {OpKind::HardSigmoid, 18, types_in(Float), types_in(), types_in(Double, Float16)},
    {OpKind::HardSigmoid, 19, types_in(Float), types_in(Float16), types_in()},
    {OpKind::HardSwish, 14, types_in(), types_in(), types_in(Float, Float16)},
    {OpKind::HardSwish, 18, types_in(), types_in(), types_in(Double, Float, Float16)},
    {OpKind::HardSwish, 19, types_in(), types_in(), types_in(Float, Float16)},
    {OpKind::Identity, 1, kTypesOfOld | types_in(String), types_in(), types_in()},
    {OpKind::Identity, 13, kTypesOfOld | types_in(BFloat16, String), types_in(), types_in()},
    {OpKind::Identity, 19,
     kTypesOfOld | types_in(BFloat16, Float8E4M3FN, Float8E4M3FNUZ, Float8E5M2, Float8E5M2FNUZ, String),
     types_in(), types_in()},
    {OpKind::LayerNormalization, 17, types_in(BFloat16, Double, Float, Float16), types_in(), types_in()},
    {OpKind::Less, 7, types_in(Double, Float), types_in(Float16), types_in()},
    {OpKind::Less, 9, types_in(Double, Float, Int16, Int32, Int64, Int8, UInt16, UInt32, UInt64, UInt8),
     types_in(Float16), types_in()},
    {OpKind::LessOrEqual, 12,
     types_in(Double, Float, Int16, Int32, Int64, Int8, UInt16, UInt32, UInt64, UInt8), types_in(),
     types_in(Float16)},
    {OpKind::LessOrEqual, 13,
     types_in(Double, Float, Int16, Int32, Int64, Int8, UInt16, UInt32, UInt64, UInt8), types_in(Float16),
     types_in()},
    {OpKind::LessOrEqual, 16,
     types_in(Double, Float, Int16, Int32, Int64, Int8, UInt16, UInt32, UInt64, UInt8), types_in(),
     types_in(Float16)},
    {OpKind::LessOrEqual, 19,
     types_in(Double, Float, Int16, Int32, Int64, Int8, UInt16, UInt32, UInt64, UInt8), types_in(Float16),
     types_in()},
    {OpKind::MatMul, 1, types_in(Double, Float), types_in(), types_in()},
    {OpKind::MatMul, 6, types_in(Double, Float), types_in(Float16), types_in()},
    {OpKind::MatMul, 9, types_in(Double, Float, Int32, Int64, UInt32, UInt64), types_in(Float16), types_in()},
    {OpKind::Max, 6, types_in(Float), types_in(Float16), types_in()},
    {OpKind::Max, 8, types_in(Double, Float), types_in(Float16), types_in()},
    {OpKind::Max, 12, types_in(Double, Float, Float16, Int32, Int64, Int8, UInt32, UInt64, UInt8), types_in(),
     types_in()},
    {OpKind::Min, 6, types_in(Float), types_in(Float16), types_in()},
    {OpKind::Min, 8, types_in(Double, Float), types_in(Float16), types_in()},
    {OpKind::Min, 12, types_in(Double, Float, Float16, Int32, Int64, Int8, UInt32, UInt64, UInt8), types_in(),
     types_in()},
    {OpKind::Mish, 18, types_in(), types_in(), types_in(Double, Float, Float16)},
    {OpKind::Mish, 19, types_in(), types_in(), types_in(Float, Float16)},
    {OpKind::Mod, 10,
     types_in(Double, Float, Float16, Int16, Int32, Int64, Int8, UInt16, UInt32, UInt64, UInt8), types_in(),
     types_in()},
    {OpKind::Mul, 7, types_in(Double, Float, Int32, Int64, UInt32, UInt64), types_in(Float16), types_in()},
    {OpKind::Mul, 14, types_in(Double, Float, Int16, Int32, Int64, Int8, UInt16, UInt32, UInt64, UInt8),
     types_in(Float16), types_in()},
    {OpKind::Neg, 6, types_in(Double, Float, Int16, Int32, Int64, Int8), types_in(Float16), types_in()},
    {OpKind::NonZero, 9, types_in(Bool, Float, Int32, Int64, UInt8), types_in(Float16), types_in()},
    {OpKind::RMSNormalization, 23, types_in(Double, Float, Float16), types_in(), types_in()},
    {OpKind::Range, 11, types_in(Double, Float, Int16, Int32, Int64), types_in(), types_in()},
    {OpKind::Range, 27, types_in(Double, Float, Int16, Int32, Int64), types_in(),
     types_in(BFloat16, Float16)},
    {OpKind::ReduceMax, 1, types_in(Double, Float, Int32, Int64), types_in(), types_in()},
    {OpKind::ReduceMax, 6, types_in(Double, Float, Int32, Int64), types_in(Float16), types_in()},
    {OpKind::ReduceMax, 12, types_in(Double, Float, Int32, Int64, Int8, UInt8), types_in(Float16),
     types_in()},
    {OpKind::ReduceMax, 20, types_in(Bool, Double, Float, Int32, Int64, Int8, UInt8), types_in(Float16),
     types_in()},
    {OpKind::ReduceMin, 1, types_in(Double, Float, Int32, Int64), types_in(), types_in()},
    {OpKind::ReduceMin, 6, types_in(Double, Float, Int32, Int64), types_in(Float16), types_in()},
    {OpKind::ReduceMin, 12, types_in(Double, Float, Int32, Int64, Int8, UInt8), types_in(Float16),
     types_in()},
    {OpKind::ReduceMin, 20, types_in(Bool, Double, Float, Int32, Int64, Int8, UInt8), types_in(Float16),
     types_in()},
    {OpKind::ReduceProd, 1, types_in(Double, Float, Int32, Int64), types_in(), types_in()},
    {OpKind::ReduceProd, 6, types_in(Double, Float, Int32, Int64), types_in(Float16), types_in()},
    {OpKind::ReduceSum, 1, types_in(Double, Float, Int32, Int64), types_in(), types_in()},
    {OpKind::ReduceSum, 6, types_in(Double, Float, Int32, Int64), types_in(Float16), types_in()},
    {OpKind::Relu, 6, types_in(Double, Float), types_in(Float16), types_in()},
    {OpKind::Relu, 14, types_in(Double, Float, Int32, Int8), types_in(Float16), types_in()},
    {OpKind::Relu, 18, types_in(Double, Float, Int32, Int8), types_in(), types_in(Float16, Int64)},
    {OpKind::Relu, 19, types_in(Double, Float, Int32, Int8), types_in(Float16), types_in()},
    {OpKind::Reshape, 1, types_in(Double, Float, Float16), types_in(), types_in()},
    {OpKind::Reshape, 5, kTypesOfOld | types_in(String), types_in(), types_in()},
    {OpKind::Reshape, 13, kTypesOfOld | types_in(BFloat16, String), types_in(), types_in()},
    {OpKind::Reshape, 21,
     kTypesOfOld | types_in(BFloat16, Float8E4M3FN, Float8E4M3FNUZ, Float8E5M2, Float8E5M2FNUZ, String),
     types_in(), types_in()},
    {OpKind::Slice, 1, kTypesOfOld | types_in(String), types_in(), types_in()},
    {OpKind::Slice, 13, kTypesOfOld | types_in(BFloat16, String), types_in(), types_in()},
    {OpKind::SpaceToDepth, 1, types_in(Double, Float, Int8, UInt8), types_in(), types_in()},
    {OpKind::SpaceToDepth, 6, types_in(Double, Float, Int8, UInt8), types_in(Float16), types_in()},
    {OpKind::SpaceToDepth, 28, types_in(Double, Float, Int8, UInt8), types_in(),
     types_in(BFloat16, Bool, Float16, Int16, Int32, Int64, String, UInt16, UInt32, UInt64)},
    {OpKind::Split, 2, kTypesOfOld | types_in(String), types_in(), types_in()},
    {OpKind::Split, 13, kTypesOfOld | types_in(BFloat16, String), types_in(), types_in()},
    {OpKind::Squeeze, 1, kTypesOfOld | types_in(String), types_in(), types_in()},
    {OpKind::Squeeze, 13, kTypesOfOld | types_in(BFloat16, String), types_in(), types_in()},
    {OpKind::Sub, 7, types_in(Double, Float, Int32, Int64, UInt32, UInt64), types_in(Float16), types_in()},
    {OpKind::Sub, 14, types_in(Double, Float, Int16, Int32, Int64, Int8, UInt16, UInt32, UInt64, UInt8),
     types_in(Float16), types_in()},
    {OpKind::Tile, 6,
     types_in(Bool, Double, Float, Int16, Int32, Int64, Int8, String, UInt16, UInt32, UInt64, UInt8),
     types_in(Float16), types_in()},
    {OpKind::Transpose, 1, kTypesOfOld | types_in(String), types_in(), types_in()},
    {OpKind::Transpose, 13, kTypesOfOld | types_in(BFloat16, String), types_in(), types_in()},
    {OpKind::Transpose, 21,
     kTypesOfOld |
         types_in(BFloat16, Float8E4M3FN, Float8E4M3FNUZ, Float8E5M2, Float8E5M2FNUZ, Int4, String, UInt4),
     types_in(), types_in()},
    {OpKind::Transpose, 25,
     kTypesOfOld | types_in(BFloat16, Float8E4M3FN, Float8E4M3FNUZ, Float8E5M2, Float8E5M2FNUZ, Int2, Int4,
                            String, UInt2, UInt4),
     types_in(), types_in()},
    {OpKind::Unsqueeze, 1, kTypesOfOld | types_in(String), types_in(), types_in()},
    {OpKind::Unsqueeze, 13, kTypesOfOld | types_in(BFloat16, String), types_in(), types_in()},
    {OpKind::Where, 9, types_in(Double, Float, Int32, Int64, Int8, String, UInt32, UInt8), types_in(Float16),
     types_in()},
};

constexpr bool rows_are_sorted() {
  for (std::size_t i = 1; i < std::size(kMeasured); ++i)
    if (std::tuple(kMeasured[i].kind, kMeasured[i].since) <=
        std::tuple(kMeasured[i - 1].kind, kMeasured[i - 1].since))
      return false;
  return true;
}
static_assert(rows_are_sorted(), "rows are sorted by operator and opset");

constexpr auto kLastMeasured = index_by_kind(kMeasured);

}  // namespace

Computed computed_by(OpKind kind, std::int64_t opset, DType type) {
  const std::size_t k = static_cast<std::size_t>(kind);
  if (k >= kOpKindCount || opset > kNewestOpset || static_cast<unsigned>(type) >= 32)
    return Computed::Unknown;
  for (std::size_t i = kLastMeasured[k]; i > 0 && kMeasured[i - 1].kind == kind; --i) {
    const Measured& row = kMeasured[i - 1];
    if (row.since > opset) continue;
    const auto holds = [type](TypeSet t) { return ((t >> static_cast<unsigned>(type)) & 1) != 0; };
    if (holds(row.kernel)) return Computed::ByKernel;
    if (holds(row.casts)) return Computed::ByCasts;
    return holds(row.body) ? Computed::ByBody : Computed::Unknown;
  }
  return Computed::Unknown;
}

}  // namespace graphopt
