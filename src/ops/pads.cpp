#include "ops/pads.h"

#include "ops/attributes.h"
#include "ops/constants.h"

namespace graphopt {
namespace {

constexpr std::size_t kPads = 1, kValue = 2, kAxes = 3;
constexpr std::int64_t kPadsByOperand = 11, kPadsByThisName = 2;

}  // namespace

std::optional<std::vector<std::int64_t>> pads_of(const Model& m, NodeId n) {
  if (m.opset(n) >= kPadsByOperand) return int_operand(m, n, kPads);
  const auto given = ints_attr(m, n, m.opset(n) >= kPadsByThisName ? names::pads : names::paddings);
  return given ? std::optional(std::vector<std::int64_t>(given->begin(), given->end())) : std::nullopt;
}

std::optional<std::vector<std::int64_t>> pads_of_all_axes(const Model& m, NodeId n, std::size_t rank) {
  const auto pads = pads_of(m, n);
  if (!pads) return std::nullopt;
  if (!m.input(n, kAxes)) return pads->size() == 2 * rank ? pads : std::nullopt;
  const auto given = int_operand(m, n, kAxes);
  const auto axes = given ? normalize_axes(*given, rank) : std::nullopt;
  if (!axes || pads->size() != 2 * axes->size()) return std::nullopt;
  std::vector<std::int64_t> all(2 * rank, 0);
  for (std::size_t i = 0; i < axes->size(); ++i) {
    const auto axis = static_cast<std::size_t>((*axes)[i]);
    all[axis] = (*pads)[i];
    all[rank + axis] = (*pads)[axes->size() + i];
  }
  return all;
}

std::optional<PadValue> pad_value_of(const Model& m, NodeId n, DType type) {
  if (type == DType::Undefined || type == DType::String) return std::nullopt;
  if (m.opset(n) < kPadsByOperand) {
    const auto given = float_attr(m, n, names::value);
    return given && is_float(type) ? std::optional(PadValue::of(static_cast<double>(*given))) : std::nullopt;
  }
  const ValueId v = m.input(n, kValue);
  if (is_float(type)) {
    const auto number = v ? real_scalar(m, v) : 0.0;
    return number ? std::optional(PadValue::of(*number)) : std::nullopt;
  }
  const auto number = v ? int_scalar(m, v) : std::int64_t{0};
  return number ? std::optional(PadValue::of(*number)) : std::nullopt;
}

}  // namespace graphopt
