// Windows that slide over the spatial axes of pooling and convolutions; private to src/ops/fold_*.cpp.
#pragma once

#include <array>

#include "ops/fold_kernel.h"

namespace graphopt::folding {

// ONNX Runtime pools along at most three axes.
inline constexpr std::size_t kMostWindowAxes = 3;

// The part of a window that lies on elements: `count` of them, from index `first` on, `dilation` apart. The
// first is element `skipped` of the window.
struct WindowPart {
  std::int64_t first = 0, skipped = 0, count = 1;
};

// The default is an axis of one element.
struct WindowAxis {
  std::int64_t extent = 1, kernel = 1, stride = 1, dilation = 1, begin = 0, end = 0, positions = 1;

  WindowPart part(std::int64_t position) const;
};

// The axes of fewer than three dims come last; the others have one element. So all kernels have one loop
// nest.
struct Windows {
  std::array<WindowAxis, kMostWindowAxes> axes;

  std::int64_t elements() const;  // of an operand's plane; a tensor with it exists
  // Of all windows, whether on elements or on padding; nothing where that is no int64.
  std::optional<std::int64_t> visits() const;

  // Calls f(position, parts) for each window, in row-major order, until it returns false.
  template <class F> bool for_each(F f) const {
    std::int64_t at = 0;
    for (std::int64_t i = 0; i < axes[0].positions; ++i)
      for (std::int64_t j = 0; j < axes[1].positions; ++j)
        for (std::int64_t k = 0; k < axes[2].positions; ++k)
          if (!f(at++, std::array{axes[0].part(i), axes[1].part(j), axes[2].part(k)})) return false;
    return true;
  }
};

// Calls f(index in the plane, index in the window) for the elements under a window, in row-major order, until
// it returns false.
template <class F>
bool for_each_element(const Windows& w, const std::array<WindowPart, kMostWindowAxes>& parts, F f) {
  const auto& [a, b, c] = w.axes;
  const auto& [p, q, s] = parts;
  for (std::int64_t i = 0; i < p.count; ++i)
    for (std::int64_t j = 0; j < q.count; ++j) {
      const std::int64_t row = ((p.first + i * a.dilation) * b.extent + q.first + j * b.dilation) * c.extent;
      const std::int64_t of_kernel = ((p.skipped + i) * b.kernel + q.skipped + j) * c.kernel + s.skipped;
      for (std::int64_t k = 0; k < s.count; ++k)
        if (!f(row + s.first + k * c.dilation, of_kernel + k)) return false;
    }
  return true;
}

// Reads strides, dilations, pads and auto_pad of a node whose windows have this shape. Nothing where they do
// not fit, where runtimes refuse them, or where a size is so large that one computes it inexactly.
std::optional<Windows> windows_of(const FoldRun& r, DimView extents, DimView kernel, bool ceil_mode);

}  // namespace graphopt::folding
