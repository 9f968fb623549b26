// Why a candidate move was refused: the one list of reasons and of the words that --explain prints for them.
// docs/hoisting.md, section "Refusals", explains each to users; tests/unit/hoisting_page_test.cpp compares
// that table with this list.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace graphopt {

enum class Refusal : std::uint8_t {
  None,
  MultiUse,
  GraphOutput,
  Captured,
  Attributes,
  Type,
  Operand,
  TwoOperands,
  ShapeUnknown,
  NotWritable,
  AxisCut,
  Barrier,
  Absorbed,
  Position,
  Bytes,
  Limit,
  Function,
  NoGain,
};

struct RefusalText {
  Refusal reason;
  std::string_view text;
};

inline constexpr RefusalText kRefusals[] = {
    {Refusal::None, ""},
    {Refusal::MultiUse, "multi-use"},
    {Refusal::GraphOutput, "graph-output"},
    {Refusal::Captured, "captured"},
    {Refusal::Attributes, "attributes"},
    {Refusal::Type, "type"},
    {Refusal::Operand, "operand"},
    {Refusal::TwoOperands, "two-operands"},
    {Refusal::ShapeUnknown, "shape-unknown"},
    {Refusal::NotWritable, "not-writable"},
    {Refusal::AxisCut, "axis-cut"},
    {Refusal::Barrier, "barrier"},
    {Refusal::Absorbed, "absorbed"},
    {Refusal::Position, "position"},
    {Refusal::Bytes, "bytes"},
    {Refusal::Limit, "limit"},
    {Refusal::Function, "function"},
    {Refusal::NoGain, "no-gain"},
};
static_assert(std::size(kRefusals) == static_cast<std::size_t>(Refusal::NoGain) + 1);
static_assert(std::ranges::adjacent_find(kRefusals, std::ranges::greater_equal{}, &RefusalText::reason) ==
                  std::end(kRefusals),
              "one line per reason, in the order of the enumeration");

// "multi-use"; empty for None.
constexpr std::string_view refusal_text(Refusal r) { return kRefusals[static_cast<std::size_t>(r)].text; }

}  // namespace graphopt
