// Which types an operand may have as a constant. Learnt by tests/equal/constant_operands.py, which asks the
// runtime about each operand of each operator in each type of the schema, computed and as a constant. A table
// apart, since it is measured, for all opsets; the fact table follows the schemas. An operator that is
// missing is asked through onnx's own inference function alone (infer/refused_constants.h).
#include "ops/facts_constants.h"

#include <algorithm>

namespace graphopt {
namespace {

struct ConstantOperand {
  OpKind kind;
  std::size_t slot;
  DType taken;  // the only type
};

constexpr ConstantOperand kOperands[] = {
    {OpKind::Pad, 3, DType::Int64},     // axes: the inference function parses int64
    {OpKind::Resize, 1, DType::Float},  // the region: the kernel's constructor reads float
};

}  // namespace

bool takes_constant(OpKind kind, std::size_t slot, DType type) {
  return std::ranges::none_of(kOperands, [=](const ConstantOperand& o) {
    return o.kind == kind && o.slot == slot && o.taken != type;
  });
}

}  // namespace graphopt
