// Quantization with given scales is elementwise: 0 becomes the zero point, and back, if no scale is 0.
// Integers saturate; 8-bit floats do so where they are asked to, but keep NaN. With scales that are computed
// from the tensor, padding must hold 0, which is always within the range.
#include "buckets/padding/rules.h"

namespace graphopt::padding {
namespace {

// x / scale + zero, rounded and saturated.
Content quantized(const PaddingContext& c, DType type, const Content& x, const Content& scale) {
  const Content divisor = c.math.widened(scale);
  const bool divides = scale.finite() && (c.math.low(divisor) > 0 || c.math.high(divisor) < 0);
  const auto zero = c.has(2) ? c.splat(2) : std::optional<double>(0);
  if (zero && divides && c.math.is_zero(x)) return ContentMath::number(*zero);
  if (!is_float(type)) return ContentMath::any_finite();
  const bool saturates = c.attr(c.m.names.intern("saturate"), 1) != 0;
  return x.finite() && divides && saturates ? ContentMath::any_of(type) : ContentMath::anything();
}

// (x - zero) * scale
Content dequantized(const PaddingContext& c, DType from, DType to, const Content& x, const Content& scale) {
  const auto zero = c.has(2) ? c.splat(2) : std::optional<double>(0);
  if (zero && c.math.is(x, *zero) && scale.finite()) return ContentMath::number(0);
  const Content range = c.math.closed(from, ContentMath::any_of(from));
  const Content offset = zero ? ContentMath::number(*zero) : range;
  Content out = c.math.multiply(c.math.subtract(c.math.closed(from, x), offset), scale);
  out.rounding = kRounding;
  out.mask = 0;
  if (!c.math.is_bounded(out) && out.finite() && bits_of(to) < bits_of(from)) return ContentMath::anything();
  return out;
}

}  // namespace

bool has_several(PaddingContext& c, std::size_t operand) {
  if (!c.has(operand)) return false;
  for (std::size_t i = 0; i < c.in(operand).rank(); ++i)
    if (!c.is_one(c.extent(operand, i))) return true;
  return false;
}

bool quantize(PaddingContext& c) {
  const PaddedValue& v = c.in(0);
  if (!c.unpadded_from(1, "scale is")) return false;
  if (c.in(1).rank() > 1) return c.refuse("quantization by blocks is not analysed");
  // Scales along an axis are as many as its true entries: the kernel refuses more of them.
  const auto axis = normalize_axis(c.attr(names::axis, 1), v.rank());
  for (std::size_t i = 0; i < v.rank() && has_several(c, 1); ++i)
    if (v.is_padded(i) && (!axis || i == static_cast<std::size_t>(*axis)))
      return c.refuse("its scales are along " + c.axis_text(v, bit(i)), {.axis = static_cast<int>(i)});
  const DType type = c.output_type(0);
  const Content scale = c.whole(1);
  return c.set_result(v.layouts, [&](AxisMask region) {
    return c.kind == OpKind::QuantizeLinear ? quantized(c, type, v.at(region), scale)
                                            : dequantized(c, v.type, type, v.at(region), scale);
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
