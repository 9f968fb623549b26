// Which operands a kernel treats in another way when they are constants.
//
// Problem: ONNX Runtime packs weights once, when it loads a model, if they are constants; the kernel for a
// packed operand adds in another order than the one for a computed operand. So a rewrite that makes such an
// operand a constant, or a constant one computed, changes the last bits of the result.
// Method: one table by operator, for the CPU's kernels. tests/equal/packed_operands.py runs each operator
// with each operand as a constant and as an input, and finds those that differ: MatMul, Gemm, LSTM, GRU, and
// com.microsoft's Attention, FusedGemm, FusedMatMul and MatMulNBits. The other rows are operands that the
// runtime's sources pack although the bits came out equal on the processors that were measured.
// Only "not packed" has to be right: a wrong "packed" costs a rewrite where every bit is promised.
//
// The table is apart from that of facts.cpp for the reason that facts_exactness.cpp gives.
#include <algorithm>
#include <array>

#include "ops/facts.h"
#include "ops/kind_index.h"

namespace graphopt {
namespace {

struct Row {
  OpKind kind;
  std::uint32_t operands;  // bit i: operand i
  Packing packing = Packing::Weight;
};

consteval std::uint32_t slots(std::initializer_list<int> list) {
  std::uint32_t mask = 0;
  for (const int slot : list) mask |= std::uint32_t{1} << slot;
  return mask;
}

// Operators of ONNX that are not listed pack nothing. Those of com.microsoft are measured in part only, so an
// operator that is not listed may pack everything.
constexpr Row kRows[] = {
    {OpKind::Conv, slots({1})},
    {OpKind::ConvInteger, slots({1})},
    {OpKind::ConvTranspose, slots({1})},
    {OpKind::DeformConv, slots({1})},
    {OpKind::GRU, slots({1, 2})},
    {OpKind::Gemm, slots({1})},
    {OpKind::LSTM, slots({1, 2})},
    {OpKind::LayerNormalization, slots({1, 2})},
    {OpKind::MatMul, slots({1})},
    {OpKind::MatMulInteger, slots({0, 1})},
    {OpKind::QLinearConv, slots({1, 2, 3, 4, 5, 6, 7, 8}), Packing::Reading},  // also reads zero points
    {OpKind::QLinearMatMul, slots({1, 2, 3, 4, 5, 6, 7}), Packing::Reading},
    {OpKind::RMSNormalization, slots({1})},
    {OpKind::RNN, slots({1, 2})},
    {OpKind::MsAttention, slots({1})},
    {OpKind::MsBiasGelu, slots({})},
    {OpKind::MsFastGelu, slots({})},
    {OpKind::MsFusedConv, slots({1})},
    {OpKind::MsFusedGemm, slots({1})},
    {OpKind::MsFusedMatMul, slots({1})},
    {OpKind::MsGelu, slots({})},
    {OpKind::MsMultiHeadAttention, slots({})},
    {OpKind::MsQuickGelu, slots({})},
    {OpKind::MsSimplifiedLayerNormalization, slots({1})},
    {OpKind::MsSkipLayerNormalization, slots({1, 2, 3, 4})},
    {OpKind::MsSkipSimplifiedLayerNormalization, slots({1, 2, 3})},
};

constexpr auto kPackingOfKind = index_by_kind(kRows);

// Kernels of these types give the same result in whatever order they add.
bool any_order(DType type) {
  return type == DType::Bool || type == DType::Int32 || type == DType::Int64 || type == DType::UInt32 ||
         type == DType::UInt64;
}

}  // namespace

Packing packing_of(OpKind kind, std::size_t slot, DType type) {
  if (kind == OpKind::Opaque || kind == OpKind::FunctionCall) return Packing::Reading;
  const auto k = static_cast<std::size_t>(kind);
  const std::uint8_t i = k < kOpKindCount ? kPackingOfKind[k] : std::uint8_t{0};
  if (i == 0) return op_domain(kind) == "com.microsoft" ? Packing::Reading : Packing::None;
  const Row& row = kRows[i - 1];
  if ((row.operands >> std::min<std::size_t>(slot, 31) & 1) == 0) return Packing::None;
  return row.packing == Packing::Weight && any_order(type) ? Packing::None : row.packing;
}

bool packs_operands(OpKind kind) {
  const auto k = static_cast<std::size_t>(kind);
  if (k >= kOpKindCount || k < 2) return true;
  const std::uint8_t i = kPackingOfKind[k];
  return i == 0 ? op_domain(kind) == "com.microsoft" : kRows[i - 1].operands != 0;
}

}  // namespace graphopt
