// Quantization with given scales is elementwise: 0 becomes the zero point, and back. With scales that are
// computed from the tensor, padding must hold 0, which is always within the range.
#include "specialize/padding/rules.h"

namespace graphopt::padding {

bool quantize(PaddingContext& c) {
  const PaddedValue& v = c.in(0);
  if (!c.unpadded_from(1, "scale is")) return false;
  if (c.in(1).rank() > 1) return c.refuse("quantization by blocks is not analysed");
  const bool forward = c.kind == OpKind::QuantizeLinear;
  const std::optional<double> zero = c.has(2) ? c.splat(2) : std::optional<double>(0);
  return c.set_result(v.layouts, [&](AxisMask region) {
    const Content& p = v.at(region);
    if (zero && c.math.is(p, forward ? 0 : *zero)) return ContentMath::number(forward ? *zero : 0);
    return ContentMath::any_finite();
  });
}

bool dynamic_quantize(PaddingContext& c) {
  const PaddedValue& v = c.in(0);
  if (const Content* bad = c.bad_padding(v, v.padded, [&](const Content& p) { return c.math.is_zero(p); }))
    return c.refuse_padding(0, v.padded, *bad, "the range that it measures includes", 0);
  const auto scalar = [&](DType type, double most) {
    return c.make(type, {}, [&](AxisMask) { return ContentMath::interval(0, most); });
  };
  if (!c.set(1, scalar(DType::Float, kInfinity)) || !c.set(2, scalar(DType::UInt8, 255))) return false;
  return c.set_result(v.layouts, [](AxisMask) { return ContentMath::interval(0, 255); });
}

}  // namespace graphopt::padding
