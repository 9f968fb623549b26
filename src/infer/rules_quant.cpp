// Quantization.
#include "infer/rules.h"

namespace graphopt::rules {
namespace {

void like(NodeContext& c, DType elem) {
  if (elem == DType::Undefined) return;
  if (c.ranked(0)) c.tensor(0, elem, c.shape(0));
  else c.tensor(0, elem);
}

}  // namespace

void quantize_linear(NodeContext& c) {
  DType elem = c.has(2) ? c.elem(2) : DType::UInt8;
  if (const auto given = c.maybe_int(names::output_dtype); given && *given > 0 && *given < 256)
    elem = static_cast<DType>(*given);
  like(c, elem);
}

void dequantize_linear(NodeContext& c) {
  DType elem = c.opset() >= 19 || c.elem(1) != DType::Undefined ? c.elem(1) : DType::Float;
  if (const auto given = c.maybe_int(names::output_dtype); given && *given > 0 && *given < 256)
    elem = static_cast<DType>(*given);
  like(c, elem);
}

void dynamic_quantize_linear(NodeContext& c) {
  like(c, DType::UInt8);
  c.tensor(1, DType::Float, {});
  c.tensor(2, DType::UInt8, {});
}

}  // namespace graphopt::rules
