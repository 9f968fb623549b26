// The rows follow the schemas of onnx. Where a version lacks int32 (Max before opset 12), or the runtime has
// no kernel for it (Trilu), computed_by (ops/facts_kernels.h) says so.
#include "lower/integer_slots.h"

#include <array>

namespace graphopt {
namespace {

constexpr std::uint64_t kAllSlots = ~std::uint64_t{0};

struct SlotsRow {
  OpKind kind;
  IntegerSlots slots;
};

constexpr SlotsRow kSlotsRows[] = {
    {OpKind::Abs, {IntegerRule::Arithmetic, 1, 1}},
    {OpKind::Add, {IntegerRule::Arithmetic, 3, 1}},
    {OpKind::Cast, {IntegerRule::Cast, 1, 1}},
    {OpKind::Clip, {IntegerRule::Extremes, 7, 1}},
    {OpKind::Concat, {IntegerRule::Moves, kAllSlots, 1}},
    {OpKind::ConstantOfShape, {IntegerRule::Fill, 0, 1}},
    {OpKind::CumSum, {IntegerRule::Sums, 1, 1}},
    {OpKind::Div, {IntegerRule::Arithmetic, 3, 1}},
    {OpKind::Equal, {IntegerRule::Compares, 3, 0}},
    {OpKind::Expand, {IntegerRule::Moves, 1, 1}},
    {OpKind::Flatten, {IntegerRule::Moves, 1, 1}},
    {OpKind::Gather, {IntegerRule::Moves, 1, 1, 2}},
    {OpKind::GatherElements, {IntegerRule::Moves, 1, 1, 2}},
    {OpKind::GatherND, {IntegerRule::Moves, 1, 1}},
    {OpKind::Greater, {IntegerRule::Compares, 3, 0}},
    {OpKind::GreaterOrEqual, {IntegerRule::Compares, 3, 0}},
    {OpKind::Identity, {IntegerRule::Moves, 1, 1}},
    {OpKind::Less, {IntegerRule::Compares, 3, 0}},
    {OpKind::LessOrEqual, {IntegerRule::Compares, 3, 0}},
    {OpKind::Max, {IntegerRule::Extremes, kAllSlots, 1}},
    {OpKind::Min, {IntegerRule::Extremes, kAllSlots, 1}},
    {OpKind::Mod, {IntegerRule::Arithmetic, 3, 1}},
    {OpKind::Mul, {IntegerRule::Arithmetic, 3, 1}},
    {OpKind::Neg, {IntegerRule::Arithmetic, 1, 1}},
    {OpKind::NonZero, {IntegerRule::Reads, 1, 0}},
    {OpKind::Range, {IntegerRule::Range, 7, 1}},
    {OpKind::ReduceMax, {IntegerRule::Reduces, 1, 1}},
    {OpKind::ReduceMin, {IntegerRule::Reduces, 1, 1}},
    {OpKind::ReduceProd, {IntegerRule::Reduces, 1, 1}},
    {OpKind::ReduceSum, {IntegerRule::Reduces, 1, 1}},
    {OpKind::Reshape, {IntegerRule::Moves, 1, 1}},
    {OpKind::Slice, {IntegerRule::Moves, 1, 1, 0, 0b11110}},
    {OpKind::Split, {IntegerRule::Moves, 1, kAllSlots}},
    {OpKind::Squeeze, {IntegerRule::Moves, 1, 1}},
    {OpKind::Sub, {IntegerRule::Arithmetic, 3, 1}},
    {OpKind::Tile, {IntegerRule::Moves, 1, 1}},
    {OpKind::Transpose, {IntegerRule::Moves, 1, 1}},
    {OpKind::Unsqueeze, {IntegerRule::Moves, 1, 1}},
    {OpKind::Where, {IntegerRule::Moves, 6, 1}},
};

constexpr auto kSlotsIndex = [] {
  std::array<std::uint8_t, kOpKindCount> out{};  // 0: none
  std::uint8_t i = 0;
  for (const SlotsRow& r : kSlotsRows) out[static_cast<std::size_t>(r.kind)] = ++i;
  return out;
}();

}  // namespace

const IntegerSlots* integer_slots(OpKind kind) {
  const auto k = static_cast<std::size_t>(kind);
  return k < kSlotsIndex.size() && kSlotsIndex[k] > 0 ? &kSlotsRows[kSlotsIndex[k] - 1].slots : nullptr;
}

}  // namespace graphopt
