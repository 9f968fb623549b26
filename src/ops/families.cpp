#include "ops/families.h"

#include <algorithm>
#include <iterator>

#include "ops/kind_index.h"

namespace graphopt {
namespace {

struct Spelling {
  OpKind kind, stands_for;
};

// clang-format off: a table
constexpr Spelling kSpellings[] = {
    // A product, also with a factor, a bias, transposed operands, or an activation behind it.
    {OpKind::Gemm, OpKind::MatMul},
    {OpKind::MsFusedMatMul, OpKind::MatMul},
    {OpKind::MsTransposeMatMul, OpKind::MatMul},
    {OpKind::MsFusedGemm, OpKind::MatMul},
    {OpKind::MsGemmFastGelu, OpKind::MatMul},
    // A convolution, also in another layout.
    {OpKind::MsFusedConv, OpKind::Conv},
    {OpKind::MsNhwcConv, OpKind::Conv},
    {OpKind::MsNhwcFusedConv, OpKind::Conv},
    // The same elements in other dims.
    {OpKind::Squeeze, OpKind::Reshape},
    {OpKind::Unsqueeze, OpKind::Reshape},
    {OpKind::Flatten, OpKind::Reshape},
    {OpKind::MsGelu, OpKind::Gelu},
    {OpKind::MsQuickGelu, OpKind::Gelu},
    {OpKind::MsFastGelu, OpKind::Gelu},
    {OpKind::MsBiasGelu, OpKind::Gelu},
    {OpKind::MsBiasSoftmax, OpKind::Softmax},
    {OpKind::MsSkipLayerNormalization, OpKind::LayerNormalization},
    {OpKind::MsSimplifiedLayerNormalization, OpKind::RMSNormalization},
    {OpKind::MsSkipSimplifiedLayerNormalization, OpKind::RMSNormalization},
};

// Beyond the commutative ones, whose bits depend on the order: which zero or NaN, or which sum comes first.
constexpr OpKind kOrderFree[] = {OpKind::Max, OpKind::Mean, OpKind::Min, OpKind::Sum};
// clang-format on

constexpr auto kPlaces = index_by_kind(kSpellings);

}  // namespace

OpKind family_of(OpKind kind) {
  const std::uint8_t place = kPlaces[static_cast<std::size_t>(kind)];
  return place == 0 ? kind : kSpellings[place - 1].stands_for;
}

bool is_order_free(const OpFacts& facts) {
  return facts.commutative || std::ranges::find(kOrderFree, facts.kind) != std::end(kOrderFree);
}

bool flattens(OpKind kind) { return kind == OpKind::Concat; }

bool reads_only_dims(OpKind kind) { return kind == OpKind::Shape || kind == OpKind::Size; }

bool combines_operands(const OpFacts& facts) {
  return facts.cls == OpClass::Nary || family_of(facts.kind) == OpKind::MatMul ||
         facts.kind == OpKind::Where || facts.kind == OpKind::Gather;
}

}  // namespace graphopt
