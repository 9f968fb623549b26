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

enum class MoveRefusal : std::uint8_t {
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
  Devices,
  NoGain,
};

struct RefusalText {
  MoveRefusal reason;
  std::string_view text;
};

inline constexpr RefusalText kRefusals[] = {
    {MoveRefusal::None, ""},
    {MoveRefusal::MultiUse, "multi-use"},
    {MoveRefusal::GraphOutput, "graph-output"},
    {MoveRefusal::Captured, "captured"},
    {MoveRefusal::Attributes, "attributes"},
    {MoveRefusal::Type, "type"},
    {MoveRefusal::Operand, "operand"},
    {MoveRefusal::TwoOperands, "two-operands"},
    {MoveRefusal::ShapeUnknown, "shape-unknown"},
    {MoveRefusal::NotWritable, "not-writable"},
    {MoveRefusal::AxisCut, "axis-cut"},
    {MoveRefusal::Barrier, "barrier"},
    {MoveRefusal::Absorbed, "absorbed"},
    {MoveRefusal::Position, "position"},
    {MoveRefusal::Bytes, "bytes"},
    {MoveRefusal::Limit, "limit"},
    {MoveRefusal::Function, "function"},
    {MoveRefusal::Devices, "devices"},
    {MoveRefusal::NoGain, "no-gain"},
};
static_assert(std::size(kRefusals) == static_cast<std::size_t>(MoveRefusal::NoGain) + 1);
static_assert(std::ranges::adjacent_find(kRefusals, std::ranges::greater_equal{}, &RefusalText::reason) ==
                  std::end(kRefusals),
              "one line per reason, in the order of the enumeration");

// "multi-use"; empty for None.
constexpr std::string_view refusal_text(MoveRefusal r) { return kRefusals[static_cast<std::size_t>(r)].text; }

}  // namespace graphopt
