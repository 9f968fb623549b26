// The places of windows: see fold_window.h.
//
// ONNX Runtime refuses negative pads, an auto_pad beside pads, and a dilation beside auto_pad for
// convolutions; for pooling it pads then for a window without dilation. With ceil_mode it divides in float32,
// so all sizes are limited to what is exact there; this also keeps products of two of them within int64.
#include "ops/fold_window.h"

#include <algorithm>

#include "ops/integer_arithmetic.h"

namespace graphopt::folding {
namespace {

enum class AutoPad : std::uint8_t { NotSet, Valid, SameUpper, SameLower };

std::optional<AutoPad> auto_pad_of(const FoldRun& r) {
  const auto text = string_attr(r.attributes, names::auto_pad);
  if (!text) return std::nullopt;
  if (*text == "NOTSET") return AutoPad::NotSet;
  if (*text == "VALID") return AutoPad::Valid;
  if (*text == "SAME_UPPER") return AutoPad::SameUpper;
  if (*text == "SAME_LOWER") return AutoPad::SameLower;
  return std::nullopt;
}

// Returns a list of that length, all `otherwise` where none is written.
std::optional<Dims> list_of(const FoldRun& r, NameId name, std::size_t length, std::int64_t otherwise) {
  if (!r.has(name)) return Dims(length, otherwise);
  const auto given = ints_attr(r.attributes, name);
  if (!given || given->size() != length) return std::nullopt;
  if (std::ranges::any_of(*given, [&](std::int64_t v) { return v < otherwise || v > kExactInFloat; }))
    return std::nullopt;
  return copy_of(*given);
}

// Sets the number of positions, and the pads of auto_pad. All sizes are at most kExactInFloat.
bool place(WindowAxis& a, AutoPad auto_pad, bool ceil_mode) {
  if (auto_pad == AutoPad::SameUpper || auto_pad == AutoPad::SameLower) {
    if (a.dilation != 1) return false;
    a.positions = (a.extent + a.stride - 1) / a.stride;
    const std::int64_t pads = (a.positions - 1) * a.stride + a.kernel - a.extent;
    if (pads < 0) return false;  // ONNX Runtime pads by a negative number, or refuses
    a.begin = auto_pad == AutoPad::SameUpper ? pads / 2 : pads - pads / 2;
    a.end = pads - a.begin;
    return true;
  }
  const std::int64_t room = a.extent + a.begin + a.end - (a.kernel - 1) * a.dilation - 1;
  if (room < 0 || room > kExactInFloat) return false;
  a.positions = room / a.stride + 1;
  // One more window, unless it would start beyond the axis.
  if (ceil_mode && room % a.stride != 0 && a.positions * a.stride < a.extent + a.begin) ++a.positions;
  return true;
}

}  // namespace

WindowPart WindowAxis::part(std::int64_t position) const {
  const std::int64_t start = position * stride - begin;
  WindowPart p;
  if (start < 0) p.skipped = (-start + dilation - 1) / dilation;
  p.first = start + p.skipped * dilation;
  const std::int64_t fit = p.first < extent ? (extent - p.first + dilation - 1) / dilation : 0;
  p.count = std::max<std::int64_t>(std::min(fit, kernel - p.skipped), 0);
  return p;
}

std::int64_t Windows::elements() const { return axes[0].extent * axes[1].extent * axes[2].extent; }

std::optional<std::int64_t> Windows::visits() const {
  std::optional<std::int64_t> n = 1;
  for (const WindowAxis& a : axes) n = checked_mul(checked_mul(n, a.kernel), a.positions);
  return n;
}

std::optional<Windows> windows_of(const FoldRun& r, DimView extents, DimView kernel, bool ceil_mode) {
  const std::size_t count = extents.size();
  const std::optional<AutoPad> auto_pad = auto_pad_of(r);
  if (!auto_pad || count == 0 || count > kMostWindowAxes || kernel.size() != count) return std::nullopt;
  if (*auto_pad != AutoPad::NotSet && r.has(names::pads)) return std::nullopt;
  const auto strides = list_of(r, names::strides, count, 1),
             dilations = list_of(r, names::dilations, count, 1);
  const auto pads = list_of(r, names::pads, 2 * count, 0);
  if (!strides || !dilations || !pads) return std::nullopt;
  Windows w;
  for (std::size_t i = 0; i < count; ++i) {
    WindowAxis& a = w.axes[kMostWindowAxes - count + i];
    a = {.extent = extents[i],
         .kernel = kernel[i],
         .stride = (*strides)[i],
         .dilation = (*dilations)[i],
         .begin = (*pads)[i],
         .end = (*pads)[count + i]};
    if (a.kernel < 1 || a.kernel > kExactInFloat || a.extent < 1 || a.extent > kExactInFloat)
      return std::nullopt;
    if (!place(a, *auto_pad, ceil_mode)) return std::nullopt;
  }
  return w;
}

}  // namespace graphopt::folding
