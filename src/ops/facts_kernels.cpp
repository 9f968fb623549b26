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
using Types = std::uint32_t;  // bit i: the type of number i

template <class... T> consteval Types of(T... types) {
  return (Types{0} | ... | (Types{1} << static_cast<unsigned>(types)));
}

// The element types of ONNX before opset 13, but for strings and complex numbers.
constexpr Types kPlain =
    of(Bool, Double, Float, Float16, Int16, Int32, Int64, Int8, UInt16, UInt32, UInt64, UInt8);

struct Kernels {
  OpKind kind;
  std::uint8_t since;
  Types kernel, casts, body;
};

constexpr Kernels kKernels[] = {
    {OpKind::Attention, 23, of(Float, Float16), of(), of(Double)},
    {OpKind::Attention, 25, of(), of(), of(Double, Float, Float16)},
    {OpKind::Clip, 6, of(Float), of(Float16), of()},
    {OpKind::Clip, 12, of(Double, Float, Float16, Int32, Int64, Int8, UInt32, UInt64, UInt8), of(), of()},
    {OpKind::Clip, 13, of(Double, Float, Float16, Int32, Int64, Int8, UInt32, UInt64, UInt8), of(),
     of(BFloat16, Int16, UInt16)},
    {OpKind::Concat, 4, kPlain | of(String), of(), of()},
    {OpKind::Concat, 13, kPlain | of(BFloat16, String), of(), of()},
    {OpKind::ConstantOfShape, 9, kPlain, of(), of()},
    {OpKind::ConstantOfShape, 20, kPlain | of(BFloat16), of(), of()},
    {OpKind::DepthToSpace, 1, of(Double, Float), of(), of()},
    {OpKind::DepthToSpace, 6, of(Double, Float), of(Float16), of()},
    {OpKind::DepthToSpace, 11, of(Double, Float, Int8, UInt8), of(Float16), of()},
    {OpKind::DepthToSpace, 28, of(Double, Float, Int8, UInt8), of(),
     of(BFloat16, Bool, Float16, Int16, Int32, Int64, String, UInt16, UInt32, UInt64)},
    {OpKind::Gelu, 20, of(Float), of(), of(Float16)},
    {OpKind::Gemm, 7, of(Double, Float), of(Float16), of()},
    {OpKind::HardSigmoid, 6, of(Float), of(Float16), of()},
    {OpKind::HardSigmoid, 18, of(Float), of(), of(Double, Float16)},
    {OpKind::HardSigmoid, 19, of(Float), of(Float16), of()},
    {OpKind::HardSwish, 14, of(), of(), of(Float, Float16)},
    {OpKind::HardSwish, 18, of(), of(), of(Double, Float, Float16)},
    {OpKind::HardSwish, 19, of(), of(), of(Float, Float16)},
    {OpKind::LayerNormalization, 17, of(BFloat16, Double, Float, Float16), of(), of()},
    {OpKind::MatMul, 1, of(Double, Float), of(), of()},
    {OpKind::MatMul, 6, of(Double, Float), of(Float16), of()},
    {OpKind::MatMul, 9, of(Double, Float, Int32, Int64, UInt32, UInt64), of(Float16), of()},
    {OpKind::Mish, 18, of(), of(), of(Double, Float, Float16)},
    {OpKind::Mish, 19, of(), of(), of(Float, Float16)},
    {OpKind::RMSNormalization, 23, of(Double, Float, Float16), of(), of()},
    {OpKind::Relu, 6, of(Double, Float), of(Float16), of()},
    {OpKind::Relu, 14, of(Double, Float, Int32, Int8), of(Float16), of()},
    {OpKind::Relu, 18, of(Double, Float, Int32, Int8), of(), of(Float16, Int64)},
    {OpKind::Relu, 19, of(Double, Float, Int32, Int8), of(Float16), of()},
    {OpKind::Reshape, 1, of(Double, Float, Float16), of(), of()},
    {OpKind::Reshape, 5, kPlain | of(String), of(), of()},
    {OpKind::Reshape, 13, kPlain | of(BFloat16, String), of(), of()},
    {OpKind::Reshape, 21,
     kPlain | of(BFloat16, Float8E4M3FN, Float8E4M3FNUZ, Float8E5M2, Float8E5M2FNUZ, String), of(), of()},
    {OpKind::SpaceToDepth, 1, of(Double, Float, Int8, UInt8), of(), of()},
    {OpKind::SpaceToDepth, 6, of(Double, Float, Int8, UInt8), of(Float16), of()},
    {OpKind::SpaceToDepth, 28, of(Double, Float, Int8, UInt8), of(),
     of(BFloat16, Bool, Float16, Int16, Int32, Int64, String, UInt16, UInt32, UInt64)},
    {OpKind::Split, 2, kPlain | of(String), of(), of()},
    {OpKind::Split, 13, kPlain | of(BFloat16, String), of(), of()},
    {OpKind::Squeeze, 1, kPlain | of(String), of(), of()},
    {OpKind::Squeeze, 13, kPlain | of(BFloat16, String), of(), of()},
    {OpKind::Transpose, 1, kPlain | of(String), of(), of()},
    {OpKind::Transpose, 13, kPlain | of(BFloat16, String), of(), of()},
    {OpKind::Transpose, 21,
     kPlain | of(BFloat16, Float8E4M3FN, Float8E4M3FNUZ, Float8E5M2, Float8E5M2FNUZ, Int4, String, UInt4),
     of(), of()},
    {OpKind::Transpose, 25,
     kPlain | of(BFloat16, Float8E4M3FN, Float8E4M3FNUZ, Float8E5M2, Float8E5M2FNUZ, Int2, Int4, String,
                 UInt2, UInt4),
     of(), of()},
    {OpKind::Unsqueeze, 1, kPlain | of(String), of(), of()},
    {OpKind::Unsqueeze, 13, kPlain | of(BFloat16, String), of(), of()},
};

constexpr bool is_sorted() {
  for (std::size_t i = 1; i < std::size(kKernels); ++i)
    if (std::tuple(kKernels[i].kind, kKernels[i].since) <=
        std::tuple(kKernels[i - 1].kind, kKernels[i - 1].since))
      return false;
  return true;
}
static_assert(is_sorted(), "rows are sorted by operator and opset");

constexpr auto kLastOfKind = index_by_kind(kKernels);

}  // namespace

Computed computed_by(OpKind kind, std::int64_t opset, DType type) {
  const std::size_t k = static_cast<std::size_t>(kind);
  if (k >= kOpKindCount || opset > kNewestOpset || static_cast<unsigned>(type) >= 32)
    return Computed::Unknown;
  for (std::size_t i = kLastOfKind[k]; i > 0 && kKernels[i - 1].kind == kind; --i) {
    const Kernels& row = kKernels[i - 1];
    if (row.since > opset) continue;
    const auto holds = [type](Types t) { return ((t >> static_cast<unsigned>(type)) & 1) != 0; };
    if (holds(row.kernel)) return Computed::ByKernel;
    if (holds(row.casts)) return Computed::ByCasts;
    return holds(row.body) ? Computed::ByBody : Computed::Unknown;
  }
  return Computed::Unknown;
}

}  // namespace graphopt
